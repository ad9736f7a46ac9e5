package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const smallSegment = 16 << 10

func (w *workspace) archives() []string {
	w.t.Helper()
	return check.Value(filepath.Glob(w.path(".orchestration/archive/*")))(w.t)
}

func (w *workspace) wantNoLeftovers() {
	w.t.Helper()
	left, err := os.ReadDir(w.path(".orchestration/state/rotate"))
	check.That(w.t, (err == nil || errors.Is(err, os.ErrNotExist)) && len(left) == 0, "rotation left %v, %v", left, err)
}

// appendMany gives the ids of n records.
func appendMany(t testing.TB, l *ledger.Ledger, n int, name string) []string {
	t.Helper()
	var ids []string
	for i := range n {
		ids = append(ids, appendOne(t, l, mutation("INT-001", fmt.Sprintf("%s/%d", name, i))).ID)
	}
	return ids
}

// wantEach finds each id in the ledger exactly once.
func (w *workspace) wantEach(ids []string) {
	w.t.Helper()
	counts := map[string]int{}
	problems, err := w.open(ledger.Options{}).Scan(context.Background(), func(e record.Entry) error {
		counts[e.ID]++
		return nil
	})
	check.Must(w.t, err == nil && len(problems) == 0, "scan: %v, %v", problems, err)
	for _, id := range ids {
		check.Equal(w.t, counts[id], 1, "how often record %s is there", id)
		delete(counts, id)
	}
}

func TestRotateKeepsEveryRecord(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		t.Run(string(layout), func(t *testing.T) {
			w := newWorkspace(t)
			long := w.open(ledger.Options{Layout: layout, Durability: ledger.DurabilityOS, SegmentSize: -1})
			ids := appendMany(t, long, 250, "src")
			check.Equal(t, len(w.archives()), 0, "archives although it must not rotate")
			l := w.open(ledger.Options{Layout: layout, SegmentSize: smallSegment})
			w.write(".orchestration/state/rotate/0.jsonl.zst", "what a rotation left that was killed")
			w.write(".orchestration/state/rotate/rest.jsonl", "half")
			check.OK(t, l.Rotate(context.Background()))
			if names := w.archives(); len(names) < 5 { // about 256 KiB of lines in pieces of 16 KiB
				t.Errorf("archives %v", names)
			}
			active := filepath.Join(w.dir, tracePath)
			if layout == ledger.LayoutSessions {
				active = w.path(".orchestration/trace/" + session + ".jsonl")
			}
			size := check.Value(os.Stat(active))(t).Size()
			check.That(t, size <= smallSegment/4 && size != 0, "%d bytes are left to append to", size)
			ids = append(ids, appendOne(t, l, mutation("INT-001", "next")).ID, appendOne(t, long, mutation("INT-001", "other")).ID)
			w.wantEach(ids)
			w.wantOneHead()
			check.OK(t, l.Rotate(context.Background())) // nothing to do
			w.wantNoLeftovers()
		})
	}
}

func TestAppendsRotateByThemselves(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: smallSegment})
	var all []string
	for len(w.archives()) < 3 {
		if all = append(all, appendMany(t, l, 20, fmt.Sprint(len(all)))...); len(all) > 100_000 {
			t.Fatal("it does not rotate")
		}
	}
	check.OK(t, l.Close(context.Background()))
	w.wantEach(all)
	w.wantNoLeftovers()
}

// TestRotationBetweenWriteAndLookIsNotARewrite rotates while a group is flushed, which is when the writer is not holding
// the lock and has not looked yet whether its file is still the one.
func TestRotationBetweenWriteAndLookIsNotARewrite(t *testing.T) {
	for _, twice := range []bool{false, true} { // so that the lines are in an archive
		t.Run(fmt.Sprint(twice), func(t *testing.T) {
			w := newWorkspace(t)
			other := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: smallSegment})
			quiet := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
			ids := appendMany(t, quiet, 50, "before")
			l := w.open(ledger.Options{SegmentSize: -1})
			var once sync.Once
			l.UseDisk(ledger.Disk{Flush: func(f *os.File) error {
				once.Do(func() {
					check.OK(t, other.Rotate(context.Background()))
					if twice {
						ids = append(ids, appendMany(t, quiet, 50, "between")...)
						check.OK(t, other.Rotate(context.Background()))
					}
				})
				return ledger.FlushData(f)
			}})
			at := appendOne(t, l, mutation("INT-001", "watched"))
			check.Must(t, len(w.archives()) != 0, "it did not rotate")
			w.wantEach(append(ids, at.ID))
			got := query(t, l, record.Filter{ID: at.Hash}).Entries
			check.That(t, len(got) == 1 && got[0].ID == at.ID, "the hash that was answered is that of %v", got)
		})
	}
}

func TestHeadsAndGarbageStayInTheFile(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
	ids := appendMany(t, l, 50, "a")
	w.write(tracePath, w.read(tracePath)+"<<<<<<< ours\n{\"another\":\"tool\"}\n\n")
	ids = append(ids, appendMany(t, l, 50, "b")...)
	lines := w.lines(tracePath)
	leaf, last := `{"a":"leaf"}`, len(lines)-1
	branch := append(append(lines[:25:25], leaf), lines[25:]...)
	w.write(tracePath, strings.Join(branch, "\n")+"\n")
	check.OK(t, w.open(ledger.Options{SegmentSize: smallSegment}).Rotate(context.Background()))
	kept := w.read(tracePath)
	for _, line := range []string{leaf, "<<<<<<< ours", lines[last]} {
		check.That(t, strings.Contains(kept, line+"\n"), "%.60s does not stand in the file any more", line)
	}
	check.That(t, !strings.Contains(kept, "another") && len(w.archives()) != 0, "a line that is followed was not moved")
	report := w.verify()
	if report.Records != len(ids) || len(report.Problems) != 1 || report.Problems[0].Kind != ledger.ProblemMalformed {
		t.Errorf("%d records of %d, problems %v", report.Records, len(ids), report.Problems)
	}
	appendOne(t, l, mutation("INT-001", "joins"))
	if report = w.verify(); len(report.Heads) != 1 || report.Leaves != 0 {
		t.Errorf("heads %v, %d leaves", report.Heads, report.Leaves)
	}
	w.write(tracePath, strings.Replace(w.read(tracePath), "<<<<<<< ours\n", "", 1)) // garbage can be cleaned away
}

func TestTornEndIsNotArchived(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
	ids := appendMany(t, l, 50, "a")
	check.OK(t, l.Close(context.Background()))
	w.write(tracePath, w.read(tracePath)+`{"prev":["torn`+strings.Repeat("x", smallSegment))
	l = w.open(ledger.Options{SegmentSize: smallSegment})
	check.OK(t, l.Rotate(context.Background()))
	check.That(t, strings.HasSuffix(w.read(tracePath), "xxx") && len(w.archives()) != 0, "the torn end is gone, or nothing was archived")
	w.wantEach(append(ids, appendOne(t, l, mutation("INT-001", "next")).ID))
}

func TestFilesThatCannotBeArchivedAreLeftAlone(t *testing.T) {
	for name, content := range map[string]string{
		"garbage": strings.Repeat("hello\n", 5000), "leaves": leaves(500), "one long line": strings.Repeat("x", 3*smallSegment) + "\n",
		"garbage between records": "",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			if content == "" {
				l := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
				appendMany(t, l, 50, "a")
				content = strings.Repeat(strings.Join(w.lines(tracePath), "\nhello\n")+"\nhello\n", 100)
			}
			w.write(tracePath, content)
			err := w.open(ledger.Options{SegmentSize: smallSegment}).Rotate(context.Background())
			check.That(t, err != nil, "no error")
			check.That(t, len(w.archives()) == 0 && w.read(tracePath) == content, "something was changed")
			w.wantNoLeftovers()
			check.OK(t, os.Remove(w.path(tracePath)))
		})
	}
}

func leaves(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "{\"n\":%d,\"text\":%q}\n", i, strings.Repeat("x", 100))
	}
	return all.String()
}

// TestFailureAtEachStepOfARotationLosesNothing lets each write, flush and rename of a rotation fail.
func TestFailureAtEachStepOfARotationLosesNothing(t *testing.T) {
	failed, step := true, 0
	for failed {
		step++
		t.Run(fmt.Sprint(step), func(t *testing.T) { failed = rotateWithFailure(t, step) })
	}
	check.That(t, step >= 20, "only %d steps were seen", step)
}

// rotateWithFailure reports whether the rotation came to the step.
func rotateWithFailure(t *testing.T, step int) bool {
	w := newWorkspace(t)
	quiet := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
	ids := appendMany(t, quiet, 50, "a")
	at, renamed := 0, false
	fails := func() error {
		if at++; at == step {
			return syscall.ENOSPC
		}
		return nil
	}
	rotating := w.open(ledger.Options{SegmentSize: smallSegment})
	rotating.UseDisk(ledger.Disk{
		Write: func(f *os.File, p []byte) (int, error) {
			if err := fails(); err != nil {
				n, _ := f.Write(p[:len(p)/2])
				return n, err
			}
			return f.Write(p)
		},
		Flush:    func(*os.File) error { return fails() },
		FlushDir: func(*os.File) error { return fails() },
		Rename: func(root *os.Root, from, to string) error {
			if err := fails(); err != nil {
				return err
			}
			renamed = to == tracePath
			return root.Rename(from, to)
		},
	})
	err := rotating.Rotate(context.Background())
	reached := at >= step
	check.Must(t, reached == errors.Is(err, syscall.ENOSPC) && (reached || err == nil), "step %d of %d gives %v", step, at, err)
	check.That(t, (len(w.archives()) > 0) == renamed, "archives %v, rotated %v", w.archives(), renamed)
	w.wantNoLeftovers()
	w.wantEach(append(ids, appendOne(t, quiet, mutation("INT-001", "next")).ID))
	return err != nil
}

func TestAFullDiskStopsRotationAndNotAppends(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: 4 * smallSegment})
	var full atomic.Bool
	var tries atomic.Int64
	full.Store(true)
	l.UseDisk(ledger.Disk{Write: func(f *os.File, p []byte) (int, error) {
		if full.Load() && strings.Contains(f.Name(), path.Join("state", "rotate")) {
			tries.Add(1)
			return 0, syscall.ENOSPC
		}
		return f.Write(p)
	}})
	ids := appendMany(t, l, 400, "full")
	for i := 0; tries.Load() == 0; i++ { // it is tried behind the appends, which may all be done before
		if ids = append(ids, appendMany(t, l, 20, fmt.Sprint("still-full", i))...); i > 10_000 {
			t.Fatal("it is never tried")
		}
	}
	check.Equal(t, len(w.archives()), 0, "archives on a full disk")
	full.Store(false)
	for i := 0; len(w.archives()) == 0; i++ {
		if ids = append(ids, appendMany(t, l, 20, fmt.Sprint("free", i))...); i > 10_000 {
			t.Fatal("it does not try again")
		}
	}
	check.OK(t, l.Close(context.Background()))
	n := tries.Load()
	check.That(t, n != 0 && n <= 60, "%d tries on a full disk", n)
	w.wantEach(ids)
}

// TestAFileThatWasReplacedOrEditedIsNotRotated lets git's work, and an editor's, fall between the preparation and the lock.
func TestAFileThatWasReplacedOrEditedIsNotRotated(t *testing.T) {
	for name, disturb := range map[string]func(w *workspace, content string) error{
		"replaced": func(w *workspace, content string) error {
			return errors.Join(os.WriteFile(w.path("new"), []byte(content), 0o644), os.Rename(w.path("new"), w.path(tracePath)))
		},
		"edited": func(w *workspace, content string) error {
			return os.WriteFile(w.path(tracePath), []byte(strings.Replace(content, "a/3", "a/4", 1)), 0o644)
		},
		"cut":  func(w *workspace, content string) error { return os.Truncate(w.path(tracePath), int64(len(content)/2)) },
		"gone": func(w *workspace, content string) error { return os.Remove(w.path(tracePath)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			l := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
			appendMany(t, l, 50, "a")
			content := w.read(tracePath)
			rotating := w.open(ledger.Options{SegmentSize: smallSegment})
			after := ""
			rotating.UseDisk(ledger.Disk{Flush: func(f *os.File) error {
				if strings.HasSuffix(f.Name(), "rest.jsonl") {
					check.OK(t, disturb(w, content))
					now, _ := os.ReadFile(w.path(tracePath))
					after = string(now)
				}
				return nil
			}})
			check.OK(t, rotating.Rotate(context.Background()))
			now, _ := os.ReadFile(w.path(tracePath))
			check.That(t, string(now) == after && len(w.archives()) == 0, "the rotation went on")
			w.wantNoLeftovers()
			w.write(tracePath, content)
		})
	}
}
