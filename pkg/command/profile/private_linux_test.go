package profile_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// cloned makes a repository with loose objects, and a clone that shares their files.
func cloned(t *testing.T, objects int) (top, clone string) {
	t.Helper()
	base := t.TempDir()
	top, clone = filepath.Join(base, "ws"), filepath.Join(base, "clone")
	for i := range objects {
		name := filepath.Join(top, "src", fmt.Sprint(i))
		check.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check.OK(t, os.WriteFile(name, fmt.Appendf(nil, "content %d\n", i), 0o644))
	}
	git(t, top, "init", "-q", "-b", "main")
	git(t, top, "config", "core.fsync", "none")
	git(t, top, "add", ".")
	git(t, top, "-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-qm", "one")
	git(t, base, "clone", "-q", "--local", top, clone)
	return top, clone
}

func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command("git", arguments...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	check.Must(t, err == nil, "git %v: %v\n%s", arguments, err, out)
	return string(out)
}

// files are the regular files below a directory, by path.
func files(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	found := map[string]fs.FileInfo{}
	check.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		found[path], err = d.Info()
		return err
	}))
	return found
}

func names(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Nlink) }

// TestObjectsOfAnotherClone: a command with git can write no object that another clone has too, at whatever level.
func TestObjectsOfAnotherClone(t *testing.T) {
	for _, c := range []struct {
		level  sandbox.Level
		git    profile.Git
		shared bool // they stay so: the command cannot write them
	}{
		{sandbox.Full, profile.GitOpen, false}, {sandbox.Full, profile.GitClosed, true},
		{sandbox.Landlock, profile.GitTrusted, false}, {sandbox.Landlock, profile.GitOpen, true},
		{sandbox.None, profile.GitOpen, false}, {sandbox.None, profile.GitClosed, true},
	} {
		t.Run(fmt.Sprint(c.level, c.git), func(t *testing.T) {
			top, clone := cloned(t, 20)
			objects := filepath.Join(top, ".git", "objects")
			before, contents := files(t, objects), map[string][]byte{}
			for path := range before {
				contents[path], _ = os.ReadFile(path)
			}
			n := len(before)
			check.Must(t, n >= 20 && names(before[slices.Sorted(maps.Keys(before))[0]]) == 2, "%d objects that are not shared", n)
			r := made(t, top, profile.Request{Level: c.level, Git: c.git})
			after := files(t, objects)
			for path, was := range before {
				is := after[path]
				content, _ := os.ReadFile(path)
				if is == nil || is.Mode() != was.Mode() || !is.ModTime().Equal(was.ModTime()) || !bytes.Equal(content, contents[path]) {
					t.Fatalf("%s: %v, was %v", path, is, was)
				}
				check.Equal(t, names(is) > 1, c.shared, "%v %v", path, names(is))
			}
			if len(after) != len(before) || len(r.Warnings) > 0 && c.level != sandbox.Landlock {
				t.Errorf("%d files, were %d; %q", len(after), len(before), r.Warnings)
			}
			for _, dir := range []string{top, clone} {
				git(t, dir, "fsck", "--strict")
			}
		})
	}
}

// TestCopyOfAWholeRepository: of `cp -al` all files of .git are shared, and those that change get a content of their own too.
func TestCopyOfAWholeRepository(t *testing.T) {
	top, _ := cloned(t, 3)
	copied, outside := filepath.Join(t.TempDir(), "copy"), t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(top, ".git", "large"), nil, 0o644))
	check.OK(t, os.Truncate(filepath.Join(top, ".git", "large"), 65<<20))
	check.OK(t, os.WriteFile(filepath.Join(top, ".git/objects/tmp_obj_left"), []byte("of a crash"), 0o444))
	check.OK(t, os.WriteFile(filepath.Join(outside, "mine"), []byte("mine"), 0o600))
	check.OK(t, os.Link(filepath.Join(outside, "mine"), filepath.Join(outside, "too")))
	check.OK(t, os.Symlink(outside, filepath.Join(top, ".git/objects/aa-link")))
	out, err := exec.Command("cp", "-al", top, copied).CombinedOutput()
	check.Must(t, err == nil, "%v: %s", err, out)
	r := made(t, top, profile.Request{Level: sandbox.Full, Git: profile.GitOpen})
	for path, info := range files(t, filepath.Join(top, ".git")) {
		if names(info) > 1 && r.CanWrite(path) {
			t.Errorf("%s has %d names and can be written", path, names(info))
		}
	}
	for _, name := range []string{"large", "config", "hooks/x"} {
		check.That(t, !r.CanWrite(filepath.Join(top, ".git", name)), "%s can be written", name)
	}
	for _, name := range []string{"index", "HEAD", "refs/heads/main", "objects/new"} {
		check.That(t, r.CanWrite(filepath.Join(top, ".git", name)), "%s cannot be written", name)
	}
	mine := files(t, outside)[filepath.Join(outside, "mine")]
	check.That(t, names(mine) == 2, "a link out of .git was followed")
	git(t, top, "fsck", "--strict")
	git(t, copied, "fsck", "--strict")
}

// TestRepositoryThatTheOperatorNamed is that of a linked worktree.
func TestRepositoryThatTheOperatorNamed(t *testing.T) {
	top, _ := cloned(t, 3)
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, top, "worktree", "add", "-q", tree)
	git(t, top, "repack", "-q", "-a")
	check.OK(t, os.MkdirAll(filepath.Join(top, ".git/x"), 0o755))
	packs, _ := filepath.Glob(filepath.Join(top, ".git/objects/pack/*.pack"))
	check.OK(t, os.Link(packs[0], filepath.Join(t.TempDir(), "pack")))
	store := filepath.Join(top, ".git")
	r := made(t, tree, profile.Request{Level: sandbox.Full, Git: profile.GitOpen, Writable: []string{store}})
	for path, info := range files(t, store) {
		if names(info) > 1 && r.CanWrite(path) {
			t.Errorf("%s has %d names and can be written", path, names(info))
		}
	}
	if r.CanWrite(packs[0]) || !r.CanWrite(filepath.Join(store, "objects", "new")) {
		t.Errorf("%v, frozen %v", r.Sandbox.Writable, r.Sandbox.Frozen)
	}
}

// TestNoStoreForCopies: where a copy cannot stand anywhere, .git stays closed.
func TestNoStoreForCopies(t *testing.T) {
	top := tree(t, "src/a", ".git/HEAD")
	for _, shared := range []bool{false, true} {
		if shared {
			check.OK(t, os.Link(filepath.Join(top, ".git/HEAD"), filepath.Join(t.TempDir(), "HEAD")))
		}
		r := made(t, top, profile.Request{Level: sandbox.Full, Scope: []string{"src/**"}, Git: profile.GitOpen})
		told := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "hard links") })
		open := r.CanWrite(filepath.Join(top, ".git/index"))
		check.That(t, told == shared && open != shared, "shared %v: open %v, %q", shared, open, r.Warnings)
	}
}

// TestCopiesWhileGitWorks: what git commits meanwhile is not lost.
func TestCopiesWhileGitWorks(t *testing.T) {
	const commits = 12
	top, _ := cloned(t, 5)
	linked := t.TempDir()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; i < commits; i++ {
			cmd := exec.Command("git", "-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-q", "--allow-empty", "-m", fmt.Sprint("commit ", i))
			cmd.Dir, cmd.Env = top, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + linked, "GIT_CONFIG_NOSYSTEM=1"}
			out, err := cmd.CombinedOutput()
			switch {
			case err != nil && strings.Contains(string(out), "empty commit message"): // it read its own file in the very moment
				i--
			case err != nil:
				t.Errorf("git commit: %v\n%s", err, out)
			}
		}
	}()
	copies, failed := 0, 0
	for working := true; working; copies++ {
		select {
		case <-done:
			working = false
		default:
		}
		_ = exec.Command("cp", "-al", filepath.Join(top, ".git"), filepath.Join(linked, fmt.Sprint(copies))).Run() // git may remove a file meanwhile
		if err := profile.Private(filepath.Join(top, ".git")); err != nil {
			failed++
		}
	}
	t.Logf("%d times, %d times something changed meanwhile", copies, failed)
	git(t, top, "fsck", "--strict")
	check.Equal(t, strings.TrimSpace(git(t, top, "rev-list", "--count", "HEAD")), fmt.Sprint(commits+1))
	check.Equal(t, git(t, top, "status", "--short"), "")
}

const killedEnv = "REACH_PRIVATE_KILLED"

// TestKilledWhileCopying: killed at any time, every object is there and whole, and the other clone's too.
func TestKilledWhileCopying(t *testing.T) {
	if top := os.Getenv(killedEnv); top != "" {
		made(t, top, profile.Request{Level: sandbox.Full, Git: profile.GitOpen})
		return
	}
	top, clone := cloned(t, 200)
	store := filepath.Join(top, ".git/objects")
	for i, after := range []time.Duration{8, 15, 30} {
		if i > 0 { // all are shared again
			clone = filepath.Join(t.TempDir(), "clone")
			git(t, top, "clone", "-q", "--local", top, clone)
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledWhileCopying$")
		cmd.Env = append(os.Environ(), killedEnv+"="+top)
		check.OK(t, cmd.Start())
		time.AfterFunc(after*time.Millisecond, func() { _ = cmd.Process.Kill() })
		ended := cmd.Wait()
		private, left := 0, 0
		for path, info := range files(t, store) {
			if names(info) == 1 {
				private++
			}
			if strings.HasPrefix(filepath.Base(path), "tmp_obj_") {
				left++
			}
		}
		t.Logf("after %d ms: %v, %d objects are its own, %d copies are left", after, ended, private, left)
		for _, dir := range []string{top, clone} {
			git(t, dir, "fsck", "--strict", "--no-dangling")
		}
		made(t, top, profile.Request{Level: sandbox.Full, Git: profile.GitOpen})
		for path, info := range files(t, store) {
			if names(info) > 1 {
				t.Errorf("%s has %d names", path, names(info))
			}
		}
		git(t, top, "prune", "--expire=now")
		temps, _ := filepath.Glob(filepath.Join(store, "tmp_obj_*"))
		check.That(t, len(temps) == 0, "git leaves %q", temps)
	}
}
