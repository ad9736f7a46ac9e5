package githooks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

const (
	savedSuffix  = ".before-orchestra"
	legacySuffix = ".legacy"
	maxScript    = 1 << 20
)

// Hooks are the names of the hooks that are installed.
func Hooks() []string { return []string{"pre-commit", "commit-msg", "pre-push"} }

// Result is what happened to one hook.
type Result struct {
	File   string `json:"file"`
	Action string `json:"action"`         // installed, updated, removed, kept
	Chain  string `json:"chain,omitzero"` // the hook that was there, which runs first
	Note   string `json:"note,omitzero"`
}

// Install puts the hooks into the repository that has the workspace. They run the program by the words of start: an absolute
// path, or a name for the PATH, and what stands before the program's own arguments. What was done is returned also with an
// error.
func Install(ctx context.Context, workspace string, start ...string) ([]Result, error) {
	p, err := find(ctx, workspace)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	var results []Result
	for _, hook := range Hooks() {
		result, err := p.install(hook, start)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

func (p place) install(hook string, start []string) (Result, error) {
	result := Result{File: filepath.Join(p.dir, hook), Action: "installed"}
	saved := result.File + savedSuffix
	workspaces := []string{p.workspace}
	switch at, old, err := p.ours(hook); {
	case err != nil:
		return result, err
	case at != "":
		result.File, result.Action = at, "updated"
		workspaces = append(workspaces, old...)
		slices.Sort(workspaces)
		workspaces = slices.Compact(workspaces)
	default:
		if err := setAside(result.File, saved); err != nil {
			return result, err
		}
	}
	if exists(saved) {
		result.Chain = saved
	}
	if filepath.Base(p.dir) == "_" && filepath.Base(filepath.Dir(p.dir)) == ".husky" {
		result.Note = "husky writes its directory anew whenever it is installed: install the hooks again then, or add to .husky/" + hook +
			": orchestra-mcp git hook " + hook + ` "$@"`
	}
	return result, write(result.File, render(hook, start, workspaces))
}

// ours finds our script: under the hook's name, or where the pre-commit framework moved it.
func (p place) ours(hook string) (at string, workspaces []string, err error) {
	for _, at := range []string{filepath.Join(p.dir, hook), filepath.Join(p.dir, hook+legacySuffix)} {
		info, err := os.Lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
			continue
		}
		content, err := durable.ReadRegular(at, maxScript)
		if err != nil {
			return "", nil, err
		}
		if workspaces, ours := parse(string(content)); ours {
			return at, workspaces, nil
		}
	}
	return "", nil, nil
}

// setAside moves a hook that is there. One that stands there again, after another program wrote it anew, takes the place
// of the one that was moved only if it is the same.
func setAside(hook, saved string) error {
	if !exists(hook) {
		return nil
	}
	if exists(saved) {
		now, errNow := durable.ReadRegular(hook, maxScript)
		before, errBefore := durable.ReadRegular(saved, maxScript)
		if errNow != nil || errBefore != nil || string(now) != string(before) {
			return fmt.Errorf("%w: %s was written anew by another program, and %s is what stood there before us; keep the right one as %s, "+
				"delete the other, then run this again", ErrUnfit, hook, saved, hook)
		}
	}
	return os.Rename(hook, saved)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// write makes the script appear whole.
func write(name, script string) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".orchestra-hook-*.tmp")
	if err != nil {
		return err
	}
	_, err = temp.WriteString(script)
	err = errors.Join(err, temp.Chmod(0o755), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// Remove takes the hooks of the workspace away, and puts back what stood there before.
func Remove(ctx context.Context, workspace string) ([]Result, error) {
	p, err := find(ctx, workspace)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, hook := range Hooks() {
		result, err := p.remove(hook)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

func (p place) remove(hook string) (Result, error) {
	result := Result{File: filepath.Join(p.dir, hook), Action: "kept"}
	saved := result.File + savedSuffix
	at, workspaces, err := p.ours(hook)
	if err != nil {
		return result, err
	}
	if at == "" {
		result.Note = "it is not ours"
		if !exists(result.File) {
			result.Note = "there is none"
		}
		if exists(saved) {
			result.Note += "; " + saved + " is what stood there before us"
		}
		return result, nil
	}
	result.File = at
	left := slices.DeleteFunc(slices.Clone(workspaces), func(w string) bool { return w == p.workspace })
	switch {
	case len(left) == len(workspaces):
		result.Note = "it serves other workspaces: " + strings.Join(left, ", ")
		return result, nil
	case len(left) > 0:
		content, err := durable.ReadRegular(at, maxScript)
		if err != nil {
			return result, err
		}
		result.Action, result.Note = "updated", "it still serves "+strings.Join(left, ", ")
		return result, write(at, without(string(content), p.workspace))
	}
	result.Action = "removed"
	if exists(saved) {
		return result, os.Rename(saved, at)
	}
	return result, os.Remove(at)
}

// without takes the lines of one workspace out of our script.
func without(script, workspace string) string {
	var kept strings.Builder
	for line := range strings.Lines(script) {
		if line == workspacePrefix+workspace+"\n" || strings.HasPrefix(line, "[ ! -d "+shellword.Quote(workspace+"/.orchestration")+" ] ||") {
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}
