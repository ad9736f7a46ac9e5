package ledger

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/query"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Query gives the records that match. A record that stands in the ledger twice, after a merge, is given once. Within
// a segment the order is that of the lines; several segments are merged by time. A filter that selects uses the index:
// an answer that must not depend on it is Scan's.
func (l *Ledger) Query(ctx context.Context, f record.Filter) (query.Result, error) {
	_ = l.Flush(ctx) // what cannot be flushed is not in the ledger, and has been reported
	if f.Line > 0 {
		return query.FindLine(ctx, l.where, f)
	}
	return query.Find(ctx, l.where, f, nil)
}

const (
	// recentBytes is how much of the end of the ledger is read while there is no index: some thousand records, in about ten
	// milliseconds.
	recentBytes = 4 << 20
	// indexWait is how long an answer waits for the index all the same: that of a short ledger is made by then, and one that an
	// earlier process has made is read.
	indexWait = 50 * time.Millisecond
)

// Recent is Query for the newest f.Limit matches, for who would rather have some of them at once: while there is no index,
// it is made behind the answer, and the answer has what stands in the last lines of the ledger. whole reports whether
// there can be no others.
func (l *Ledger) Recent(ctx context.Context, f record.Filter) (r query.Result, whole bool, err error) {
	_ = l.Flush(ctx)
	at, err := l.here()
	if err != nil {
		return r, false, err
	}
	l.prepare(at)
	select {
	case <-at.prepared:
	case <-time.After(indexWait):
		return query.Recent(ctx, l.where, f, recentBytes)
	}
	f.Newest = true
	r, err = query.Find(ctx, l.where, f, nil)
	return r, true, err
}

// prepare has the index made, once for each place where the ledger stands. What comes later each query takes in.
func (l *Ledger) prepare(at *location) {
	l.state.RLock()
	defer l.state.RUnlock()
	if l.closed {
		return
	}
	at.preparing.Do(func() {
		l.behind.Go(func() {
			defer close(at.prepared)
			_ = query.Prepare(l.life, func() (*os.Root, *index.Index, error) { return at.root, at.index, nil })
		})
	})
}

// Each is Query for as many records as there are: it gives each match to visit instead of holding them all. The order is
// that of Query, but where a ledger has more than 64 segments and the filter no Limit, it is segment by segment. An
// error of visit ends it and is returned.
func (l *Ledger) Each(ctx context.Context, f record.Filter, visit func(record.Entry) error) ([]segment.Problem, error) {
	if f.Line > 0 || f.Limit > 0 {
		found, err := l.Query(ctx, f)
		for i := 0; err == nil && i < len(found.Entries); i++ {
			err = visit(found.Entries[i])
		}
		return found.Problems, err
	}
	_ = l.Flush(ctx)
	return query.Each(ctx, l.where, f, visit)
}

// Scan gives every record once, segment by segment, oldest line first, and returns the lines that could not be read.
// An error of visit ends it and is returned.
func (l *Ledger) Scan(ctx context.Context, visit func(record.Entry) error) ([]segment.Problem, error) {
	return l.ScanLines(ctx, nil, visit)
}

// ScanLines gives every record once whose line want accepts, segment by segment, the oldest line first, and returns the
// lines that could not be read. Only accepted lines are parsed; want must not keep its argument. Lines of other tools
// are given without asking it.
func (l *Ledger) ScanLines(ctx context.Context, want func(line []byte) bool, visit func(record.Entry) error) ([]segment.Problem, error) {
	_ = l.Flush(ctx)
	return query.Scan(ctx, l.where, want, visit)
}

// LineNumber counts to the line of a segment that begins at offset: 1 for the first. A query reads from the end and
// does not count; who wants to tell a person asks here.
func (l *Ledger) LineNumber(ctx context.Context, name string, offset int64) (int, error) {
	at, err := l.here()
	if err != nil {
		return 0, err
	}
	numbers := map[int64]int{offset: 0}
	err = segment.LineNumbers(ctx, at.root, name, numbers)
	if err == nil && numbers[offset] == 0 {
		err = fmt.Errorf("count the lines of %s: it has changed meanwhile", name)
	}
	return numbers[offset], err
}

// NumberProblems gives those of the problems their line that a query found without counting. A problem whose line cannot
// be counted stays as it is: its detail says at which byte it stands.
func (l *Ledger) NumberProblems(ctx context.Context, problems []segment.Problem) []segment.Problem {
	at, err := l.here()
	if err != nil {
		return problems
	}
	return segment.NumberProblems(ctx, at.root, problems)
}

func (l *Ledger) where() (*os.Root, *index.Index, error) {
	at, err := l.here()
	if err != nil {
		return nil, nil, err
	}
	return at.root, at.index, nil
}
