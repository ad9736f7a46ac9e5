//go:build unix

package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestPlacesThatAreNoLedgerAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(w *workspace) error{
		"link":      func(w *workspace) error { return os.Symlink("../src.txt", w.path(tracePath)) },
		"directory": func(w *workspace) error { return os.Mkdir(w.path(tracePath), 0o755) },
		"fifo":      func(w *workspace) error { return syscall.Mkfifo(w.path(tracePath), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.write("src.txt", "mine\n")
			check.OK(t, spoil(w))
			w.problems = []ledger.ProblemKind{ledger.ProblemUnreadable}
			l := w.open(ledger.Options{})
			check.Is(t, l.Writable(context.Background()), ledger.ErrUnavailable, "Writable")
			check.Fails(l.Append(context.Background(), mutation("INT-001", "a")))(t, ledger.ErrUnavailable, "Append")
			check.Equal(t, w.read("src.txt"), "mine\n", "the file behind the link")
			check.OK(t, os.Remove(w.path(tracePath)))
			w.problems = nil
			appendOne(t, l, mutation("INT-001", "a")) // not poisoned: nothing had been written
		})
	}
}

func TestLinkedDirectoriesBelowHomeAreRefused(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, os.Mkdir(w.path("src"), 0o755))
	check.OK(t, os.Symlink("../src", w.path(".orchestration/trace")))
	check.OK(t, os.Symlink("../src", w.path(".orchestration/state")))
	l := w.open(ledger.Options{Layout: ledger.LayoutSessions})
	check.Fails(l.Append(context.Background(), mutation("INT-001", "a")))(t, ledger.ErrUnavailable, "Append through trace")
	w.write(tracePath, "torn")
	l = w.open(ledger.Options{})
	check.Fails(l.Append(context.Background(), mutation("INT-001", "a")))(t, ledger.ErrUnavailable, "Append that sets a torn line aside through state")
	left, _ := os.ReadDir(w.path("src"))
	check.That(t, len(left) == 0, "%v was written through the links", left)
	w.problems = []ledger.ProblemKind{ledger.ProblemTorn, ledger.ProblemUnreadable}
}

func TestArchivesThatAreNoFilesAreNotOpened(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS})
	appendOne(t, l, mutation("INT-001", "a"))
	check.OK(t, os.Mkdir(w.path(".orchestration/archive"), 0o755))
	check.OK(t, syscall.Mkfifo(w.path(".orchestration/archive/a.jsonl.zst"), 0o644))
	check.OK(t, os.Symlink("../agent_trace.jsonl", w.path(".orchestration/archive/b.jsonl.zst")))
	w.problems = []ledger.ProblemKind{ledger.ProblemUnreadable, ledger.ProblemUnreadable}
	found := query(t, l, record.Filter{})
	check.That(t, len(found.Entries) == 1 && len(found.Problems) == 2, "%d entries, problems %v", len(found.Entries), found.Problems)
}

func TestRotationThroughALinkIsRefused(t *testing.T) {
	for _, name := range []string{"archive", "state", "state/rotate"} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			appendMany(t, w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1}), 30, "a")
			w.write("src/mine", "mine")
			link := w.path(".orchestration/" + name)
			check.OK(t, os.MkdirAll(filepath.Dir(link), 0o755))
			check.OK(t, os.RemoveAll(link))
			check.OK(t, os.Symlink(w.path("src"), link))
			err := w.open(ledger.Options{SegmentSize: smallSegment}).Rotate(context.Background())
			check.That(t, err != nil, "no error")
			left, _ := os.ReadDir(w.path("src"))
			check.That(t, len(left) == 1, "%v stands behind the link", left)
			check.OK(t, os.Remove(link))
		})
	}
}

func TestLinkedHomeIsRefused(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, os.Remove(w.path(".orchestration")))
	check.OK(t, os.Mkdir(w.path("src"), 0o755))
	check.OK(t, os.Symlink("src", w.path(".orchestration")))
	l := w.open(ledger.Options{})
	check.Fails(l.Append(context.Background(), mutation("INT-001", "a")))(t, ledger.ErrUnavailable, "Append")
	left, _ := os.ReadDir(w.path("src"))
	check.That(t, len(left) == 0, "%v was written through the link", left)
	check.OK(t, os.Remove(w.path(".orchestration")))
}

func TestBusyLeavesNothingAndPassesLater(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{LockWait: 20 * time.Millisecond})
	for _, free := range []string{".orchestration", ".orchestration/agent_trace.jsonl"} { // what commands can open, and so lock
		w.write(".orchestration/agent_trace.jsonl", "")
		file := check.Value(os.Open(w.path(free)))(t)
		defer file.Close()
		check.OK(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	}
	w.write(".orchestration/state/lock", "")
	dir := check.Value(os.Open(w.path(".orchestration/state/lock")))(t)
	check.OK(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_EX))
	check.Fails(l.Append(context.Background(), mutation("INT-001", "a")))(t, ledger.ErrBusy)
	err := l.Writable(context.Background())
	check.That(t, err == nil, "Writable: %v", err)
	check.OK(t, dir.Close())
	appendOne(t, l, mutation("INT-001", "a"))
	w.wantRecords(1)
}

// TestKilledProcessLosesNoAcknowledgedRecord kills processes that append from several goroutines at any moment: one after the
// other, and some at once with segments so small that a rotation is nearly always under way.
func TestKilledProcessLosesNoAcknowledgedRecord(t *testing.T) {
	for name, c := range map[string]struct {
		rounds, atOnce int
		segment        int64
	}{
		"alone":    {check.Rounds(check.Smaller(3, 1), 100), 1, -1},
		"rotating": {check.Rounds(check.Smaller(3, 1), 60), 3, smallSegment},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			var acknowledged []string
			var mu sync.Mutex
			for round := range c.rounds {
				inParallel(c.atOnce, func(i int) {
					ids := killedAppender(t, fmt.Sprintf("%s|%d-%d|4|1000000|%d", w.dir, round, i, c.segment))
					mu.Lock()
					defer mu.Unlock()
					acknowledged = append(acknowledged, ids...)
				})
				l := w.open(ledger.Options{SegmentSize: c.segment})
				acknowledged = append(acknowledged, appendOne(t, l, mutation("INT-001", "after")).ID)
				check.OK(t, l.Rotate(context.Background())) // so that the next round has little to move, and comes to it
				p := w.verify().Problems
				check.Must(t, len(p) == 0, "after round %d: %+v", round, p)
			}
			w.wantEach(acknowledged)
			for l := w.open(ledger.Options{SegmentSize: c.segment}); c.segment > 0 && len(w.archives()) == 0; { // one in the background is not waited for
				if err := l.Rotate(context.Background()); len(w.archives()) == 0 { // else that one left it too little
					check.OK(t, err)
				}
			}
			check.That(t, (len(w.archives()) != 0) == (c.segment > 0), "archives %v", w.archives())
		})
	}
}

// killedAppender gives the ids of the records that a process acknowledged before it was killed.
func killedAppender(t *testing.T, job string) (ids []string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), appenderEnv+"="+job)
	cmd.Stderr = os.Stderr
	out := check.Value(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	kill := 1 + rand.N(400)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if ids = append(ids, strings.Fields(lines.Text())[1]); len(ids) == kill {
			time.AfterFunc(rand.N(5*time.Millisecond), func() { cmd.Process.Kill() })
		}
	}
	err := cmd.Wait()
	check.That(t, err != nil && len(ids) >= kill, "a process ended by itself after %d records: %v", len(ids), err)
	return ids
}
