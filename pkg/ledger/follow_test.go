package ledger_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
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
	if err := l.Follow(context.Background(), record.Filter{Path: "x", Line: 1}, nil); err == nil {
		t.Error("a line of a file is followed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Follow(ctx, record.Filter{}, nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	tail := check.Value(l.Tail(context.Background()))(t)
	appendOne(t, l, called("a", "INT-001"))
	broken := errors.New("broken pipe")
	check.Is(t, tail.Follow(context.Background(), record.Filter{}, func(record.Entry) error { return broken }), broken, "visit's error comes back as")
}
