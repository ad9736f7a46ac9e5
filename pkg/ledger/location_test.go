package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/union"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// besideWorkspace has a repository whose ledger stands beside the tree as soon as there is a record.
func besideWorkspace(t *testing.T) (*workspace, *ledger.Ledger) {
	w := newWorkspace(t)
	w.git("init", "-q")
	w.write(".orchestration/.gitignore", "/state/\n/cache/\n/agent_trace.jsonl\n")
	w.write("a.txt", "a\n")
	w.commitAll("first")
	return w, w.open(ledger.Options{Beside: true})
}

func (w *workspace) commitAll(message string) {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "-m", message)
}

// wantClean checks that git sees nothing of the ledger.
func (w *workspace) wantClean() {
	w.t.Helper()
	check.Equal(w.t, w.git("status", "--porcelain"), "", "git status")
}

func TestBesideTheTree(t *testing.T) {
	w, l := besideWorkspace(t)
	check.OK(t, l.Writable(context.Background()))
	check.Fails(os.Stat(locate.Beside(w.dir)))(t, os.ErrNotExist, "a ledger that nobody wrote to has a place")
	for _, op := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"clean", func() { w.git("clean", "-q", "-fdx") }},
		{"stash", func() {
			w.write("a.txt", "changed\n")
			w.write("new.txt", "new\n")
			w.git("stash", "-q", "-u")
		}},
		{"a file in the way", func() {
			check.OK(t, os.Remove(w.path(tracePath)))
			w.write(tracePath, `{"prev":[],"version":"0.1.0","id":"from an older program"}`+"\n")
		}},
	} {
		before := w.verify().Records
		op.do()
		appendOne(t, l, mutation("INT-001", "a.txt"))
		if after := w.verify(); after.Records <= before || len(after.Problems) > 0 {
			t.Errorf("%s: %d records before, then %d and problems %v", op.name, before, after.Records, after.Problems)
		}
		w.wantClean()
	}
	report := w.verify()
	check.That(t, len(report.Heads) == 1 && report.Records == 5, "%d records and %d heads, want 5 and 1", report.Records, len(report.Heads))
	check.OK(t, os.Remove(w.path(tracePath)))
	appendOne(t, l, mutation("INT-001", "a.txt"))
	got := len(w.lines(tracePath))
	check.That(t, got >= 5, "what stands where other tools look has %d lines", got)
}

// TestFirstRecordsAtOnce has several servers write the first record of a repository.
func TestFirstRecordsAtOnce(t *testing.T) {
	w, _ := besideWorkspace(t)
	const servers, rounds = 4, 60
	for range rounds {
		check.OK(t, os.RemoveAll(locate.Beside(w.dir)))
		if err := os.Remove(w.path(tracePath)); !errors.Is(err, os.ErrNotExist) {
			check.OK(t, err)
		}
		ended := make(chan error, servers)
		for range servers {
			l := w.open(ledger.Options{Beside: true})
			go func() {
				asked := l.Writable(context.Background()) // as each call does first
				_, err := l.Append(context.Background(), mutation("INT-001", "a.txt"))
				ended <- errors.Join(asked, err, l.Close(context.Background()))
			}()
		}
		for range servers {
			check.OK(t, <-ended)
		}
		report, err := verify.Verify(context.Background(), w.root)
		check.Must(t, err == nil && report.Records == servers, "the ledger has %d records, %v; want %d", report.Records, err, servers)
	}
}

// appendFrom appends a record to the ledger of the workspace at dir, which it gives.
func appendFrom(t *testing.T, dir string) *os.Root {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	l := check.Value(ledger.Open(root, ledger.Options{Beside: true}))(t)
	appendOne(t, l, mutation("INT-001", "a.txt"))
	check.OK(t, l.Close(context.Background()))
	return root
}

func TestWorkTreesShareALedger(t *testing.T) {
	w, l := besideWorkspace(t)
	appendOne(t, l, mutation("INT-001", "a.txt"))
	other := filepath.Join(t.TempDir(), "other")
	w.git("worktree", "add", "-q", other)
	appendFrom(t, other).Close()
	appendOne(t, l, mutation("INT-001", "a.txt"))
	w.git("worktree", "remove", other)
	report := w.verify()
	check.That(t, report.Records == 3 && len(report.Heads) == 1, "%d records and %d heads, want 3 and 1", report.Records, len(report.Heads))
}

func TestWorkspacesOfOneRepository(t *testing.T) {
	w, l := besideWorkspace(t)
	appendOne(t, l, mutation("INT-001", "a.txt"))
	w.write("sub/.orchestration/.gitignore", "/agent_trace.jsonl\n/state/\n")
	root := appendFrom(t, w.path("sub"))
	defer root.Close()
	w.wantRecords(1)
	report := check.Value(verify.Verify(context.Background(), root))(t)
	if report.Records != 1 || locate.Beside(w.dir) == locate.Beside(w.path("sub")) {
		t.Errorf("the workspace below has %d records of its own, want 1", report.Records)
	}
	content, err := os.ReadFile(w.path("sub/.orchestration/agent_trace.jsonl"))
	check.That(t, err == nil && strings.Count(string(content), "\n") == 1, "its link gives %q, %v", content, err)
}

func TestLedgerInTheTreeStays(t *testing.T) {
	w, _ := besideWorkspace(t)
	w.write(tracePath, "")
	appendOne(t, w.open(ledger.Options{Beside: true}), mutation("INT-001", "a.txt"))
	check.Equal(t, len(w.lines(tracePath)), 1, "records in the tree")
	check.Fails(os.Stat(locate.Beside(w.dir)))(t, os.ErrNotExist, "the ledger was moved without being asked")
}

// TestMoveBeside moves under a ledger that stays open, and goes back and forth over the commit that moves.
func TestMoveBeside(t *testing.T) {
	w := newWorkspace(t)
	w.git("init", "-q")
	w.write(".gitattributes", locate.GitAttributes)
	w.write(".orchestration/.gitignore", "/state/\n/cache/\n")
	l := w.open(ledger.Options{})
	for range 40 {
		appendOne(t, l, mutation("INT-001", "a.txt"))
	}
	check.OK(t, w.open(ledger.Options{SegmentSize: 4 << 10}).Rotate(context.Background()))
	appendOne(t, l, mutation("INT-001", "a.txt"))
	w.commitAll("in the tree")
	w.git("branch", "old")
	var before []string
	_, err := locate.EachLine(context.Background(), w.root, func(line ledger.RawLine) error {
		before = append(before, line.Segment+" "+string(line.Data))
		return nil
	})
	check.OK(t, err)

	dir, err := locate.MoveBeside(context.Background(), w.root)
	check.OK(t, err)
	var after []string
	_, err = locate.EachLine(context.Background(), w.root, func(line ledger.RawLine) error {
		after = append(after, line.Segment+" "+string(line.Data))
		return nil
	})
	check.OK(t, err)
	check.Must(t, dir == locate.Beside(w.dir) && slices.Equal(before, after), "moved to %s with %d lines of %d", dir, len(after), len(before))
	w.git("rm", "-rq", "--cached", "--", tracePath, ".orchestration/archive")
	check.OK(t, os.RemoveAll(w.path(".orchestration/archive")))
	check.OK(t, os.Remove(w.path(tracePath)))
	w.write(".orchestration/.gitignore", "/state/\n/cache/\n/agent_trace.jsonl\n/archive/\n/trace/\n")
	w.commitAll("beside the tree")
	appendOne(t, l, mutation("INT-001", "a.txt"))
	w.wantClean()
	w.wantRecords(42)

	w.git("switch", "-q", "old")
	w.write(tracePath, w.read(tracePath)+`{"prev":[],"version":"0.1.0","id":"on the old branch"}`+"\n")
	w.git("commit", "-qam", "an older program")
	appendOne(t, l, mutation("INT-001", "a.txt"))
	w.wantClean()
	w.wantRecords(44)
	w.git("switch", "-q", "main")
	appendOne(t, l, mutation("INT-001", "a.txt"))
	w.wantClean()
	report := w.verify()
	check.That(t, report.Records == 45 && len(report.Heads) == 1, "%d records and %d heads, want 45 and 1", report.Records, len(report.Heads))
}

func TestUnite(t *testing.T) {
	w, l := besideWorkspace(t)
	appendOne(t, l, mutation("INT-001", "a.txt"))
	other := newWorkspace(t)
	theirs := other.open(ledger.Options{})
	for range 3 {
		appendOne(t, theirs, mutation("INT-001", "a.txt"))
	}
	lines := other.lines(tracePath)
	unite := func(lines ...string) (int, error) {
		root, leave, err := locate.Stands(w.root)
		check.OK(t, err)
		defer leave()
		u := check.Value(union.Begin(context.Background(), root))(t)
		defer u.Discard()
		all := func(yield func([]byte) error) error {
			for _, line := range lines {
				if err := yield([]byte(line)); err != nil {
					return err
				}
			}
			return nil
		}
		if err := u.Check(all); err != nil {
			return 0, err
		}
		check.OK(t, all(u.Add))
		return u.Publish(context.Background())
	}
	check.Fails(unite(lines[0], "<<<<<<< HEAD"))(t, record.ErrMalformed, "garbage")
	forged := strings.Replace(lines[1], "a.txt", "b.txt", 1)
	for _, with := range [][]string{{lines[1], forged}, {strings.Replace(w.lines(tracePath)[0], "a.txt", "b.txt", 1)}} {
		_, err := unite(with...)
		check.That(t, errors.As(err, new(*union.IDConflictError)), "another record under the same id gives %v", err)
	}
	w.wantRecords(1)
	for _, want := range []int{3, 0} {
		added := check.Value(unite(lines[2], lines[0], lines[1], lines[0]))(t)
		check.Equal(t, added, want, "lines were added")
	}
	w.wantRecords(4)
	appendOne(t, l, mutation("INT-001", "a.txt"))
	report := w.verify()
	check.That(t, len(report.Heads) == 1 && report.Records == 5, "%d records and %d heads, want 5 and 1", report.Records, len(report.Heads))
}

// TestLostPlace tells a ledger that is gone from one that never was.
func TestLostPlace(t *testing.T) {
	w, l := besideWorkspace(t)
	appendOne(t, l, mutation("INT-001", "a.txt"))
	check.OK(t, os.RemoveAll(w.path(".git/orchestra")))
	again := w.open(ledger.Options{Beside: true})
	if err := again.Writable(context.Background()); !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "no ledger stands there") {
		t.Errorf("a ledger whose place is gone is writable: %v", err)
	}
	check.Fails(again.Append(context.Background(), mutation("INT-001", "a.txt")))(t, ledger.ErrUnavailable, "it takes a record")
	check.OK(t, os.Remove(w.path(tracePath)))
	appendOne(t, again, mutation("INT-001", "a.txt"))
	w.wantRecords(1)
}
