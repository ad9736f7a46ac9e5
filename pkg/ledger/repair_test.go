package ledger_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
)

func (w *workspace) repair() []mend.SetAside {
	w.t.Helper()
	done := check.Value(mend.Repair(context.Background(), w.root))(w.t)
	return done
}

func TestRepairSetsTornTailsAside(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	appendOne(t, l, mutation("INT-001", "b"))
	whole := w.read(tracePath)
	last := len(whole) - len(w.lines(tracePath)[1]) - 1
	other := ".orchestration/trace/" + session + ".jsonl"
	for _, cut := range []int{last + 1, last + 20, len(whole) - 2} {
		w.write(tracePath, whole[:cut])
		w.write(other, whole[:cut])
		done := w.repair()
		if len(done) != 2 {
			t.Fatalf("cut at %d: set aside %+v", cut, done)
		}
		for i, segment := range []string{tracePath, other} {
			want := mend.SetAside{Segment: segment, Offset: int64(last), Bytes: int64(cut - last), File: done[i].File}
			if done[i] != want || !strings.HasPrefix(done[i].File, ".orchestration/state/torn-") {
				t.Errorf("cut at %d: %+v, want %+v", cut, done[i], want)
			}
			if kept := w.read(done[i].File); kept != whole[last:cut] {
				t.Errorf("cut at %d: kept %q, want %q", cut, kept, whole[last:cut])
			}
			if w.read(segment) != whole[:last] {
				t.Errorf("cut at %d: %s is not the whole lines", cut, segment)
			}
		}
		w.wantRecords(1)
		if done := w.repair(); len(done) != 0 {
			t.Errorf("repaired again: %+v", done)
		}
	}
	appendOne(t, l, mutation("INT-001", "c")) // the open ledger goes on
	w.wantRecords(2)
}

func TestRepairRefusesAnythingElse(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	for _, name := range []string{"a", "b", "c"} {
		appendOne(t, l, mutation("INT-001", name))
	}
	whole := w.read(tracePath)
	lines := strings.SplitAfter(whole, "\n")
	for name, content := range map[string]string{
		"whole":                          whole,
		"whole but for its last newline": strings.TrimSuffix(whole, "\n"),
		"a line removed":                 lines[0] + lines[2],
		"a line cut in the middle":       lines[0][:50] + "\n" + lines[1] + lines[2],
		"conflict markers":               "<<<<<<< HEAD\n" + whole + ">>>>>>> x\n",
		"space behind it":                whole + "  ",
	} {
		w.write(tracePath, content)
		if done := w.repair(); len(done) != 0 || w.read(tracePath) != content {
			t.Errorf("%s: %+v", name, done)
		}
	}
	w.write(tracePath, whole)
}

func TestRepairNeedsAWritableLedger(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, os.Remove(w.path(".orchestration")))
	if _, err := mend.Repair(context.Background(), w.root); !errors.Is(err, ledger.ErrNotInitialized) {
		t.Errorf("no directory: %v", err)
	}
	w.write(tracePath, "x")
	check.OK(t, os.Remove(w.path(tracePath)))
	check.OK(t, os.Symlink("../away", w.path(tracePath)))
	if done := w.repair(); len(done) != 0 {
		t.Errorf("a link: %+v", done)
	}
	check.OK(t, os.Remove(w.path(tracePath)))
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		return // permission bits bind nobody here
	}
	w.write(tracePath, "torn")
	check.OK(t, os.Chmod(w.path(tracePath), 0o444))
	if _, err := mend.Repair(context.Background(), w.root); !errors.Is(err, os.ErrPermission) {
		t.Errorf("read-only: %v", err)
	}
	check.OK(t, os.Remove(w.path(tracePath)))
}
