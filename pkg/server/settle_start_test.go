//go:build unix

package server_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// killedInACommand is a workspace whose server was killed while a command went
// on writing, without an end.
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
	if a.recovered != 1 {
		t.Errorf("%d records of what was settled", a.recovered)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, ".orchestration/state/inflight/*.entry")); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}

// TestNothingIsMadeAtStart: where nobody left anything, a start changes nothing,
// also where no workspace was ever made.
func TestNothingIsMadeAtStart(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{newWorkspace(t), t.TempDir()} {
		b := start(t, dir).connect()
		b.hangUp()
		if err := b.server.Close(); err != nil {
			t.Error(err)
		}
		b.closed = true
		if _, err := os.Lstat(filepath.Join(dir, ".orchestration/state")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("state/ was made: %v", err)
		}
	}
}

// logged is a log that is read when its server has ended.
func logged(into *strings.Builder) func(*server.Options) {
	return func(o *server.Options) {
		o.Logger = zerolog.New(zerolog.SyncWriter(into)).Level(zerolog.WarnLevel)
	}
}

// TestStartThatCannotSettle: the log says so, reads go on, and the first change
// is refused until the cause is gone.
func TestStartThatCannotSettle(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	stray := filepath.Join(dir, ".orchestration/state/inflight/stray.entry")
	if err := os.MkdirAll(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	ended := start(t, dir, logged(&log)).connect()
	ended.hangUp()
	ended.close()
	if !strings.Contains(log.String(), "the first change tries again") {
		t.Errorf("logged: %s", log.String())
	}
	b := start(t, dir).connect()
	b.ok("list_intents", args{})
	s := b.selects("INT-001")
	change := args{"session": s, "path": "src/new.txt", "content": "new\n"}
	if r := b.call("write_to_file", change); r.Object["error_type"] != "LEDGER_UNAVAILABLE" || !strings.Contains(r.Text, "not a regular file") {
		t.Errorf("the first change: %s", r.Text)
	}
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	b.ok("write_to_file", change)
}

// TestEndWhileAnotherSettles: a server that ends does not wait for another one
// that settles.
func TestEndWhileAnotherSettles(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	at := filepath.Join(dir, ".orchestration/state")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	other := journal.Open(journal.Options{State: func() (*os.Root, error) { return os.OpenRoot(at) }})
	defer other.Close()
	dead, err := other.Begin(journal.Entry{Began: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	dead.Leave()
	taken, err := other.Orphans()
	if err != nil || len(taken) != 1 {
		t.Fatal(taken, err)
	}
	var log strings.Builder
	b := start(t, dir, logged(&log)).connect()
	b.hangUp()
	b.close()
	if log.Len() > 0 {
		t.Errorf("it waited as long as it does for a change: %s", log.String())
	}
	taken[0].Release()
}
