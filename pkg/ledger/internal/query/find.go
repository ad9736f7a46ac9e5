package query

import (
	"context"
	"errors"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"os"
	"slices"
)

// where says where the ledger stands now, and gives the index of what stands there.
type where func() (*os.Root, *index.Index, error)

// Find gives the matches of f, on any of paths if there are some.
func Find(ctx context.Context, at where, f record.Filter, paths []string) (r Result, err error) {
	err = segment.UnlessRotated(func() error {
		q := query{Filter: f, paths: paths, seen: seenLines{}}
		for _, e := range f.Without {
			q.seen.add(e.Hash)
		}
		if len(paths) > 0 {
			q.Path = ""
		}
		root, places, err := q.open(ctx, at)
		if err == nil {
			r.Entries, err = q.collect(ctx, root, places)
		}
		r.Problems = q.problems
		return err
	})
	return r, err
}

// FindLine reads all of the file's records, and where it was moved those of its older names, to follow the line.
func FindLine(ctx context.Context, at where, f record.Filter) (Result, error) {
	if f.Path == "" {
		return Result{}, errors.New("query the ledger: a line needs a path")
	}
	history := record.Filter{Path: f.Path, Newest: true, Kinds: record.ChangeKinds()}
	paths := []string{f.Path}
	for {
		result, err := Find(ctx, at, history, paths)
		if err != nil {
			return Result{}, err
		}
		if older := movedFrom(result.Entries, paths); len(older) > 0 {
			paths = append(paths, older...)
			continue
		}
		line := linePosition{path: f.Path, line: f.Line, hash: f.Content}
		result.Entries, result.Gap = followLine(result.Entries, line)
		f.Path = ""
		result.Entries = slices.DeleteFunc(result.Entries, func(e record.Entry) bool { return !f.Matches(e) })
		if f.Limit > 0 && len(result.Entries) > f.Limit {
			result.Entries = result.Entries[:f.Limit]
		}
		return result, nil
	}
}

// Each gives each match to visit, in the order of their times where there are not too many segments.
func Each(ctx context.Context, at where, f record.Filter, visit func(record.Entry) error) ([]segment.Problem, error) {
	q := query{Filter: f, seen: seenLines{}}
	err := segment.UnlessRotated(func() error {
		root, places, err := q.open(ctx, at)
		if err != nil {
			return err
		}
		if len(places) > 1 && len(places) <= maxMerged {
			return q.merge(ctx, root, places, visit)
		}
		return q.inTurn(ctx, root, places, visit)
	})
	return q.problems, err
}

// Scan gives each record once whose line want accepts, without the index, also when a rotation makes it begin again.
func Scan(ctx context.Context, at where, want func(line []byte) bool, visit func(record.Entry) error) ([]segment.Problem, error) {
	q := query{seen: seenLines{}, want: want}
	err := segment.UnlessRotated(func() error {
		root, places, err := q.open(ctx, at)
		if err == nil {
			err = q.inTurn(ctx, root, places, visit)
		}
		return err
	})
	return q.problems, err
}

// open lists the segments, and brings the index up to them where the filter can gain by it.
func (q *query) open(ctx context.Context, at where) (*os.Root, []segment.Extent, error) {
	root, x, err := at()
	if err != nil {
		return nil, nil, fmt.Errorf("query the ledger: %w", err)
	}
	places, problems, err := segment.ListBut(ctx, root, x.Knows)
	if err != nil {
		return nil, nil, fmt.Errorf("query the ledger: %w", err)
	}
	q.problems = problems
	return root, places, q.useIndex(ctx, x, places)
}

// inTurn gives the matches segment by segment.
func (q *query) inTurn(ctx context.Context, root *os.Root, places []segment.Extent, visit func(record.Entry) error) error {
	for _, place := range places {
		if err := q.each(ctx, root, place, visit); err != nil {
			return fmt.Errorf("query the ledger: %s: %w", place.Name, err)
		}
	}
	return nil
}
