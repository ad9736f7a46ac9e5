//go:build unix

package server_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// killedInACommand is a workspace whose server was killed while a command went on writing, without an end.
func killedInACommand(t *testing.T) *audit {
	t.Helper()
	dir := crashWorkspace(t)
	apart(t, dir)
	a := newAudit(t, dir)
	c := startChild(t, dir)
	a.runs(c, "W-0", "setsid sh -c 'echo begun > w0/begun; while :; do echo more >> w0/first.txt; done' & wait")
	a.waitFor("w0/begun", c)
	c.kill()
	return a
}

// greetedAndEnded is the life of a server whose client asks for nothing.
func (a *audit) greetedAndEnded() {
	c := startChild(a.t, a.dir)
	if err := c.greet(); err != nil {
		a.t.Errorf("%v: %s", err, c.said())
	}
	if err := c.end(); err != nil {
		a.t.Errorf("%v: %s", err, c.said())
	}
}

// TestSettledAtStart: two servers start when one was killed, and nobody asks
// for a change. What its command did stands in the ledger once, to its end.
func TestSettledAtStart(t *testing.T) {
	for _, held := range []string{"as the machine can", "not held"} {
		t.Run(held, func(t *testing.T) {
			if held == "not held" {
				t.Setenv(unboxedEnv, "1")
			}
			settledAtStart(t)
		})
	}
}

func settledAtStart(t *testing.T) {
	a := killedInACommand(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(a.greetedAndEnded)
	}
	both.Wait()
	a.greetedAndEnded() // of two, each may have left the rest to the other
	a.check("after two servers started")
	check.Equal(t, a.recovered, 1)
	left, _ := filepath.Glob(filepath.Join(a.dir, ".orchestration/state/inflight/*.entry"))
	check.That(t, len(left) == 0, "left in the journal: %v", left)
}

// TestNothingIsMadeAtStart: where nobody left anything, a start changes nothing, also where no workspace was ever made.
func TestNothingIsMadeAtStart(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{newWorkspace(t), t.TempDir()} {
		b := start(t, dir).connect()
		b.hangUp()
		check.NoError(t, b.server.Close())
		b.closed = true
		_, err := os.Lstat(filepath.Join(dir, ".orchestration/state"))
		check.That(t, errors.Is(err, fs.ErrNotExist), "state/ was made: %v", err)
	}
}

// logged is a log that is read when its server has ended.
func logged(into *strings.Builder) func(*server.Options) {
	return func(o *server.Options) {
		o.Logger = zerolog.New(zerolog.SyncWriter(into)).Level(zerolog.WarnLevel)
	}
}

// TestStartThatCannotSettle: the log says so, reads go on, and the first change is refused until the cause is gone.
func TestStartThatCannotSettle(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	stray := filepath.Join(dir, ".orchestration/state/inflight/stray.entry")
	check.OK(t, os.MkdirAll(stray, 0o700))
	var log strings.Builder
	ended := start(t, dir, logged(&log)).connect()
	ended.hangUp()
	ended.close()
	check.That(t, strings.Contains(log.String(), "the first change tries again"), "logged: %s", log.String())
	b := start(t, dir).connect()
	b.OK("list_intents", args{})
	s := b.Selects("INT-001")
	change := args{"session": s, "path": "src/new.txt", "content": "new\n"}
	r := b.Call("write_to_file", change)
	check.That(t, r.Object["error_type"] == "LEDGER_UNAVAILABLE" && strings.Contains(r.Text, "not a regular file"), "the first change: %s", r.Text)
	check.OK(t, os.Remove(stray))
	b.OK("write_to_file", change)
}

// TestEndWhileAnotherSettles: a server that ends does not wait for another one that settles.
func TestEndWhileAnotherSettles(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	at := filepath.Join(dir, ".orchestration/state")
	check.OK(t, os.MkdirAll(at, 0o700))
	other := journal.Open(journal.Options{State: func() (*os.Root, error) { return os.OpenRoot(at) }})
	defer other.Close()
	dead := check.Value(other.Begin(journal.Entry{Began: time.Now()}))(t)
	dead.Leave()
	taken, err := other.Orphans()
	check.Must(t, err == nil && len(taken) == 1, "%v %v", taken, err)
	var log strings.Builder
	b := start(t, dir, logged(&log)).connect()
	b.hangUp()
	b.close()
	check.That(t, log.Len() == 0, "it waited as long as it does for a change: %s", log.String())
	taken[0].Release()
}

// TestCommandsWaitForWhatCannotBeTaken: a server is killed while it runs a command and has written a file without
// recording it, and the entry of the latter cannot be taken yet, as a child that had just been made has its lock for a
// moment. The command is not charged with that file meanwhile.
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
	check.Equal(t, a.recovered, 2)
	check.NoError(t, next.end())
}

// lockFile takes a file's lock when it is free.
func lockFile(t *testing.T, name string) (unlock func()) {
	t.Helper()
	f := check.Value(os.Open(name))(t)
	check.OK(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	return func() { f.Close() }
}

// slotOf is the journal's file with the entry of a change.
func slotOf(t *testing.T, dir, path string) string {
	t.Helper()
	at := filepath.Join(dir, ".orchestration/state")
	state := check.Value(os.OpenRoot(at))(t)
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

// TestSettledBesideALivingCommand: two servers run a command each, and one is killed. The server that settles what it
// left, a third or the other, does not charge its command with what the other's has done so far.
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
	wanted := map[string]record.Kind{"w0/dead": record.KindRecovered, "w1/living": record.KindCommand}
	if strings.Contains(lives.said(), "calls did not end in time") { // on a busy machine, and left to the next server
		a.greetedAndEnded()
		wanted["w1/living"] = record.KindRecovered
	}
	a.check("after both")
	for path, kind := range wanted {
		got := a.kindsOf(path)
		check.That(t, slices.Equal(got, []record.Kind{kind}), "%s is told of by records of the kinds %v, want %v", path, got, kind)
	}
}

// TestCommandBesideADeadWrite: while a server runs a command, another is killed when it has written a file and not
// recorded that. The command is neither charged with the file nor is the file taken away.
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
			check.OK(t, dies.greet())
			letRecord := a.writesUnrecorded(dies, "W-1", "w1/new.txt")
			dies.kill()
			letRecord()
			if err := lives.end(); err != nil { // and its command with it
				t.Error(err)
			}
			a.greetedAndEnded()
			a.check("after both")
			got := a.kindsOf("w1/new.txt")
			check.That(t, slices.Equal(got, []record.Kind{record.KindRecovered}), "the write is told of by records of the kinds %v", got)
		})
	}
}

// runs has a server begin a command.
func (a *audit) runs(c *child, intent, line string) {
	a.t.Helper()
	check.OK(a.t, c.greet())
	go c.call("execute_command", args{"session": a.selects(c, intent), "command": line})
}

// writesUnrecorded has a server write a new file that it cannot record until letRecord is called.
func (a *audit) writesUnrecorded(c *child, intent, path string) (letRecord func()) {
	a.t.Helper()
	session := a.selects(c, intent)
	letRecord = lockFile(a.t, filepath.Join(ledgertest.Home(a.dir), "state/lock"))
	go c.call("write_to_file", args{"session": session, "path": path, "content": "new\n"})
	a.waitFor(path, c)
	return letRecord
}

// kindsOf are the kinds of the records that tell of a path.
func (a *audit) kindsOf(path string) (kinds []record.Kind) {
	a.t.Helper()
	root := check.Value(os.OpenRoot(a.dir))(a.t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(a.t)
	defer l.Close(a.t.Context())
	found := check.Value(l.Query(a.t.Context(), record.Filter{Path: path}))(a.t)
	for _, e := range found.Entries {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}
