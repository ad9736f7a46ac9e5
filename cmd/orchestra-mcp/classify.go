package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type classifyCommand struct {
	*app
	path string
}

func (a *app) newClassifyCommand() *cobra.Command {
	c := classifyCommand{app: a}
	cmd := a.command(&cobra.Command{
		Use:   "classify BEFORE AFTER",
		Short: "Say whether a change keeps what the code does",
		Long: "Compare two files, or all files of two directories together, as the server compares the two sides of a change, and\n" +
			"say whether it is a refactor (AST_REFACTOR): the same program up to renaming, layout, comments and order.\n\n" +
			"  proven        it is\n" +
			"  proven-local  it is, but names changed that other files could use; the reason names the first that does\n" +
			"  unproven      it is not, or that could not be shown; the reason names the line\n" +
			"  unsupported   there is no parser for the language\n\n" +
			"Other files are those of the second directory, or of the workspace that AFTER (or --path) is in.\n\n" +
			"The name of AFTER, or --path, tells the language. " + os.DevNull + " stands for a file that does not exist.\n\n" +
			"The exit code is 0 for proven and proven-local, 1 for the others, 3 if the files could not be read.",
		Example: "  orchestra-mcp classify old/main.go new/main.go",
		Args:    cobra.ExactArgs(2),
	}, c.run)
	cmd.Flags().StringVar(&c.path, "path", "", "take the files for versions of `NAME`, such as src/main.go")
	return cmd
}

// searchTime is how long a person waits for what other files have.
const searchTime = 10 * time.Second

// classification is what classify prints for programs.
type classification struct {
	Verdict       mutation.Evidence `json:"verdict"`
	MutationClass mutation.Class    `json:"mutation_class"`
	Reason        string            `json:"reason"`
	Renames       []mutation.Rename `json:"renames"`
	Moves         []mutation.Move   `json:"moves"`
}

func (c *classifyCommand) run(ctx context.Context, args []string) error {
	before, after := args[0], args[1]
	files, err := c.versions(before, after)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("classify: neither %s nor %s has a regular file, so there is nothing to compare", printable.Text(before), printable.Text(after))
	}
	around, done, err := c.among(before, after)
	if err != nil {
		return err
	}
	defer done()
	limits := mutation.DefaultLimits()
	limits.Search = searchTime
	v := mutation.JudgeAmong(ctx, files, around, limits)
	if err := ctx.Err(); err != nil {
		return err
	}
	judged := classification{
		Verdict: v.Evidence, MutationClass: mutation.Resolve("", v).Class, Reason: v.Reason, Renames: orEmpty(v.Renames), Moves: orEmpty(v.Moves),
	}
	c.answer(judged, func() { c.print(judged) })
	return found(judged.MutationClass != mutation.Refactor)
}

// maxName bounds a name in a table.
const maxName = 60

func (c *classifyCommand) print(j classification) {
	verdict := c.Amber(string(j.Verdict))
	if j.Verdict == mutation.Proven {
		verdict = c.Green(string(j.Verdict))
	}
	c.Printf("%s  %s\n%s\n", verdict, j.MutationClass, j.Reason)
	printer.Section(c.Printer, "RENAMED|TO|KIND|LINE", j.Renames, func(r mutation.Rename) []any {
		return []any{printable.Clip(r.From, maxName), printable.Clip(r.To, maxName), r.Kind, r.Line}
	})
	printer.Section(c.Printer, "MOVED|FROM LINE|TO LINE", j.Moves, func(m mutation.Move) []any {
		return []any{printable.Clip(m.Declaration, maxName), m.FromLine, m.ToLine}
	})
}

// versions reads the two sides: of one file, or of all files below two directories.
func (c *classifyCommand) versions(before, after string) (files []mutation.File, err error) {
	beforePath, afterPath := c.at(before), c.at(after)
	if isDir(beforePath) && isDir(afterPath) {
		if c.path != "" {
			return nil, usageErrorf("--path names a file, and %s is a directory", after)
		}
		return trees(beforePath, afterPath)
	}
	f := mutation.File{Path: filepath.ToSlash(after)}
	switch {
	case c.path != "":
		f.Path = c.path
	case afterPath == os.DevNull:
		f.Path = filepath.ToSlash(before)
	}
	if f.Before, err = readVersion(beforePath); err != nil {
		return nil, err
	}
	if f.After, err = readVersion(afterPath); err != nil {
		return nil, err
	}
	if f.Before == nil && f.After == nil {
		return nil, usageErrorf("neither side is a file")
	}
	return []mutation.File{f}, nil
}

// at makes a path absolute.
func (c *classifyCommand) at(path string) string {
	if path == os.DevNull {
		return path
	}
	return c.fromWorkDir(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// trees pairs the regular files of two directories by their paths; .git and .orchestration are no part of them.
func trees(before, after string) ([]mutation.File, error) {
	byPath := map[string]mutation.File{}
	for side, top := range []string{before, after} {
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == ".git" || d.Name() == ".orchestration") && name != top:
				return fs.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			content, err := readVersion(name)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(top, name)
			f := byPath[filepath.ToSlash(relative)]
			if f.Path = filepath.ToSlash(relative); side == 0 {
				f.Before = content
			} else {
				f.After = content
			}
			byPath[f.Path] = f
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(byPath), func(a, b mutation.File) int { return cmp.Compare(a.Path, b.Path) }), nil
}

// maxVersion bounds what is read of one file; much less is ever compared.
const maxVersion = 64 << 20

// readVersion reads a regular file; nil for the null device.
func readVersion(path string) ([]byte, error) {
	if path == os.DevNull {
		return nil, nil
	}
	content, err := durable.ReadRegular(path, maxVersion)
	switch {
	case errors.Is(err, durable.ErrNotRegular):
		return nil, fmt.Errorf("classify: %s is no regular file; give two files, or two directories", printable.Text(path))
	case errors.Is(err, durable.ErrTooLarge):
		return nil, fmt.Errorf("classify: %s is longer than %d bytes", printable.Text(path), maxVersion)
	case err != nil:
		return nil, fmt.Errorf("classify: %s", printable.Text(err.Error()))
	}
	return content, nil
}

// among opens the files around those that are compared: of two directories, the second; of two files, the workspace in
// which the second is, if there is one. around is nil where there are none.
func (c *classifyCommand) among(before, after string) (around mutation.OtherFiles, done func(), err error) {
	dir := c.at(after)
	if !isDir(dir) {
		if dir, err = c.workspaceDir(); err != nil {
			return nil, nil, err
		}
		if !isDir(filepath.Join(dir, orchdir.Name)) {
			return nil, func() {}, nil
		}
	}
	w, err := workspace.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = w.Close() }
	own := map[string]bool{}
	inside := func(name string) (string, bool) {
		relative, inside := relativeTo(w.Dir(), c.at(name))
		return relative, inside && name != ""
	}
	for _, name := range []string{before, after, c.path} {
		if relative, ok := inside(name); ok {
			own[relative] = true
		}
	}
	_, afterInside := inside(after)
	if _, pathInside := inside(c.path); !afterInside && !pathInside {
		return nil, done, nil
	}
	return besides{w.OtherFiles(nil), own}, done, nil
}

// relativeTo is where a file is below a directory, if it is.
func relativeTo(dir, name string) (relative string, inside bool) {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		name = resolved
	}
	relative, err := filepath.Rel(dir, name)
	if err != nil || !filepath.IsLocal(relative) {
		return "", false
	}
	return filepath.ToSlash(relative), true
}

// besides are other files without the versions that are compared, which may
// lie in the workspace under names of their own.
type besides struct {
	mutation.OtherFiles
	own map[string]bool
}

func (b besides) Mention(ctx context.Context, words *mutation.Words, skip func(string) bool) (*mutation.Mention, error) {
	return b.OtherFiles.Mention(ctx, words, func(path string) bool { return b.own[path] || skip(path) })
}
