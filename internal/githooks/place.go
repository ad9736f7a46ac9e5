package githooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrUnfit: hooks cannot be installed well in this repository; the text says why and what to do instead.
var ErrUnfit = errors.New("hooks cannot be installed here")

// place is where the hooks of a repository are, and the workspace in it.
type place struct {
	dir       string // of the hooks
	workspace string // relative to the top of the work tree, slash-separated
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...) // a program that the repository names
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(out), "\n"), "\r"), err
}

func find(ctx context.Context, workspace string) (place, error) {
	said, err := git(ctx, workspace, "rev-parse", "--show-prefix", "--git-path", "hooks", "--show-toplevel", "--git-common-dir")
	if err != nil {
		return place{}, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	lines := strings.Split(said, "\n")
	if len(lines) != 4 || strings.Contains(lines[0], "\r") {
		return place{}, fmt.Errorf("%w: the path of the workspace has a line break", ErrUnfit)
	}
	hooks, top, common := lines[1], lines[2], lines[3]
	p := place{dir: absolute(workspace, hooks), workspace: cmp.Or(strings.TrimSuffix(lines[0], "/"), ".")}
	if configured, _ := git(ctx, workspace, "config", "--type=path", "core.hooksPath"); configured != "" && !filepath.IsAbs(configured) {
		p.dir = absolute(top, configured) // git looks for it where hooks run
	}
	return p, p.check(ctx, absolute(workspace, common), top)
}

func absolute(base, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(base, name)
	}
	return filepath.Clean(name)
}

// check refuses a directory where a hook of ours would be somebody else's too.
func (p place) check(ctx context.Context, common, top string) error {
	info, err := os.Stat(p.dir)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%w: core.hooksPath is %s, which is not a directory: hooks are switched off", ErrUnfit, p.dir)
	case within(common, p.dir):
		return nil
	case !within(top, p.dir):
		return fmt.Errorf("%w: core.hooksPath is %s, outside of this repository, and its hooks run in others too; add to the hooks there: %s",
			ErrUnfit, p.dir, lineForPeople)
	}
	tracked, err := git(ctx, top, "--literal-pathspecs", "ls-files", "--", p.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	if tracked != "" {
		return fmt.Errorf("%w: the hooks directory %s is tracked by git, and a path of this machine does not belong into it; add to its hooks: %s",
			ErrUnfit, p.dir, lineForPeople)
	}
	return nil
}

const lineForPeople = "pre-commit: `orchestra-mcp git hook pre-commit \"$@\"`, commit-msg: `orchestra-mcp git hook commit-msg \"$@\"`"

func within(dir, name string) bool {
	rel, err := filepath.Rel(realPath(dir), realPath(name))
	return err == nil && filepath.IsLocal(rel)
}

// realPath resolves as much of a path as there is.
func realPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	if parent := filepath.Dir(name); parent != name {
		return filepath.Join(realPath(parent), filepath.Base(name))
	}
	return name
}
