package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

type classifyFlags struct {
	path string
	json *bool
}

func (a *app) newClassifyCommand() *cobra.Command {
	var f classifyFlags
	cmd := &cobra.Command{
		Use:   "classify BEFORE AFTER",
		Short: "Say whether a change keeps what the code does",
		Long: "Compare two files, or all files of two directories together, as the server compares the two sides of a change, and\n" +
			"say whether it is a refactor (AST_REFACTOR): the same program up to renaming, layout, comments and order.\n\n" +
			"  proven        it is\n" +
			"  proven-local  it is, but names changed that other files could use; the reason names the first that does\n" +
			"  unproven      it is not, or that could not be shown; the reason names the line\n" +
			"  unsupported   there is no parser for the language\n\n" +
			"Other files are those of the second directory, or of the workspace that AFTER (or --path) is in.\n\n" +
			"The language is told by the name of AFTER, or by --path. " + os.DevNull + " stands for a file that does not exist.\n\n" +
			"The exit code is 0 for proven and proven-local, 1 for the others, 3 if the files could not be read.",
		Args: cobra.ExactArgs(2),
	}
	cmd.Flags().StringVar(&f.path, "path", "", "take the files for versions of `NAME`, such as src/main.go")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.classify(cmd.Context(), args[0], args[1], f) })
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

func (a *app) classify(ctx context.Context, before, after string, f classifyFlags) error {
	files, err := a.versions(before, after, f.path)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("classify: neither %s nor %s has a regular file, so there is nothing to compare", printable(before), printable(after))
	}
	around, done, err := a.among(before, after, f.path)
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
	c := classification{
		Verdict: v.Evidence, MutationClass: mutation.Resolve("", v).Class, Reason: v.Reason,
		Renames: append([]mutation.Rename{}, v.Renames...), Moves: append([]mutation.Move{}, v.Moves...),
	}
	print := a.printClassification
	if *f.json {
		print = func(c classification) error { return printJSON(a.out, c) }
	}
	if err := print(c); err != nil {
		return err
	}
	if c.MutationClass != mutation.Refactor {
		return foundSomething()
	}
	return nil
}

func (a *app) printClassification(c classification) error {
	style := styleAmber
	if c.Verdict == mutation.Proven {
		style = styleGreen
	}
	if _, err := fmt.Fprintf(a.out, "%s  %s\n%s\n", a.styled(style, string(c.Verdict)), c.MutationClass, printable(c.Reason)); err != nil {
		return err
	}
	if len(c.Renames) > 0 {
		rows := [][]string{{"RENAMED", "TO", "KIND", "LINE"}}
		for _, r := range c.Renames {
			rows = append(rows, []string{clipped(r.From, maxName), clipped(r.To, maxName), r.Kind, strconv.Itoa(r.Line)})
		}
		if err := a.printBelow(rows); err != nil {
			return err
		}
	}
	if len(c.Moves) == 0 {
		return nil
	}
	rows := [][]string{{"MOVED", "FROM LINE", "TO LINE"}}
	for _, m := range c.Moves {
		rows = append(rows, []string{clipped(m.Declaration, maxName), strconv.Itoa(m.FromLine), strconv.Itoa(m.ToLine)})
	}
	return a.printBelow(rows)
}

// maxName bounds a name in a table.
const maxName = 60

func (a *app) printBelow(rows [][]string) error {
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	return printTable(a.out, rows)
}

// versions reads the two sides: of one file, or of all files below two
// directories.
func (a *app) versions(before, after, path string) ([]mutation.File, error) {
	dir, err := a.workDir()
	if err != nil {
		return nil, err
	}
	beforePath, afterPath := within(dir, before), within(dir, after)
	if isDir(beforePath) && isDir(afterPath) {
		if path != "" {
			return nil, usageErrorf("--path names a file, and %s is a directory", printable(after))
		}
		return trees(beforePath, afterPath)
	}
	f := mutation.File{Path: filepath.ToSlash(after)}
	switch {
	case path != "":
		f.Path = path
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

func within(dir, path string) string {
	if filepath.IsAbs(path) || path == os.DevNull {
		return path
	}
	return filepath.Join(dir, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// trees pairs the regular files of two directories by their paths; .git and
// .orchestration are no part of them.
func trees(before, after string) ([]mutation.File, error) {
	byPath := map[string]*mutation.File{}
	var paths []string
	collect := func(root string, set func(*mutation.File, []byte)) error {
		return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == ".git" || d.Name() == ".orchestration") && name != root {
				return fs.SkipDir
			}
			if !d.Type().IsRegular() {
				return nil
			}
			content, err := readVersion(name)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			relative = filepath.ToSlash(relative)
			if byPath[relative] == nil {
				byPath[relative] = &mutation.File{Path: relative}
				paths = append(paths, relative)
			}
			set(byPath[relative], content)
			return nil
		})
	}
	if err := collect(before, func(f *mutation.File, content []byte) { f.Before = content }); err != nil {
		return nil, err
	}
	if err := collect(after, func(f *mutation.File, content []byte) { f.After = content }); err != nil {
		return nil, err
	}
	slices.Sort(paths)
	files := make([]mutation.File, 0, len(paths))
	for _, p := range paths {
		files = append(files, *byPath[p])
	}
	return files, nil
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
		return nil, fmt.Errorf("classify: %s is no regular file; give two files, or two directories", printable(path))
	case errors.Is(err, durable.ErrTooLarge):
		return nil, fmt.Errorf("classify: %s is longer than %d bytes", printable(path), maxVersion)
	case err != nil:
		return nil, fmt.Errorf("classify: %s", printable(err.Error()))
	}
	return content, nil
}
