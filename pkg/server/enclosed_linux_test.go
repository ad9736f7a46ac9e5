package server_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestOnlyWhatWasTouched: at the level full no directory is looked into, before a command and after it, of which the kernel told
// nothing; but of a command that may have ways around that, all are.
func TestOnlyWhatWasTouched(t *testing.T) {
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	dir := newWorkspace(t)
	check.Write(t, dir, "src/a.txt", "a\n")
	check.Write(t, dir, "quiet/b.txt", "b\n")
	b, s := start(t, dir).under("INT-001")
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
		{"true", false},
		{"mkdir src/dir", true},
		{"git status", true},
		{"true", false},
	} {
		check.Equal(t, looked(c.line), c.want, "%d, %s: looked into", i, c.line)
	}
}
