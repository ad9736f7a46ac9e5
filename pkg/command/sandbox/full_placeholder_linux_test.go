package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestFullWhereOnlyOthersMayWrite: a path needs no placeholder where the user cannot make anything.
func TestFullWhereOnlyOthersMayWrite(t *testing.T) {
	if os.Getuid() == 0 {
		return // TestFullAsAnOrdinaryUser comes here again
	}
	space := newWorkspace(t)
	space.profile.Writable = []string{"/usr/share"}
	space.profile.Frozen = []sandbox.Frozen{{Path: "/usr/share/orchestra-test"}}
	out, code := space.run("touch /usr/share/orchestra-test; test ! -e /usr/share/orchestra-test")
	check.That(t, code == 0, "%d %s", code, out)
}

func TestFullPlaceholdersGoWithTheLastCommand(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	first := space.begin("echo; sleep 1000")
	second := space.begin("echo; sleep 1000")
	for _, name := range []string{".intentignore", ".git/commondir", ".git/modules", ".git/info", ".git/objects", ".git/config.worktree"} {
		isPlaceholder(t, space.path(name))
	}
	first.finish()
	for _, line := range []string{`echo x > .intentignore`, `mkdir .git/modules/x`, `echo x > .git/commondir`} {
		out, code := space.run(line)
		check.That(t, code != 0, "%s: %s", line, out)
	}
	isPlaceholder(t, space.path(".intentignore"))
	second.finish()
	noPlaceholders(t, space.root)
	absent(t, space.path(".intentignore"), space.path(".git/commondir"), space.path(".git/modules"))
}

// TestFullPlaceholdersAreTheOperators: what the operator makes of one stays.
func TestFullPlaceholdersAreTheOperators(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	r := space.begin("echo; sleep 1000")
	check.OK(t, os.WriteFile(space.path(".intentignore"), []byte("*.lock\n"), 0o644))
	files(t, space.path(".git/modules"), "a/config")
	check.OK(t, os.WriteFile(space.path("c"), nil, 0o644))
	check.OK(t, os.Rename(space.path("c"), space.path(".git/config.worktree")))
	r.finish()
	noPlaceholders(t, space.root)
	for _, name := range []string{".intentignore", ".git/modules/a/config", ".git/config.worktree"} {
		_, err := os.Lstat(space.path(name))
		check.NoError(t, err)
	}
}

// TestFullPlaceholdersDoNoHarm: git outside takes them for nothing while the command runs.
func TestFullPlaceholdersDoNoHarm(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	os.RemoveAll(space.path(".git"))
	git := func(arguments ...string) string {
		t.Helper()
		cmd := exec.Command("git", arguments...)
		cmd.Dir = space.root
		cmd.Env = append(os.Environ(), "HOME="+space.outside, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(space.root))
		out, err := cmd.CombinedOutput()
		check.That(t, err == nil, "git %v: %v\n%s", arguments, err, out)
		return string(out)
	}
	for _, line := range []string{"init -q", "config user.email a@example.com", "config user.name a", "add src", "commit -qm one"} {
		git(strings.Fields(line)...)
	}
	r := space.begin("echo; sleep 1000")
	for _, line := range []string{"status", "add docs", "commit -qm two", "branch side", "checkout -q side", "log --oneline", "stash list", "gc -q", "fsck"} {
		git(strings.Fields(line)...)
	}
	r.finish()
	noPlaceholders(t, space.root)
	if out, code := space.run(fmt.Sprintf("export HOME=%s GIT_CONFIG_NOSYSTEM=1; echo x > new && git add -A && git commit -qm three && git status --porcelain && git log --stat -1", space.outside)); code != 0 ||
		!strings.Contains(out, "new") || strings.Contains(out, ".intentignore") {
		t.Errorf("%d %s", code, out)
	}
	git("fsck")
	noPlaceholders(t, space.root)
}

// TestFullManyAtOnce: commands that start and end at the same time share their
// placeholders, and the last one takes them away.
func TestFullManyAtOnce(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(`echo x > made%d; test -f .intentignore && ! echo x > .intentignore`, i))
			cmd.Dir = space.root
			err := inThread(cmd, func() (*sandbox.Held, error) { return sandbox.Start(cmd, sandbox.Full, space.profile) })
			check.That(t, err == nil && cmd.ProcessState.Success(), "command %d: %v %v", i, err, cmd.ProcessState)
		})
	}
	all.Wait()
	noPlaceholders(t, space.root)
	absent(t, space.path(".intentignore"), space.path(".git/modules"))
	for i := range 24 {
		if _, err := os.Stat(space.path(fmt.Sprintf("made%d", i))); err != nil {
			t.Error(err)
		}
	}
}
