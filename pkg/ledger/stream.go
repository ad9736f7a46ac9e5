package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
)

// maxMerged bounds how many segments are read side by side, each with a file and a buffer of its own.
const maxMerged = 64

// Each is Query for as many records as there are: it gives each match to visit instead of holding them all. The order is
// that of Query, but where a ledger has more than 64 segments and the filter no Limit, it is segment by segment. An
// error of visit ends it and is returned.
func (l *Ledger) Each(ctx context.Context, f Filter, visit func(Entry) error) ([]Problem, error) {
	if f.Line > 0 || f.Limit > 0 {
		found, err := l.Query(ctx, f)
		for i := 0; err == nil && i < len(found.Entries); i++ {
			err = visit(found.Entries[i])
		}
		return found.Problems, err
	}
	_ = l.Flush(ctx)
	q := query{Filter: f, seen: map[string]bool{}}
	err := unlessRotated(func() error { return l.each(ctx, &q, visit) })
	return q.problems, err
}

func (l *Ledger) each(ctx context.Context, q *query, visit func(Entry) error) error {
	places, problems, err := extents(ctx, l.root)
	if err != nil {
		return fmt.Errorf("query the ledger: %w", err)
	}
	q.problems = problems
	if len(places) > 1 && len(places) <= maxMerged {
		return q.merge(ctx, l.root, places, visit)
	}
	for _, place := range places {
		if err := q.each(ctx, l.root, place, visit); err != nil {
			return err
		}
	}
	return nil
}

// ScanLines gives every record once whose line want accepts, segment by segment, the oldest line first, and returns the
// lines that could not be read. Only accepted lines are parsed; want must not keep its argument. Lines of other tools
// are given without asking it.
func (l *Ledger) ScanLines(ctx context.Context, want func(line []byte) bool, visit func(Entry) error) ([]Problem, error) {
	_ = l.Flush(ctx)
	return l.scan(ctx, &query{seen: map[string]bool{}, want: want}, visit)
}

// cursor is one segment on its way through a merge.
type cursor struct {
	next func() (Entry, error, bool)
	stop func()
	head Entry
}

// merge gives the matches of several segments in the order of their times. Of equal times the earlier segment comes
// first, as in Query.
func (q *query) merge(ctx context.Context, root *os.Root, places []extent, visit func(Entry) error) error {
	var open []*cursor
	defer func() {
		for _, c := range open {
			c.stop()
		}
	}()
	for _, place := range places {
		c := &cursor{}
		c.next, c.stop = iter.Pull2(q.entries(ctx, root, place))
		more, err := c.advance()
		if err != nil {
			c.stop()
			return err
		}
		if more {
			open = append(open, c)
		}
	}
	for len(open) > 0 {
		at := q.first(open)
		if err := visit(open[at].head); err != nil {
			return err
		}
		more, err := open[at].advance()
		if err != nil {
			return err
		}
		if !more {
			open = append(open[:at], open[at+1:]...)
		}
	}
	return nil
}

func (q *query) first(open []*cursor) int {
	best := 0
	for i, c := range open {
		order := c.head.Time.Compare(open[best].head.Time)
		if q.Newest {
			order = -order
		}
		if order < 0 {
			best = i
		}
	}
	return best
}

func (c *cursor) advance() (more bool, err error) {
	head, err, more := c.next()
	c.head = head
	return more && err == nil, err
}

// entries is each as a sequence, for merge to take from one segment at a time. An error is its last element.
func (q *query) entries(ctx context.Context, root *os.Root, place extent) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := q.each(ctx, root, place, func(e Entry) error {
			if !yield(e, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Entry{}, fmt.Errorf("query the ledger: %s: %w", path.Join(home, place.name), err))
		}
	}
}
