package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func (w *workspace) repair() []mend.SetAside {
	w.t.Helper()
	return check.Value(mend.Repair(context.Background(), w.root))(w.t)
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
		check.Equal(t, len(done), 2, "cut at %d: set aside", cut)
		for i, segment := range []string{tracePath, other} {
			want := mend.SetAside{Segment: segment, Offset: int64(last), Bytes: int64(cut - last), File: done[i].File}
			if done[i] != want || !strings.HasPrefix(done[i].File, ".orchestration/state/torn-") {
				t.Errorf("cut at %d: %+v, want %+v", cut, done[i], want)
			}
			check.Equal(t, w.read(done[i].File), whole[last:cut], "cut at %d: kept", cut)
			check.Equal(t, w.read(segment), whole[:last], "cut at %d: the whole lines of %s", cut, segment)
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
		done := w.repair()
		check.That(t, len(done) == 0 && w.read(tracePath) == content, "%s: %+v", name, done)
	}
	w.write(tracePath, whole)
}

func TestRepairNeedsAWritableLedger(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, os.Remove(w.path(".orchestration")))
	check.Fails(mend.Repair(context.Background(), w.root))(t, ledger.ErrNotInitialized, "no directory")
	w.write(tracePath, "x")
	check.OK(t, os.Remove(w.path(tracePath)))
	check.OK(t, os.Symlink("../away", w.path(tracePath)))
	done := w.repair()
	check.That(t, len(done) == 0, "a link: %+v", done)
	check.OK(t, os.Remove(w.path(tracePath)))
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		return // permission bits bind nobody here
	}
	w.write(tracePath, "torn")
	check.OK(t, os.Chmod(w.path(tracePath), 0o444))
	check.Fails(mend.Repair(context.Background(), w.root))(t, os.ErrPermission, "read-only")
	check.OK(t, os.Remove(w.path(tracePath)))
}

func TestTornLineIsSetAside(t *testing.T) {
	w := newWorkspace(t)
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "a"))
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "b"))
	whole := w.read(tracePath)
	cut := len(whole) - 40
	w.write(tracePath, whole[:cut])

	var log lockedBuffer
	l := w.open(ledger.Options{Logger: zerolog.New(&log)})
	result, err := l.Query(context.Background(), record.Filter{Newest: true})
	if err != nil || len(result.Entries) != 1 || len(result.Problems) != 1 || result.Problems[0].Kind != ledger.ProblemTorn {
		t.Errorf("query of a torn ledger: %d entries, problems %+v, error %v", len(result.Entries), result.Problems, err)
	}
	p := w.verify().Problems
	check.That(t, len(p) == 1 && p[0].Kind == ledger.ProblemTorn && p[0].Line == 2, "verify of a torn ledger: %+v", p)
	appendOne(t, l, mutation("INT-001", "c"))
	w.wantRecords(2)
	aside, err := filepath.Glob(w.path(".orchestration/state/torn-*.jsonl"))
	check.Must(t, err == nil && len(aside) == 1, "set aside: %v, %v", aside, err)
	content := check.Value(os.ReadFile(aside[0]))(t)
	if first := strings.Index(whole, "\n") + 1; string(content) != whole[first:cut] {
		t.Errorf("set aside %q, want %q", content, whole[first:cut])
	}
	check.That(t, strings.Contains(log.String(), "torn"), "nothing in the log: %s", log.String())
}

func TestWholeLineWithoutNewlineIsKept(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	w.write(tracePath, strings.TrimSuffix(w.read(tracePath), "\n"))
	w.wantRecords(1)
	appendOne(t, l, mutation("INT-001", "b"))
	w.wantRecords(2)
	aside, _ := filepath.Glob(w.path(".orchestration/state/torn-*"))
	check.That(t, len(aside) == 0, "%v was set aside", aside)
}
