//go:build unix

package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

// undoEnv makes this test binary undo and redo all that INT-005 did in the
// workspace that it names, again and again, until it is killed.
const undoEnv = "ORCHESTRA_TEST_UNDO"

func undoAsChild(dir string) error {
	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults()})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if err := undoOrRedo(context.Background(), srv); err != nil {
			return err
		}
	}
}

// undoOrRedo undoes the intent; where nothing of it stands, it undoes the last
// undo.
func undoOrRedo(ctx context.Context, srv *server.Server) error {
	p, err := srv.PlanUndo(ctx, undo.Request{IntentID: "INT-005"})
	if err == nil && len(p.Records) == 0 {
		var last ledger.Result
		last, err = srv.Ledger().Query(ctx, ledger.Filter{IntentID: "INT-005", Kinds: ledger.ChangeKinds(), Newest: true, Limit: 1})
		if err == nil {
			p, err = srv.PlanUndo(ctx, undo.Request{Records: []string{last.Entries[0].ID}})
		}
	}
	if err != nil {
		return err
	}
	if !p.Ready() {
		return fmt.Errorf("not ready: %+v", p)
	}
	_, _, err = srv.Undo(ctx, p)
	return err
}

// TestKilledUndoIsAllOrNothing kills a process at random moments while it
// undoes and redoes changes of six files, of one only the mode. What the disk shows is then what
// the ledger tells, and one of the two states.
func TestKilledUndoIsAllOrNothing(t *testing.T) {
	t.Parallel()
	kills := 8
	if os.Getenv("ORCHESTRA_LONG") == "1" {
		kills = 100
	}
	b := start(t, newWorkspace(t), withoutSandbox).connect()
	b.selects("INT-005")
	write(t, b.dir, "src/b.txt", "b\n")
	write(t, b.dir, "src/gone.txt", "gone\n")
	write(t, b.dir, "src/run.sh", "#!/bin/sh\n")
	b.chmod("src/gone.txt", 0o750)
	a := newAudit(t, b.dir)
	b.ok("read_file", args{"path": "src/gone.txt"})
	b.writes("src/a.txt", "ONE\n")
	b.writes("src/new.txt", "new\n")
	b.patches("*** Update File: src/b.txt", "*** Move to: src/c.txt", "@@", "-b", "+c", "*** Delete File: src/gone.txt", "*** Add File: src/d.txt", "+d")
	b.runs("chmod 755 src/run.sh")
	b.hangUp()
	b.close()
	undone, done := a.start, a.files()
	seen := map[bool]int{}
	for kill := range kills {
		when := fmt.Sprintf("after kill %d", kill)
		killUndo(t, b.dir)
		settleOnce(t, b.dir)
		a.check(when)
		now := a.files()
		isUndone, isDone := fmt.Sprint(now) == fmt.Sprint(undone), fmt.Sprint(now) == fmt.Sprint(done)
		if isUndone == isDone {
			t.Fatalf("%s: neither undone nor done: %v", when, now)
		}
		seen[isUndone]++
	}
	t.Logf("%d kills: %d times undone, %d times done, %d records, %d of them recovered", kills, seen[true], seen[false], a.records, a.recovered)
}

// killUndo lets a process undo and redo for a moment.
func killUndo(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), undoEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("ready\n"))
	_, err = out.Read(ready)
	time.Sleep(rand.N(3 * longestLife)) // the moment of the kill, not a wait for something
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait()
	if text, _ := os.ReadFile(said.Name()); len(text) > 0 || err != nil {
		t.Fatalf("%v: the process ended by itself: %s", err, text)
	}
}

// settleOnce does what the next process would do first.
func settleOnce(t *testing.T, dir string) {
	t.Helper()
	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := srv.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"}); err != nil {
		t.Error(err)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}
