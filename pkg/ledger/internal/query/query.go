// Package query finds the records that a filter takes.
//
// It promises each record once, whatever merges and rotations have done to the files, in the order of the lines within a segment
// and by time between segments; and, from the end with a limit, at a cost that does not grow with the ledger. What the index
// proposes is read and held to the filter before it is given. It does not promise an order among records of one time.
package query

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Result is the answer to a query.
type Result struct {
	Entries []record.Entry
	// Problems are lines that could not be read, as far as the query met them. The entries do not depend on them.
	Problems []segment.Problem
	// Gap tells that the way back of a line crossed a change that is not in the ledger, so that older entries are
	// likely, not certain.
	Gap bool
}

// query is one run of a filter over the segments.
type query struct {
	record.Filter
	paths    []string
	problems []segment.Problem
	seen     seenLines
	want     func(line []byte) bool
	inTurn   bool // segment by segment, and without the index

	index  *index.Index // nil where all is read
	wanted index.Wanted
	views  map[string]*index.View
	times  map[string]*index.View // of the segments whose times are known
}

// each gives the matches of one segment. After ErrStale, what was given is not given again.
func (q *query) each(ctx context.Context, root *os.Root, place segment.Extent, visit func(record.Entry) error) error {
	r := q.reader(ctx, root, place, visit)
	defer r.close()
	if v := q.views[place.Name]; v != nil {
		err := r.blocks(v)
		if !errors.Is(err, index.ErrStale) {
			return err
		}
		q.index.Forget(place.Name)
	}
	return r.all()
}

// needle is text that every matching line of ours contains, to pass over the others without parsing them.
func (q *query) needle() []byte {
	wanted := strings.TrimSuffix(q.Path, "/")
	if len(q.paths) == 1 {
		wanted = q.paths[0]
	}
	for _, value := range []string{wanted, q.Name, q.IntentID, q.Session} {
		if quoted, err := jsontext.AppendQuote(nil, value); err == nil && value != "" {
			return quoted[1 : len(quoted)-1]
		}
	}
	return nil
}

func (q *query) onPaths(e record.Entry) bool {
	return len(q.paths) == 0 || slices.ContainsFunc(q.paths, func(p string) bool { return record.MatchesPath(e, record.Filter{Path: p}.OnPath) })
}

// where says where the ledger stands now, and gives the index of what stands there.
type where func() (*os.Root, *index.Index, error)

// Find gives the matches of f, on any of paths if there are some.
func Find(ctx context.Context, at where, f record.Filter, paths []string) (r Result, err error) {
	if len(paths) > 0 {
		f.Path = ""
	}
	err = segment.UnlessRotated(func() error {
		q := query{Filter: f, paths: paths, seen: seenLines{}}
		for _, e := range f.Without {
			q.seen.add(e.Hash)
		}
		r.Entries = make([]record.Entry, 0, min(f.Limit, maxHeldLimit))
		byTime, err := q.run(ctx, at, func(e record.Entry) error {
			r.Entries = append(r.Entries, e)
			return nil
		})
		r.Problems = q.problems
		if !byTime {
			slices.SortStableFunc(r.Entries, func(a, b record.Entry) int {
				if f.Newest {
					a, b = b, a
				}
				return a.Time.Compare(b.Time)
			})
		}
		if f.Limit > 0 && len(r.Entries) > f.Limit {
			r.Entries = r.Entries[:f.Limit]
		}
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
	return (&query{Filter: f, seen: seenLines{}}).begin(ctx, at, visit)
}

// Scan gives each record once whose line want accepts, segment by segment and without the index.
func Scan(ctx context.Context, at where, want func(line []byte) bool, visit func(record.Entry) error) ([]segment.Problem, error) {
	return (&query{seen: seenLines{}, want: want, inTurn: true}).begin(ctx, at, visit)
}

// begin runs until no rotation has made it begin again. What was given is not given again.
func (q *query) begin(ctx context.Context, at where, visit func(record.Entry) error) ([]segment.Problem, error) {
	err := segment.UnlessRotated(func() error {
		_, err := q.run(ctx, at, visit)
		return err
	})
	return q.problems, err
}

// run lists the segments, brings the index up to them where the filter can gain by it, and gives the matches: by time, up to
// the limit, or segment by segment, up to the limit of each, where too many segments would have to be read side by side.
func (q *query) run(ctx context.Context, at where, visit func(record.Entry) error) (byTime bool, err error) {
	root, x, err := at()
	if err != nil {
		return false, fmt.Errorf("query the ledger: %w", err)
	}
	places, problems, err := segment.List(ctx, root, x.Knows)
	if err != nil {
		return false, fmt.Errorf("query the ledger: %w", err)
	}
	q.problems = problems
	if err := q.useIndex(ctx, x, places); err != nil {
		return false, err
	}
	if !q.inTurn && (len(places) <= maxMerged || q.Limit > 0 && len(places)-len(q.times) <= maxMerged) {
		return true, enough(q.merge(ctx, root, places, q.limited(visit)))
	}
	for _, place := range places {
		if err := enough(q.each(ctx, root, place, q.limited(visit))); err != nil {
			return false, fmt.Errorf("query the ledger: %s: %w", place.Name, err)
		}
	}
	return false, nil
}

// limited ends with ErrEnough at the limit.
func (q *query) limited(visit func(record.Entry) error) func(record.Entry) error {
	n := 0
	return func(e record.Entry) error {
		err := visit(e)
		if n++; err == nil && n == q.Limit {
			err = segment.ErrEnough
		}
		return err
	}
}

func enough(err error) error {
	if errors.Is(err, segment.ErrEnough) {
		return nil
	}
	return err
}

// useIndex brings the index up to the places. A segment that cannot be indexed is read.
func (q *query) useIndex(ctx context.Context, x *index.Index, places []segment.Extent) error {
	w, selective := index.WantedBy(q.Filter, q.paths)
	q.times = make(map[string]*index.View, len(places))
	switch {
	case q.inTurn:
		return nil
	case !selective && q.Limit > 0: // what is known of the times tells which segments need not be begun
		for _, place := range places {
			if v, known := x.Archive(place.Name); known {
				q.times[place.Name] = v
			}
		}
		return nil
	case !selective:
		return nil
	}
	all, err := views(ctx, x, places)
	if err != nil {
		return fmt.Errorf("query the ledger: %w", err)
	}
	q.index, q.wanted, q.views, q.times = x, w, all, all
	return nil
}
