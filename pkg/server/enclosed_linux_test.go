package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestOnlyWhatWasTouched: at the level full no directory is looked into, before a command on the workspace itself and after it, of
// which the kernel told nothing; but of a command that gave a file one more name, all are.
func TestOnlyWhatWasTouched(t *testing.T) {
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	dir := newWorkspace(t)
	check.Write(t, dir, "src/a.txt", "a\n")
	check.Write(t, dir, "src/c.txt", "c\n")
	check.Write(t, dir, "quiet/b.txt", "b\n")
	old := time.Now().Add(-time.Hour)
	check.OK(t, os.Chtimes(filepath.Join(dir, "quiet/b.txt"), old, old)) // else git looks into it
	check.Write(t, dir, ".git/info/exclude", "/.orchestration/\n")
	check.Git(t, dir, "config", "user.name", "U")
	check.Git(t, dir, "config", "user.email", "u@example.org")
	check.Git(t, dir, "add", "-A")
	check.Git(t, dir, "commit", "-qm", "one")
	b, s := start(t, dir, direct).under("INT-001")
	fd := check.Value(unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK))(t)
	defer unix.Close(fd)
	check.Value(unix.InotifyAddWatch(fd, filepath.Join(dir, "quiet"), unix.IN_OPEN))(t)
	looked := func(line string) bool {
		t.Helper()
		b.OK("execute_command", args{"session": s, "command": line})
		n, _ := unix.Read(fd, make([]byte, 64<<10))
		return n > 0
	}
	looked("true")
	time.Sleep(100 * time.Millisecond) // until no directory counts as just changed
	looked("true")
	for i, c := range []struct {
		line string
		want bool
	}{
		{"true", false},
		{"echo more >> src/a.txt", false},
		{"echo new > src/new.txt; rm src/a.txt", false},
		{"mkdir -p src/dir/deep; echo x > src/dir/deep/x; mv src/dir src/other; rm -r src/other", false},
		{"git status -uno", false},
		{"git add src", false},
		{"git diff --cached", false},
		{"git commit -qm two", false},
		{"git switch -qc feature/x; mkdir -p src/d; echo d > src/d/d; git add src; git commit -qm three", false},
		{"git gc -q", false},
		{"ln src/c.txt src/l.txt", true},
		{"ln src/c.txt .git/l 2>/dev/null; git log -1", true},
		{"true", false},
	} {
		check.Equal(t, looked(c.line), c.want, "%d, %s: looked into", i, c.line)
	}
	b.OK("execute_command", args{"session": s, "command": "rm src/l.txt; git log -1; ln src/c.txt src/n.txt; echo evil > src/n.txt; rm src/n.txt"})
	b.wantRecord(`"path":"src/c.txt"`)
}
