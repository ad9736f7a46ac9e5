package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
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

// collect gives up to Limit matches of all segments.
func (q *query) collect(ctx context.Context, root *os.Root, places []segment.Extent) (found []record.Entry, err error) {
	found = make([]record.Entry, 0, min(q.Limit, index.MaxHeldLimit))
	take := func(e record.Entry) error {
		found = append(found, e)
		if q.Limit > 0 && len(found) == q.Limit {
			return segment.ErrEnough
		}
		return nil
	}
	if len(places) <= maxMerged || q.Limit > 0 && len(q.views) == len(places) {
		if err = q.merge(ctx, root, places, take); errors.Is(err, segment.ErrEnough) {
			err = nil
		}
		return found, err
	}
	for _, place := range places {
		n := 0
		err := q.each(ctx, root, place, func(e record.Entry) error {
			found = append(found, e)
			if n++; n == q.Limit {
				return segment.ErrEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, segment.ErrEnough) {
			return nil, fmt.Errorf("query the ledger: %s: %w", place.Name, err)
		}
	}
	slices.SortStableFunc(found, func(a, b record.Entry) int {
		if q.Newest {
			return b.Time.Compare(a.Time)
		}
		return a.Time.Compare(b.Time)
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

// query is one run of a filter over the segments.
type query struct {
	record.Filter
	paths    []string
	problems []segment.Problem
	seen     seenLines
	want     func(line []byte) bool

	index  *index.Index // nil where all is read
	wanted index.Wanted
	views  map[string]*index.View
}

// each gives the matches of one segment.
func (q *query) each(ctx context.Context, root *os.Root, place segment.Extent, visit func(record.Entry) error) error {
	if v := q.views[place.Name]; v != nil {
		err := q.eachIndexed(ctx, root, v, visit)
		if !errors.Is(err, index.ErrStale) {
			return err
		}
		q.index.Forget(place.Name)
	}
	file, size, err := place.Open(root)
	if errors.Is(err, segment.ErrRotated) {
		return err
	}
	if err != nil {
		q.problems = append(q.problems, segment.Problem{Kind: segment.ProblemUnreadable, Segment: place.Name, Detail: err.Error()})
		return nil
	}
	defer file.Close()
	needle := q.needle()
	var kinds [][]byte // of which every matching line of ours contains one; none where any kind matches
	for _, kind := range q.Kinds {
		kinds = append(kinds, []byte(`"kind":"`+string(kind)+`"`))
	}
	visitLine := func(line segment.Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		ours := !line.TooLong && bytes.HasPrefix(line.Data, []byte(record.PrevKey))
		has := func(text []byte) bool { return bytes.Contains(line.Data, text) }
		if ours && (!has(needle) || len(kinds) > 0 && !slices.ContainsFunc(kinds, has) || q.want != nil && !q.want(line.Data)) {
			return nil
		}
		return q.visit(place.Name, line, visit)
	}
	return segment.ReadLines(file, size, q.Newest, visitLine, func(d *framed.Damage) {
		q.problems = append(q.problems, segment.DamageProblem(place.Name, d))
	})
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

func (q *query) visit(place string, line segment.Line, visit func(record.Entry) error) error {
	if len(bytes.TrimSpace(line.Data)) == 0 && !line.TooLong {
		return nil
	}
	e, err := q.parse(line)
	if err != nil {
		q.problems = append(q.problems, segment.LineProblem(place, line, err))
		return nil
	}
	if !q.matches(e) {
		return nil
	}
	return q.give(e, line, place, visit)
}

func (q *query) parse(line segment.Line) (record.Entry, error) {
	if line.TooLong {
		return record.Entry{}, record.ErrMalformed
	}
	return record.Parse(line.Data)
}

func (q *query) matches(e record.Entry) bool { return q.Matches(e) && q.onPaths(e) }

// give visits a match, unless it was given before.
func (q *query) give(e record.Entry, line segment.Line, segment string, visit func(record.Entry) error) error {
	if !q.seen.add(e.Hash) {
		return nil
	}
	e.Segment, e.Offset = segment, line.Offset
	return visit(e)
}

func (q *query) onPaths(e record.Entry) bool {
	return len(q.paths) == 0 || slices.ContainsFunc(q.paths, func(p string) bool { return record.MatchesPath(e, record.Filter{Path: p}.OnPath) })
}

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
