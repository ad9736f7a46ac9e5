package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func TestOpenTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(t)
	ctx := context.Background()
	check.Is(t, l.Writable(ctx), ledger.ErrNotInitialized, "Writable")
	check.Fails(l.Append(ctx, mutation("INT-001", "a")))(t, ledger.ErrNotInitialized, "Append")
	result, err := l.Query(ctx, record.Filter{})
	check.That(t, err == nil && len(result.Entries) == 0, "Query: %v, %v", result, err)
	report, err := verify.Verify(ctx, root)
	check.That(t, err == nil && report.Records == 0 && len(report.Problems) == 0, "Verify: %+v, %v", report, err)
	check.OK(t, l.Close(ctx))
	left, _ := os.ReadDir(dir)
	check.That(t, len(left) == 0, "%v was created", left)
}

func TestOpenRefusesUnknownOptions(t *testing.T) {
	w := newWorkspace(t)
	for _, opts := range []ledger.Options{{Layout: "x"}, {Durability: "x"}} {
		_, err := ledger.Open(w.root, opts)
		check.That(t, err != nil, "%+v is accepted", opts)
	}
}

func TestConcurrentAppendsShareFlushes(t *testing.T) {
	const callers, each = 16, 25
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	var flushes atomic.Int64
	l.UseDisk(ledger.Disk{Flush: func(f *os.File) error {
		flushes.Add(1)
		time.Sleep(time.Millisecond)
		return f.Sync()
	}})
	inParallel(callers, func(i int) {
		for n := range each {
			_, err := l.Append(context.Background(), mutation("INT-001", fmt.Sprintf("src/%d-%d", i, n)))
			check.NoError(t, err)
		}
	})
	w.wantRecords(callers * each)
	if n := flushes.Load(); n > callers*each/3 {
		t.Errorf("%d flushes for %d records", n, callers*each)
	}
}

func TestAnswerComesAfterTheFlush(t *testing.T) {
	for durability, want := range map[ledger.Durability]bool{ledger.DurabilityFull: true, ledger.DurabilityOS: false} {
		w := newWorkspace(t)
		l := w.open(ledger.Options{Durability: durability})
		var flushed atomic.Bool
		l.UseDisk(ledger.Disk{Flush: func(*os.File) error {
			time.Sleep(20 * time.Millisecond)
			flushed.Store(true)
			return nil
		}})
		appendOne(t, l, mutation("INT-001", "a"))
		check.Equal(t, flushed.Load(), want, "%s: flushed before the answer", durability)
		w.wantRecords(1)
	}
}

func TestFailureOfTheDiskPoisons(t *testing.T) {
	fail := syscall.EIO
	healthy := false // the disk works again; the ledger must not
	cases := map[string]struct {
		disk    ledger.Disk
		records int // that the file has afterwards
	}{
		"write fails": {ledger.Disk{Write: func(*os.File, []byte) (int, error) { return 0, fail }}, 1},
		"short write": {ledger.Disk{Write: func(f *os.File, p []byte) (int, error) { return f.Write(p[:len(p)/2]) }}, 1},
		"disk full": {ledger.Disk{Write: func(f *os.File, p []byte) (int, error) {
			n, _ := f.Write(p[:10])
			return n, syscall.ENOSPC
		}}, 1},
		"flush fails": {ledger.Disk{Flush: func(*os.File) error { return fail }}, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "before"))
			l := w.open(ledger.Options{})
			healthy = false
			l.UseDisk(ledger.Disk{
				Write: func(f *os.File, p []byte) (int, error) {
					if healthy || c.disk.Write == nil {
						return f.Write(p)
					}
					return c.disk.Write(f, p)
				},
				Flush: func(f *os.File) error {
					if healthy || c.disk.Flush == nil {
						return f.Sync()
					}
					return c.disk.Flush(f)
				},
			})
			ctx := context.Background()
			check.Fails(l.Append(ctx, mutation("INT-001", "a")))(t, ledger.ErrUnavailable)
			healthy = true
			check.Fails(l.Append(ctx, mutation("INT-001", "b")))(t, ledger.ErrUnavailable, "the next append")
			check.Is(t, l.Writable(ctx), ledger.ErrUnavailable, "Writable")
			check.Is(t, l.Close(ctx), ledger.ErrUnavailable, "Close")
			w.wantRecords(c.records)
			appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "reopened"))
			w.wantRecords(c.records + 1)
		})
	}
}

func TestCancelledAppendIsWrittenOrNot(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	hold := make(chan struct{})
	entered := make(chan struct{}, 10)
	l.UseDisk(ledger.Disk{Flush: func(*os.File) error { entered <- struct{}{}; <-hold; return nil }})
	first := make(chan error, 1)
	go func() {
		_, err := l.Append(context.Background(), mutation("INT-001", "a"))
		first <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	check.Fails(l.Append(ctx, mutation("INT-001", "b")))(t, context.DeadlineExceeded)
	close(hold)
	check.OK(t, <-first)
	appendOne(t, l, mutation("INT-001", "c"))
	w.wantRecords(2)
}

func TestAppendSoonKeepsOrderAndIsFlushedByClose(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	for i := range 5 {
		l.AppendSoon(record.Record{Kind: record.KindDecision, IntentID: fmt.Sprint(i)})
	}
	appendOne(t, l, record.Record{Kind: record.KindRead, IntentID: "5"})
	l.AppendSoon(record.Record{Kind: record.KindDecision, IntentID: "6"})
	check.OK(t, l.Close(context.Background()))
	var got []string
	problems, err := l.Scan(context.Background(), func(e record.Entry) error {
		got = append(got, e.IntentID)
		return nil
	})
	check.That(t, err == nil && len(problems) == 0 && strings.Join(got, "") == "0123456", "order %v, problems %v, error %v", got, problems, err)
}

func TestAppendSoonArrivesByItselfAndBeforeAQuery(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	l.AppendSoon(record.Record{Kind: record.KindDecision})
	result, err := l.Query(context.Background(), record.Filter{})
	check.That(t, err == nil && len(result.Entries) == 1, "a query right behind finds %d records, error %v", len(result.Entries), err)
	l.AppendSoon(record.Record{Kind: record.KindDecision})
	for deadline := time.Now().Add(time.Minute); strings.Count(w.read(tracePath), "\n") < 2; {
		check.Must(t, !time.Now().After(deadline), "a record was not written without another")
		time.Sleep(time.Millisecond)
	}
}

func TestClose(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	ctx := context.Background()
	check.OK(t, l.Close(ctx))
	check.OK(t, l.Close(ctx))
	check.Fails(l.Append(ctx, mutation("INT-001", "b")))(t, ledger.ErrClosed, "Append")
	check.Is(t, l.Writable(ctx), ledger.ErrClosed, "Writable")
	w.wantRecords(1)
}

func TestCloseDuringAppendsLosesNoAcknowledgedRecord(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	var acknowledged atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		inParallel(8, func(int) {
			for {
				if _, err := l.Append(context.Background(), mutation("INT-001", "a")); err != nil {
					check.That(t, errors.Is(err, ledger.ErrClosed), "%v", err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}()
	for acknowledged.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	check.OK(t, l.Close(context.Background()))
	<-done
	w.wantRecords(int(acknowledged.Load()))
}

func TestLayoutBySessions(t *testing.T) {
	w := newWorkspace(t)
	sessions := []string{session, "7d4a7a0e-53f5-4d4f-9a4e-0a3f3f6f7a12", ""}
	l := w.open(ledger.Options{Layout: ledger.LayoutSessions})
	check.OK(t, l.Writable(context.Background()))
	inParallel(6, func(i int) {
		for n := range 10 {
			record := mutation("INT-001", fmt.Sprintf("src/%d/%d", i, n))
			record.Session = sessions[i%3]
			if _, err := l.Append(context.Background(), record); err != nil {
				t.Error(err)
			}
		}
	})
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "single"))
	w.wantRecords(61)
	files, err := filepath.Glob(w.path(".orchestration/trace/*.jsonl"))
	check.That(t, err == nil && len(files) == 3, "files %v, %v", files, err)
	check.Equal(t, strings.Count(w.read(".orchestration/trace/"+session+".jsonl"), "\n"), 20, "lines in the session's file")
	result := check.Value(l.Query(context.Background(), record.Filter{Newest: true, Limit: 1}))(t)
	check.Equal(t, result.Entries[0].Changes[0].Path, "single", "the newest of all files")
}

func inParallel(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}
