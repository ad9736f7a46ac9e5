package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// errFar: there is more to read than may be.
var errFar = errors.New("further back than is read")

// Recent gives the newest matches of f up to its limit, of those that stand in the last lines of the ledger, as many as have
// that many bytes. It does not use the index. whole reports whether there can be no others: all was read, or the limit
// is reached.
func Recent(ctx context.Context, at where, f record.Filter, bytes int64) (r Result, whole bool, err error) {
	f.Newest = true
	err = segment.UnlessRotated(func() error {
		q := &query{Filter: f, seen: seenLines{}}
		r, whole, err = q.recent(ctx, at, bytes)
		return err
	})
	return r, whole, err
}

// recent reads each of the files that are appended to, which do not tell which of them has the newest, and then the archives
// as far as matches are missing.
func (q *query) recent(ctx context.Context, at where, left int64) (r Result, whole bool, err error) {
	root, _, err := at()
	if err != nil {
		return r, false, fmt.Errorf("query the ledger: %w", err)
	}
	places, problems, err := segment.List(ctx, root)
	if err != nil {
		return r, false, fmt.Errorf("query the ledger: %w", err)
	}
	q.problems = problems
	for _, place := range slices.Backward(places) {
		if place.Archived() && len(r.Entries) >= q.Limit {
			break
		}
		found := 0
		reader := q.reader(ctx, root, place, func(e record.Entry) error {
			r.Entries = append(r.Entries, e)
			if found++; found == q.Limit {
				return segment.ErrEnough
			}
			return nil
		})
		err := place.Read(ctx, root, true, func(line segment.Line) error {
			if left -= line.Size; left < 0 {
				return errFar
			}
			return reader.line(line)
		}, q.tell)
		if errors.Is(err, errFar) {
			break
		}
		if enough(err) != nil {
			return r, false, fmt.Errorf("query the ledger: %s: %w", place.Name, err)
		}
	}
	slices.SortStableFunc(r.Entries, func(a, b record.Entry) int { return b.Time.Compare(a.Time) })
	r.Problems, whole = q.problems, left >= 0
	if len(r.Entries) >= q.Limit {
		r.Entries, whole = r.Entries[:q.Limit], true
	}
	return r, whole, nil
}

// Prepare makes the index of all segments, or brings it up to them.
func Prepare(ctx context.Context, at where) error {
	root, x, err := at()
	if err != nil {
		return err
	}
	places, _, err := segment.List(ctx, root, x.Knows)
	if err == nil {
		_, err = views(ctx, x, places)
	}
	return err
}

// views are the segments that can be indexed.
func views(ctx context.Context, x *index.Index, places []segment.Extent) (map[string]*index.View, error) {
	all := make(map[string]*index.View, len(places))
	for _, place := range places {
		v, err := x.View(ctx, place)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err == nil {
			all[place.Name] = v
		}
	}
	x.Tidy(places)
	return all, nil
}
