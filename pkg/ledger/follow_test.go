package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// following is a Follow that runs. Its records are taken from it one by one, so that each step of a test has been seen
// before the next one changes the files.
type following struct {
	t      *testing.T
	w      *workspace
	seen   chan string
	cancel context.CancelFunc
	ended  chan error
}

func follow(t *testing.T, w *workspace, f record.Filter) *following {
	t.Helper()
	reader := w.open(ledger.Options{})
	reader.FollowEvery(time.Millisecond)
	tail := check.Value(reader.Tail(context.Background()))(t)
	ctx, cancel := context.WithCancel(context.Background())
	run := &following{t: t, w: w, seen: make(chan string), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		run.ended <- tail.Follow(ctx, f, func(e record.Entry) error {
			select {
			case run.seen <- e.Call:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(cancel)
	return run
}

func (f *following) want(calls string) {
	f.t.Helper()
	for _, call := range strings.Fields(calls) {
		select {
		case got := <-f.seen:
			check.Equal(f.t, got, call, "follow")
		case err := <-f.ended:
			f.t.Fatalf("follow ended with %v before %q", err, call)
		}
	}
}

func (f *following) end() {
	f.t.Helper()
	f.cancel()
	err := <-f.ended
	check.That(f.t, err == nil, "follow ends with %v", err)
}

func called(call, intent string) record.Record {
	r := mutation(intent, "src/x")
	r.Call = call
	return r
}

func TestFollowGivesWhatOthersAppend(t *testing.T) {
	w := newWorkspace(t)
	single, sessions := w.open(ledger.Options{}), w.open(ledger.Options{Layout: ledger.LayoutSessions})
	appendOne(t, single, called("before", "INT-001"))
	appendOne(t, sessions, called("before", "INT-001"))
	f := follow(t, w, record.Filter{IntentID: "INT-001", Limit: 1, Newest: true})
	appendOne(t, single, called("a", "INT-001"))
	f.want("a")
	appendOne(t, sessions, called("b", "INT-001"))
	f.want("b")
	appendOne(t, single, called("other", "INT-002"))
	other := called("c", "INT-001")
	other.Session = "00000000-0000-4000-8000-000000000000" // in a file of its own
	appendOne(t, sessions, other)
	f.want("c")
	appendOne(t, single, called("d", "INT-001"))
	appendOne(t, single, called("e", "INT-001"))
	f.want("d e")
	f.end()
}

func TestFollowGivesEachRecordOnceWhateverHappensToTheFile(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, called("before", "INT-001"))
	f := follow(t, w, record.Filter{})
	appendOne(t, l, called("a", "INT-001"))
	f.want("a")
	content := w.read(tracePath)

	// The same lines under another inode, one line twice, and another tool's of long ago in front of them.
	old := `{"version":"0.1.0","id":"x","timestamp":"2020-01-23T14:30:00Z","files":[]}` + "\n"
	w.write("new", old+content+content)
	check.OK(t, os.Rename(w.path("new"), w.path(tracePath)))
	appendOne(t, l, called("b", "INT-001"))
	f.want("b")

	// What is moved elsewhere, as by rotation, is not new there; what came behind it before the move is.
	appendOne(t, l, called("c", "INT-001"))
	check.OK(t, os.MkdirAll(w.path(".orchestration/trace"), 0o755))
	check.OK(t, os.Rename(w.path(tracePath), w.path(".orchestration/trace/moved.jsonl")))
	appendOne(t, l, called("d", "INT-001"))
	got := map[string]bool{<-f.seen: true, <-f.seen: true}
	check.Must(t, got["c"] && got["d"], "after the move: %v", got)

	// A line that is being written is given when it is whole.
	line := w.lines(tracePath)[0]
	appendOne(t, l, called("e", "INT-001"))
	f.want("e")
	whole := w.read(tracePath)
	w.write(tracePath, strings.TrimSuffix(whole, "\n")[:len(whole)-20])
	w.write(tracePath, whole)
	appendOne(t, l, called("f", "INT-001"))
	f.want("f")
	check.That(t, strings.HasPrefix(whole, line), "the test has lost a line")
	f.end()
}

func TestFollowThroughGit(t *testing.T) {
	w, l := gitWorkspace(t, ledger.Options{})
	appendOne(t, l, called("base", "INT-001"))
	w.commit("base")
	w.git("switch", "-q", "-c", "feature")
	appendOne(t, l, called("old", "INT-001"))
	w.commit("feature")
	w.git("switch", "-q", "main")
	f := follow(t, w, record.Filter{})
	appendOne(t, l, called("a", "INT-001"))
	f.want("a")
	w.commit("a")
	w.git("switch", "-q", "feature")
	appendOne(t, l, called("b", "INT-001"))
	f.want("b")
	w.commit("b")
	w.git("switch", "-q", "main")
	w.git("merge", "-q", "-m", "merge", "feature")
	appendOne(t, l, called("c", "INT-001"))
	f.want("c")
	f.end()
}

func TestFollowEnds(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	l.FollowEvery(time.Millisecond)
	tail := check.Value(l.Tail(context.Background()))(t)
	check.That(t, tail.Follow(context.Background(), record.Filter{Path: "x", Line: 1}, nil) != nil, "a line of a file is followed")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	check.OK(t, tail.Follow(ctx, record.Filter{}, nil))
	appendOne(t, l, called("a", "INT-001"))
	broken := errors.New("broken pipe")
	check.Is(t, tail.Follow(context.Background(), record.Filter{}, func(record.Entry) error { return broken }), broken, "visit's error comes back as")
}

// TestLost: what the ledger had and has no more is found, and what only stands elsewhere in it is not.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *workspace, l *ledger.Ledger, lines []string)
		lost bool
	}{
		{"nothing", func(*workspace, *ledger.Ledger, []string) {}, false},
		{"an append", func(w *workspace, l *ledger.Ledger, _ []string) { appendOne(w.t, l, mutation("INT-001", "c")) }, false},
		{"the same lines in another order, in another file", func(w *workspace, _ *ledger.Ledger, lines []string) {
			check.OK(w.t, os.Remove(w.path(tracePath)))
			w.write(tracePath, lines[1]+"\n"+lines[0]+"\n")
		}, false},
		{"the lines in the other layout", func(w *workspace, _ *ledger.Ledger, lines []string) {
			w.write(".orchestration/trace/"+session+".jsonl", strings.Join(lines, "\n")+"\n")
			check.OK(w.t, os.Remove(w.path(tracePath)))
		}, false},
		{"the file is gone", func(w *workspace, _ *ledger.Ledger, _ []string) { check.OK(w.t, os.Remove(w.path(tracePath))) }, true},
		{"the file is empty", func(w *workspace, _ *ledger.Ledger, _ []string) { check.OK(w.t, os.Truncate(w.path(tracePath), 0)) }, true},
		{"the last line is gone", func(w *workspace, _ *ledger.Ledger, lines []string) { w.write(tracePath, lines[0]+"\n") }, true},
		{"the last line is another", func(w *workspace, _ *ledger.Ledger, lines []string) {
			w.write(tracePath, lines[0]+"\n"+strings.Replace(lines[1], "INT-001", "INT-002", 1)+"\n")
		}, true},
		{"all of .orchestration is gone", func(w *workspace, _ *ledger.Ledger, _ []string) {
			check.OK(w.t, os.RemoveAll(w.path(".orchestration")))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t)
			l := w.open(ledger.Options{})
			appendOne(t, l, mutation("INT-001", "a"))
			appendOne(t, l, mutation("INT-001", "b"))
			lines, ctx := w.lines(tracePath), context.Background()
			mark := check.Value(l.Mark(ctx))(t)
			c.do(w, l, lines)
			loss := check.Value(mark.Lost(ctx, nil))(t)
			check.Must(t, (loss != nil) == c.lost, "lost: %v", loss)
			if loss == nil {
				return
			}
			check.OK(t, os.MkdirAll(w.path(".orchestration"), 0o755))
			check.That(t, !loss.Back(ctx), "it is said to be back")
			// The next record follows what is gone: the chain does not begin anew.
			loss.Follow()
			appendOne(t, l, mutation("INT-001", "c"))
			appendOne(t, l, mutation("INT-001", "d"))
			report := w.verify()
			check.That(t, len(report.Problems) != 0 && report.Problems[0].Kind == ledger.ProblemMissing, "verify finds %+v", report.Problems)
			var back []mend.Line
			for _, line := range lines {
				back = append(back, mend.Line{Segment: "agent_trace.jsonl", Data: []byte(line)})
			}
			check.OK(t, mend.PutBack(ctx, w.root, back))
			check.That(t, loss.Back(ctx), "it is not said to be back: %s", loss)
		})
	}
}

// TestOnAnotherBranch: lines that git has on a branch are not lost.
func TestOnAnotherBranch(t *testing.T) {
	w := newWorkspace(t)
	l, ctx := w.open(ledger.Options{}), context.Background()
	appendOne(t, l, mutation("INT-001", "a"))
	appendOne(t, l, mutation("INT-001", "b"))
	lines := w.lines(tracePath)
	mark := check.Value(l.Mark(ctx))(t)
	w.write(tracePath, lines[0]+"\n")
	elsewhere := func(has string) verify.Elsewhere {
		return func(_ context.Context, visit func([]byte, string) error) error { return visit([]byte(has), "branch x") }
	}
	check.That(t, check.Value(mark.Lost(ctx, elsewhere(lines[0])))(t) != nil, "a line that no branch has is not lost")
	check.That(t, check.Value(mark.Lost(ctx, elsewhere(lines[1])))(t) == nil, "a line of a branch is lost")
}

// TestALostArchive is found by its name.
func TestALostArchive(t *testing.T) {
	w := newWorkspace(t)
	appendMany(t, w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1}), 75, "src")
	l, ctx := w.open(ledger.Options{SegmentSize: smallSegment}), context.Background()
	check.OK(t, l.Rotate(ctx))
	names := w.archives()
	check.Must(t, len(names) != 0, "there is no archive")
	mark := check.Value(l.Mark(ctx))(t)
	aside := w.path("aside")
	check.OK(t, os.Rename(names[0], aside))
	loss := check.Value(mark.Lost(ctx, nil))(t)
	check.Must(t, loss != nil && strings.Contains(loss.String(), filepath.Base(names[0])), "%v", loss)
	check.OK(t, os.Rename(aside, names[0]))
	check.That(t, loss.Back(ctx), "%s", loss)
}

// TestNoBranchHasWhatStandsBeside: a commit from before the move has the lines too, and they are lost all the same where they
// stood; the same with the whole place.
func TestNoBranchHasWhatStandsBeside(t *testing.T) {
	for _, name := range []string{"the file", "the place"} {
		w, l := besideWorkspace(t)
		ctx, at := context.Background(), locate.Beside(w.dir)
		appendOne(t, l, mutation("INT-001", "a"))
		mark := check.Value(l.Mark(ctx))(t)
		lines, gone := w.lines(tracePath), filepath.Join(at, tracePath)
		if name == "the place" {
			gone = at
		}
		check.OK(t, os.Rename(gone, gone+".aside"))
		loss, err := mark.Lost(ctx, func(_ context.Context, visit func([]byte, string) error) error {
			return visit([]byte(lines[0]), "branch x")
		})
		check.OK(t, err)
		check.Must(t, loss != nil && !loss.Back(ctx), "%s: lost: %v", name, loss)
		check.OK(t, os.Rename(gone+".aside", gone))
		check.That(t, loss.Back(ctx), "%s: it is not said to be back: %s", name, loss)
		appendOne(t, l, mutation("INT-001", "b"))
		w.wantRecords(2)
	}
}
