package githooks_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/githooks"
)

// repository has a workspace at its top, and a program that writes down how it is called.
type repository struct {
	t            *testing.T
	dir, program string
}

func newRepository(t *testing.T) *repository {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "none"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	r := &repository{t: t, dir: dir, program: filepath.Join(t.TempDir(), "it's a program")}
	check.OK(t, os.WriteFile(r.program, []byte("#!/bin/sh\necho \"called: $*\" >&2\nexit 3\n"), 0o755))
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	r.git("init", "-q")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.tryGit(args...)
	check.Must(r.t, err == nil, "git %v: %v\n%s", args, err, out)
	return out
}

func (r *repository) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false",
		"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (r *repository) hook(name, content string, mode os.FileMode) string {
	file := filepath.Join(r.dir, ".git", "hooks", name)
	check.OK(r.t, os.MkdirAll(filepath.Dir(file), 0o755))
	check.OK(r.t, os.WriteFile(file, []byte(content), mode))
	check.OK(r.t, os.Chmod(file, mode))
	return file
}

func (r *repository) install() []githooks.Result {
	r.t.Helper()
	return check.Value(githooks.Install(context.Background(), r.dir, r.program))(r.t)
}

func (r *repository) remove() {
	r.t.Helper()
	_, err := githooks.Remove(context.Background(), r.dir)
	check.OK(r.t, err)
}

// hooks are the files of the hooks directory but for git's samples.
func (r *repository) hooks() map[string]string {
	found := map[string]string{}
	names := check.Value(filepath.Glob(filepath.Join(r.dir, ".git", "hooks", "*")))(r.t)
	for _, name := range names {
		if content, err := os.ReadFile(name); err == nil && !strings.HasSuffix(name, ".sample") {
			found[filepath.Base(name)] = string(content)
		}
	}
	return found
}

func TestAHookThatWasThereRunsFirstAsItWas(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("permissions are not those of a Unix there; the scripts themselves run under git's own shell")
		return
	}
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		says    string
		fails   bool
	}{
		"sh":                {"#!/bin/sh\necho \"$0|$#\" >&2\n", 0o755, ".git/hooks/pre-commit|0", false},
		"sh that fails":     {"#!/bin/sh\nexit 9\n", 0o755, "", true},
		"sh -e":             {"#!/bin/sh -e\nfalse\necho no\n", 0o755, "", true},
		"sh with a tail":    {"#!/bin/sh\nfalse\n", 0o755, "", true},
		"bash":              {"#!/usr/bin/env bash\n[[ x == x ]] && echo \"bash $0\" >&2\n", 0o755, "bash .git/hooks/pre-commit", false},
		"another program":   {"#!/usr/bin/env -S sed s/x/y/\nx", 0o755, "y", false},
		"not executable":    {"#!/bin/sh\nexit 9\n", 0o644, "", false},
		"changes directory": {"#!/bin/sh\ncd /\nexport PATH=/nowhere\n", 0o755, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.hook("pre-commit", c.content, c.mode)
			before := r.hooks()
			r.install()
			r.install()
			out, err := r.tryGit("commit", "--allow-empty", "-m", "x")
			check.That(t, (err != nil) == c.fails && strings.Contains(out, c.says), "error %v\n%s", err, out)
			called := strings.Contains(out, "called: --workspace . git hook pre-commit")
			check.That(t, called != c.fails, "our own part was called: %v\n%s", called, out)
			if !c.fails && !strings.Contains(out, "called: --workspace . git hook commit-msg .git/COMMIT_EDITMSG") {
				t.Errorf("commit-msg: %s", out)
			}
			r.remove()
			r.remove()
			after := r.hooks()
			check.That(t, len(after) == len(before) && after["pre-commit"] == c.content, "after removing there is %v", after)
		})
	}
}

func TestALinkAndACrashInBetween(t *testing.T) {
	r := newRepository(t)
	target := filepath.Join(t.TempDir(), "hook")
	check.OK(t, os.WriteFile(target, []byte("#!/bin/sh\necho linked >&2\n"), 0o755))
	file := r.hook("pre-commit", "", 0o755)
	check.OK(t, os.Remove(file))
	check.OK(t, os.Symlink(target, file))
	check.OK(t, os.Rename(file, file+".before-orchestra")) // where an installation ended that was killed
	r.install()
	out := r.git("commit", "--allow-empty", "-m", "x")
	check.That(t, strings.Contains(out, "linked"), "%v", out)
	r.remove()
	to, err := os.Readlink(file)
	check.That(t, err == nil && to == target, "%s %v", to, err)
}

func TestAHookThatWasWrittenAnewIsNotOverwritten(t *testing.T) {
	r := newRepository(t)
	r.hook("pre-commit", "#!/bin/sh\n# one\n", 0o755)
	r.install()
	r.hook("pre-commit", "#!/bin/sh\n# two\n", 0o755)
	_, err := githooks.Install(context.Background(), r.dir, r.program)
	check.That(t, errors.Is(err, githooks.ErrUnfit), "error %v", err)
	r.remove()
	got := r.hooks()
	check.That(t, got["pre-commit"] == "#!/bin/sh\n# two\n" && got["pre-commit.before-orchestra"] == "#!/bin/sh\n# one\n", "%v", got)
	r.hook("pre-commit", "#!/bin/sh\n# one\n", 0o755) // as husky does
	r.install()
	r.remove()
	if got := r.hooks(); len(got) != 1 || got["pre-commit"] != "#!/bin/sh\n# one\n" {
		t.Errorf("%v", got)
	}
}

func TestPlacesThatAreRefused(t *testing.T) {
	r := newRepository(t)
	refused := func(name, hint string) {
		t.Helper()
		_, err := githooks.Install(context.Background(), r.dir, r.program)
		check.That(t, errors.Is(err, githooks.ErrUnfit) && strings.Contains(err.Error(), hint), "%s: %v", name, err)
	}
	r.git("config", "core.hooksPath", os.DevNull)
	refused("switched off", "switched off")
	r.git("config", "core.hooksPath", t.TempDir())
	refused("somewhere else", "outside")
	r.git("config", "core.hooksPath", "tracked")
	check.OK(t, os.Mkdir(filepath.Join(r.dir, "tracked"), 0o755))
	check.OK(t, os.WriteFile(filepath.Join(r.dir, "tracked", "pre-push"), nil, 0o755))
	r.git("add", "tracked")
	refused("tracked", "tracked by git")
	r.dir = t.TempDir()
	refused("no repository", "not a git repository")
}

func TestASubmoduleAndAHooksPathInTheRepository(t *testing.T) {
	r := newRepository(t)
	r.git("commit", "-q", "--allow-empty", "-m", "x")
	super := newRepository(t)
	super.git("submodule", "--quiet", "add", r.dir, "sub")
	super.dir = filepath.Join(super.dir, "sub")
	check.OK(t, os.Mkdir(filepath.Join(super.dir, ".orchestration"), 0o755))
	results := super.install()
	check.That(t, strings.Contains(filepath.ToSlash(results[0].File), ".git/modules/sub/hooks/"), "%+v", results)
	out := super.git("commit", "--allow-empty", "-m", "x")
	check.That(t, strings.Count(out, "called:") == 2, "%v", out)
	r.git("config", "core.hooksPath", "my hooks")
	r.install()
	check.OK(t, os.MkdirAll(filepath.Join(r.dir, "deep"), 0o755))
	top := r.dir
	r.dir = filepath.Join(top, "deep")
	if out := r.git("commit", "--allow-empty", "-m", "x"); strings.Count(out, "called:") != 2 {
		t.Error(out)
	}
	r.dir = top
	r.remove()
	left, err := os.ReadDir(filepath.Join(top, "my hooks"))
	check.That(t, err == nil && len(left) == 0, "left %v %v", left, err)
}
