package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// Filter says which records a query gives. Zero fields do not filter.
type Filter struct {
	ID       string // the record's id, or its line's hash
	IntentID string
	// Path selects records that changed this file or moved it; with a final slash, anything below. A decision matches
	// by the paths that it was about.
	Path string
	// Name selects as Path does, by what stands behind the last slash, in whatever directory.
	Name string
	// Line narrows Path to the records that changed what is line Line now, newest first: it is followed back through
	// the hunks. See Result.Gap. Content is the hash of the file as it is now, if known.
	Line    int
	Content string
	Kinds   []Kind
	Class   string // the mutation class
	Session string // the public id
	Since   time.Time
	Until   time.Time // exclusive
	Limit   int
	// Newest gives the last record first, and reads from the end: a small Limit is cheap however long the ledger is,
	// and so is every ID, IntentID and Path that few records have.
	Newest bool
	// Without are records that the caller has: they are not given again, and not read through.
	Without []Entry
}

// Result is the answer to a query.
type Result struct {
	Entries []Entry
	// Problems are lines that could not be read, as far as the query met them. The entries do not depend on them.
	Problems []Problem
	// Gap tells that the way back of a line crossed a change that is not in the ledger, so that older entries are
	// likely, not certain.
	Gap bool
}

var errEnough = errors.New("enough")

// Query gives the records that match. A record that stands in the ledger twice, after a merge, is given once. Within
// a segment the order is that of the lines; several segments are merged by time. A filter that selects uses the index:
// an answer that must not depend on it is Scan's.
func (l *Ledger) Query(ctx context.Context, f Filter) (Result, error) {
	_ = l.Flush(ctx) // what cannot be flushed is not in the ledger, and has been reported
	if f.Line > 0 {
		return l.queryLine(ctx, f)
	}
	return l.query(ctx, f, nil)
}

// queryLine reads all of the file's records, and where it was moved those of its older names, to follow the line.
func (l *Ledger) queryLine(ctx context.Context, f Filter) (Result, error) {
	if f.Path == "" {
		return Result{}, errors.New("query the ledger: a line needs a path")
	}
	history := Filter{Path: f.Path, Newest: true, Kinds: ChangeKinds()}
	paths := []string{f.Path}
	for {
		result, err := l.query(ctx, history, paths)
		if err != nil {
			return Result{}, err
		}
		if older := movedFrom(result.Entries, paths); len(older) > 0 {
			paths = append(paths, older...)
			continue
		}
		at := linePosition{path: f.Path, line: f.Line, hash: f.Content}
		result.Entries, result.Gap = followLine(result.Entries, at)
		f.Path = ""
		result.Entries = slices.DeleteFunc(result.Entries, func(e Entry) bool { return !f.Matches(e) })
		if f.Limit > 0 && len(result.Entries) > f.Limit {
			result.Entries = result.Entries[:f.Limit]
		}
		return result, nil
	}
}

// query gives the matches of f, on any of paths if there are some.
func (l *Ledger) query(ctx context.Context, f Filter, paths []string) (r Result, err error) {
	err = unlessRotated(func() error {
		r, err = l.queryOnce(ctx, f, paths)
		return err
	})
	return r, err
}

func (l *Ledger) queryOnce(ctx context.Context, f Filter, paths []string) (Result, error) {
	at, err := l.here()
	if err != nil {
		return Result{}, fmt.Errorf("query the ledger: %w", err)
	}
	places, problems, err := extentsBut(ctx, at.root, at.index.knows)
	if err != nil {
		return Result{}, fmt.Errorf("query the ledger: %w", err)
	}
	q := query{Filter: f, paths: paths, problems: problems, seen: seenLines{}}
	for _, e := range f.Without {
		q.seen.add(e.Hash)
	}
	if len(paths) > 0 {
		q.Path = ""
	}
	if err := q.useIndex(ctx, at.index, places); err != nil {
		return Result{}, err
	}
	found, err := q.collect(ctx, at.root, places)
	return Result{Entries: found, Problems: q.problems}, err
}

// collect gives up to Limit matches of all segments.
func (q *query) collect(ctx context.Context, root *os.Root, places []extent) (found []Entry, err error) {
	found = make([]Entry, 0, min(q.Limit, maxHeldLimit))
	take := func(e Entry) error {
		found = append(found, e)
		if q.Limit > 0 && len(found) == q.Limit {
			return errEnough
		}
		return nil
	}
	if len(places) <= maxMerged || q.Limit > 0 && len(q.views) == len(places) {
		if err = q.merge(ctx, root, places, take); errors.Is(err, errEnough) {
			err = nil
		}
		return found, err
	}
	for _, place := range places {
		entries, err := q.read(ctx, root, place)
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
	}
	slices.SortStableFunc(found, func(a, b Entry) int {
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

// Scan gives every record once, segment by segment, oldest line first, and returns the lines that could not be read.
// An error of visit ends it and is returned.
func (l *Ledger) Scan(ctx context.Context, visit func(Entry) error) ([]Problem, error) {
	_ = l.Flush(ctx)
	return l.scan(ctx, &query{seen: seenLines{}}, visit)
}

// scan gives each match once, also when a rotation makes it begin again.
func (l *Ledger) scan(ctx context.Context, q *query, visit func(Entry) error) ([]Problem, error) {
	err := unlessRotated(func() error {
		at, err := l.here()
		if err != nil {
			return fmt.Errorf("scan the ledger: %w", err)
		}
		places, problems, err := extentsBut(ctx, at.root, at.index.knows)
		if err != nil {
			return fmt.Errorf("scan the ledger: %w", err)
		}
		q.problems = problems
		for _, place := range places {
			if err := q.each(ctx, at.root, place, visit); err != nil {
				return fmt.Errorf("scan the ledger: %s: %w", place.name, err)
			}
		}
		return nil
	})
	return q.problems, err
}

// query is one run of a filter over the segments.
type query struct {
	Filter
	paths    []string
	problems []Problem
	seen     seenLines
	want     func(line []byte) bool

	index  *index // nil where all is read
	wanted wanted
	views  map[string]*view
}

// read gives up to Limit matches of one segment.
func (q *query) read(ctx context.Context, root *os.Root, place extent) ([]Entry, error) {
	var found []Entry
	err := q.each(ctx, root, place, func(e Entry) error {
		found = append(found, e)
		if q.Limit > 0 && len(found) == q.Limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return found, nil
	}
	if err != nil {
		err = fmt.Errorf("query the ledger: %s: %w", place.name, err)
	}
	return found, err
}

// each gives the matches of one segment.
func (q *query) each(ctx context.Context, root *os.Root, place extent, visit func(Entry) error) error {
	if v := q.views[place.name]; v != nil {
		err := q.eachIndexed(ctx, root, v, visit)
		if !errors.Is(err, errStale) {
			return err
		}
		q.index.forget(place.name)
	}
	file, size, err := place.open(root)
	if errors.Is(err, errRotated) {
		return err
	}
	if err != nil {
		q.problems = append(q.problems, Problem{Kind: ProblemUnreadable, Segment: place.name, Detail: err.Error()})
		return nil
	}
	defer file.Close()
	needle, kinds := q.needle(), q.kindNeedles()
	visitLine := func(line rawLine) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !line.tooLong && bytes.HasPrefix(line.data, []byte(prevKey)) && !(bytes.Contains(line.data, needle) && containsAny(line.data, kinds)) {
			return nil
		}
		if q.want != nil && !line.tooLong && bytes.HasPrefix(line.data, []byte(prevKey)) && !q.want(line.data) {
			return nil
		}
		return q.visit(place.name, line, visit)
	}
	return readLines(file, size, q.Newest, visitLine, func(d *framed.Damage) {
		q.problems = append(q.problems, damageProblem(place.name, d))
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

// kindNeedles are texts of which every matching line of ours contains one; none where any kind matches.
func (q *query) kindNeedles() [][]byte {
	var needles [][]byte
	for _, kind := range q.Kinds {
		needles = append(needles, []byte(`"kind":"`+string(kind)+`"`))
	}
	return needles
}

func containsAny(data []byte, needles [][]byte) bool {
	return len(needles) == 0 || slices.ContainsFunc(needles, func(needle []byte) bool { return bytes.Contains(data, needle) })
}

func (q *query) visit(segment string, line rawLine, visit func(Entry) error) error {
	if len(bytes.TrimSpace(line.data)) == 0 && !line.tooLong {
		return nil
	}
	e, err := q.parse(line)
	if err != nil {
		q.problems = append(q.problems, lineProblem(segment, line, err))
		return nil
	}
	if !q.matches(e) {
		return nil
	}
	return q.give(e, line, segment, visit)
}

func (q *query) parse(line rawLine) (Entry, error) {
	if line.tooLong {
		return Entry{}, ErrMalformed
	}
	return Parse(line.data)
}

func (q *query) matches(e Entry) bool { return q.Matches(e) && q.onPaths(e) }

// give visits a match, unless it was given before.
func (q *query) give(e Entry, line rawLine, segment string, visit func(Entry) error) error {
	if !q.seen.add(e.Hash) {
		return nil
	}
	e.Segment, e.Offset = segment, line.offset
	return visit(e)
}

func (q *query) onPaths(e Entry) bool {
	return len(q.paths) == 0 || slices.ContainsFunc(q.paths, func(p string) bool { return matchesPath(e, Filter{Path: p}.onPath) })
}

// Matches reports whether the entry passes the filter, but for Line and Limit.
func (f Filter) Matches(e Entry) bool {
	switch {
	case f.ID != "" && f.ID != e.ID && f.ID != e.Hash,
		f.IntentID != "" && f.IntentID != e.IntentID && !slices.Contains(e.related, f.IntentID),
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind),
		f.Class != "" && f.Class != e.MutationClass,
		f.Session != "" && f.Session != e.Session,
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until):
		return false
	}
	return (f.Path == "" || matchesPath(e, f.onPath)) && (f.Name == "" || matchesPath(e, func(p string) bool { return path.Base(p) == f.Name }))
}

// onPath reports whether a path is the one that is wanted, or below it.
func (f Filter) onPath(p string) bool {
	return p == f.Path || strings.HasSuffix(f.Path, "/") && strings.HasPrefix(p, f.Path)
}

func matchesPath(e Entry, matches func(string) bool) bool {
	for _, c := range e.Changes {
		if matches(c.Path) || matches(c.From) {
			return true
		}
	}
	if e.Decision != nil && slices.ContainsFunc(e.Decision.Paths, matches) {
		return true
	}
	return slices.ContainsFunc(e.Files, matches)
}
