package journal_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

// TestLockThatOutlivesItsProcess: a process was killed when it had just made a child, which has the lock until it
// becomes another program. Nobody goes on as if that process lived.
func TestLockThatOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	one, other := open(t, dir), open(t, dir)
	f := check.Value(one.Begin(entryOf("a")))(t)
	dead := exec.Command("true")
	check.OK(t, dead.Start())
	check.OK(t, f.Written(entryOf("a"), dead.Process.Pid))
	_ = dead.Process.Kill()
	_ = dead.Wait()
	found, err := other.Orphans()
	check.Must(t, errors.Is(err, journal.ErrSettling) && len(found) == 0, "%v, %v", found, err)
	seen := look(t, dir)
	check.That(t, len(seen) == 1 && seen[0].Gone, "seen: %+v", seen)
	f.Abandon() // the child is another program now
	found = orphans(t, other)
	check.Equal(t, len(found), 1)
	check.OK(t, found[0].Drop())
}
