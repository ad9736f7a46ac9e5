//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// TestCommandsWaitForWhatCannotBeTaken: a server is killed while it runs a
// command and has written a file without recording it, and the entry of the
// latter cannot be taken yet, as a child that had just been made has its lock
// for a moment. The command is not charged with that file meanwhile.
func TestCommandsWaitForWhatCannotBeTaken(t *testing.T) {
	t.Parallel()
	dir := crashWorkspace(t)
	apart(t, dir)
	a := newAudit(t, dir)
	c := startChild(t, dir)
	a.runs(c, "W-0", "echo begun > w0/begun; sleep 600")
	a.waitFor("w0/begun", c)
	letRecord := a.writesUnrecorded(c, "W-1", "w1/new.txt")
	c.kill()
	letTake := lockFile(t, slotOf(t, dir, "w1/new.txt"))
	letRecord()
	next := startChild(t, dir)
	time.AfterFunc(300*time.Millisecond, letTake)
	settled, err := begin(next, 1)
	if err != nil {
		t.Fatalf("%v: %s", err, next.said())
	}
	a.acknowledged[settled] = true
	a.check("after the kill")
	if a.recovered != 2 {
		t.Errorf("%d records of what was settled, want the command and the write", a.recovered)
	}
	if err := next.end(); err != nil {
		t.Error(err)
	}
}

// lockFile takes a file's lock when it is free.
func lockFile(t *testing.T, name string) (unlock func()) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// slotOf is the journal's file with the entry of a change.
func slotOf(t *testing.T, dir, path string) string {
	t.Helper()
	at := filepath.Join(dir, ".orchestration/state")
	state, err := os.OpenRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	seen, err := journal.Look(state)
	for _, s := range seen {
		for _, f := range s.Files {
			if f.Path == path {
				return filepath.Join(at, "inflight", s.Name)
			}
		}
	}
	t.Fatalf("nothing in the journal is about %s: %+v, %v", path, seen, err)
	return ""
}

// TestSettledBesideALivingCommand: two servers run a command each, and one is
// killed. The server that settles what it left, a third or the other, does not
// charge its command with what the other's has done so far.
func TestSettledBesideALivingCommand(t *testing.T) {
	t.Parallel()
	t.Run("a third server", func(t *testing.T) {
		settledBesideALivingCommand(t, func(a *audit, _ *child) { a.greetedAndEnded() })
	})
	t.Run("the other", func(t *testing.T) {
		settledBesideALivingCommand(t, func(a *audit, lives *child) {
			recorded, err := begin(lives, 1)
			if err != nil {
				t.Fatalf("%v: %s", err, lives.said())
			}
			a.acknowledged[recorded] = true
		})
	})
}

func settledBesideALivingCommand(t *testing.T, settle func(a *audit, lives *child)) {
	dir := crashWorkspace(t)
	apart(t, dir)
	a := newAudit(t, dir)
	dies, lives := startChild(t, dir), startChild(t, dir)
	a.runs(dies, "W-0", "echo by the dead > w0/dead; sleep 600")
	a.waitFor("w0/dead", dies)
	a.runs(lives, "W-1", "echo by the living > w1/living; sleep 600")
	a.waitFor("w1/living", lives)
	dies.kill()
	settle(a, lives)
	if err := lives.end(); err != nil { // and its command with it, which is recorded
		t.Error(err)
	}
	a.check("after both")
	for path, kind := range map[string]ledger.Kind{"w0/dead": ledger.KindRecovered, "w1/living": ledger.KindCommand} {
		if got := a.kindsOf(path); !slices.Equal(got, []ledger.Kind{kind}) {
			t.Errorf("%s is told of by records of the kinds %v, want %v", path, got, kind)
		}
	}
}

// TestCommandBesideADeadWrite: while a server runs a command, another is killed
// when it has written a file and not recorded that. The command is neither
// charged with the file nor is the file taken away.
func TestCommandBesideADeadWrite(t *testing.T) {
	for _, held := range []string{"as the machine can", "not held"} {
		t.Run(held, func(t *testing.T) {
			if held == "not held" {
				t.Setenv(unboxedEnv, "1")
			}
			dir := crashWorkspace(t)
			apart(t, dir)
			a := newAudit(t, dir)
			lives, dies := startChild(t, dir), startChild(t, dir)
			a.runs(lives, "W-0", "echo by the living > w0/living; sleep 600")
			a.waitFor("w0/living", lives)
			if err := dies.greet(); err != nil {
				t.Fatal(err)
			}
			letRecord := a.writesUnrecorded(dies, "W-1", "w1/new.txt")
			dies.kill()
			letRecord()
			if err := lives.end(); err != nil { // and its command with it
				t.Error(err)
			}
			a.greetedAndEnded()
			a.check("after both")
			if got := a.kindsOf("w1/new.txt"); !slices.Equal(got, []ledger.Kind{ledger.KindRecovered}) {
				t.Errorf("the write is told of by records of the kinds %v", got)
			}
		})
	}
}

// runs has a server begin a command.
func (a *audit) runs(c *child, intent, line string) {
	a.t.Helper()
	if err := c.greet(); err != nil {
		a.t.Fatal(err)
	}
	go c.call("execute_command", args{"session": a.selects(c, intent), "command": line})
}

// writesUnrecorded has a server write a new file that it cannot record until
// letRecord is called.
func (a *audit) writesUnrecorded(c *child, intent, path string) (letRecord func()) {
	a.t.Helper()
	session := a.selects(c, intent)
	letRecord = lockFile(a.t, filepath.Join(ledgertest.Home(a.dir), "state/lock"))
	go c.call("write_to_file", args{"session": session, "path": path, "content": "new\n"})
	a.waitFor(path, c)
	return letRecord
}

// kindsOf are the kinds of the records that tell of a path.
func (a *audit) kindsOf(path string) (kinds []ledger.Kind) {
	a.t.Helper()
	root, err := os.OpenRoot(a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	defer root.Close()
	l, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		a.t.Fatal(err)
	}
	defer l.Close(a.t.Context())
	found, err := l.Query(a.t.Context(), ledger.Filter{Path: path})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range found.Entries {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}
