package blame

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Workspace answers for the files of a workspace, from its ledger and its git repository. It changes nothing.
type Workspace struct {
	Root   *os.Root
	Ledger *ledger.Ledger
	Kept   Contents // contents that are kept beside git; nil for none
}

// Result is the answer for a file. The problems are ledger lines that could not be read; the lines do not depend on
// them, but what stood there is missing.
type Result struct {
	Lines    []Line
	Problems []ledger.Problem
}

// Explanation is the answer for one line: where it comes from, and the records that wrote it and what stood in its
// place before, the newest first.
type Explanation struct {
	Line     Line
	Story    []Touch
	Problems []ledger.Problem
}

// maxFile bounds what is read; a larger file has no lines that a person would ask for.
const maxFile = 64 << 20

// File blames the file at path, relative to the workspace, as it is now. The errors are ErrNotAFile,
// workspace.ErrBinary, those of the ledger, and the context's.
func (w Workspace) File(ctx context.Context, path string) (Result, error) {
	q, err := w.open(ctx, path)
	if err != nil {
		return Result{}, err
	}
	defer q.close()
	lines, err := q.file()
	return Result{lines, q.problems}, err
}

// Line explains line number line of the file at path. The errors are those of File, and ErrNoSuchLine.
func (w Workspace) Line(ctx context.Context, path string, line int) (Explanation, error) {
	q, err := w.open(ctx, path)
	if err != nil {
		return Explanation{}, err
	}
	defer q.close()
	if line < 1 || line > len(q.texts) {
		return Explanation{}, fmt.Errorf("%w: %s has %d lines, there is no line %d", ErrNoSuchLine, path, len(q.texts), line)
	}
	lines, err := q.file()
	if err != nil {
		return Explanation{}, err
	}
	story, err := q.own.story(ctx, path, line, q.now, q.texts, len(q.own.steps))
	if err != nil {
		return Explanation{}, err
	}
	answer := Explanation{Line: lines[line-1], Story: story}
	if len(story) == 0 && answer.Line.Record != nil {
		answer.Story, err = q.storyInGit(answer.Line)
	}
	if answer.Line.Commit == nil && err == nil {
		err = q.addCommits(q.atHead(), lines, func(l Line) bool { return l.Number == line }, true)
		answer.Line.Commit = lines[line-1].Commit
	}
	answer.Problems = q.problems
	return answer, err
}

// question is one file that is being asked about.
type question struct {
	Workspace
	ctx      context.Context
	path     string
	now      []byte
	texts    []string       // its lines
	past     []record.Entry // the records on the file
	names    []string       // that records tell of, the present one first
	oldNames []string       // of which they do not tell
	asked    map[string][]record.Entry
	problems []ledger.Problem
	own      *history
	others   map[string]*history // of other files, by path
	git      *git
	inGit    map[string]bool // of contents that records name, whether git has them; nil until the first is asked for
	blobs    *Objects
	ahead    *blameAhead // nil if git was not asked
}

func (w Workspace) open(ctx context.Context, path string) (*question, error) {
	now, err := readFile(w.Root, path)
	if err != nil {
		return nil, err
	}
	texts, err := textLines(now)
	if err != nil {
		return nil, fmt.Errorf("blame %s: %w", path, err)
	}
	q := &question{Workspace: w, ctx: ctx, path: path, now: now, texts: texts,
		asked: map[string][]record.Entry{}, others: map[string]*history{}}
	opened := make(chan *Objects, 1)
	go func() { // while the ledger is read
		objects := OpenObjects(ctx, w.Root.Name())
		objects.start()
		opened <- objects
	}()
	err = q.readRecords()
	q.blobs = <-opened
	q.git = q.blobs.git
	if err != nil {
		q.close()
	}
	return q, err
}

func (q *question) readRecords() (err error) {
	if q.past, err = q.records(q.path); err != nil {
		return err
	}
	q.names = []string{q.path}
	for _, e := range slices.Backward(q.past) {
		q.names = append(q.names, olderNames(e, q.names)...)
	}
	return nil
}

func (q *question) close() {
	if q.ahead != nil {
		q.ahead.stop()
	}
	q.blobs.Close()
}

func readFile(root *os.Root, path string) ([]byte, error) {
	content, err := durable.ReadRegularIn(root, path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no %s", ErrNotAFile, path)
	case errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrNotAFile, err)
	}
	return content, err
}

// records gives the records on a path and the names that it had before, the oldest first.
func (q *question) records(path string) ([]record.Entry, error) {
	if entries, asked := q.asked[path]; asked {
		return entries, nil
	}
	var entries []record.Entry
	seen := map[string]bool{}
	names := []string{path}
	for i := 0; i < len(names); i++ {
		found, err := q.Ledger.Query(q.ctx, record.Filter{Path: names[i], Kinds: append(record.ChangeKinds(), "")})
		if err != nil {
			return nil, err
		}
		q.addProblems(found.Problems)
		for _, e := range found.Entries {
			if seen[e.Hash] {
				continue
			}
			seen[e.Hash] = true
			if e.Kind == "" {
				e.Changes = traced(e)
			}
			entries = append(entries, e)
			names = append(names, olderNames(e, names)...)
		}
	}
	entries = record.Ordered(record.WithoutRetracted(entries))
	q.asked[path] = entries
	return entries, nil
}

// traced gives the changes of a line of another tool as far as hashes prove them: that of the file, or those of the ranges.
// Ranges by number alone are where lines stood then.
func traced(e record.Entry) (changes []record.Change) {
	for i, c := range e.Traced {
		if c.After.Hash == "" {
			c.After.Hash = fmt.Sprintf("of another tool: %s, %d", e.Hash, i)
			c.Ranges = slices.DeleteFunc(slices.Clone(c.Ranges), func(r record.Range) bool { return r.ContentHash == "" })
		}
		if len(c.Ranges) > 0 {
			changes = append(changes, c)
		}
	}
	return changes
}

func olderNames(e record.Entry, names []string) (older []string) {
	for _, c := range e.Changes {
		if c.From != "" && slices.Contains(names, c.Path) && !slices.Contains(names, c.From) {
			older = append(older, c.From)
		}
	}
	return older
}

func (q *question) addProblems(found []ledger.Problem) {
	for _, p := range found {
		if !slices.Contains(q.problems, p) {
			q.problems = append(q.problems, p)
		}
	}
}

// contents gives a blob from those that are kept, else from git.
func (q *question) contents(oid string) ([]byte, bool) {
	if q.Kept != nil {
		if content, ok := q.Kept(oid); ok {
			return content, true
		}
	}
	if q.git == nil {
		return nil, false
	}
	if q.inGit == nil {
		q.inGit = q.known()
	}
	if there, asked := q.inGit[oid]; asked && !there {
		return nil, false
	}
	return q.blobs.blob(oid)
}

// fewObjects is how many contents are asked for one by one.
const fewObjects = 16

// known asks git at once which contents it has of those that the file's records name. Most were never committed.
func (q *question) known() map[string]bool {
	ids := map[string]bool{}
	for _, e := range q.past {
		for _, c := range e.Changes {
			for _, id := range []string{c.Before.OID, c.After.OID} {
				if gitread.IsID(id) {
					ids[id] = true
				}
			}
		}
	}
	if len(ids) <= fewObjects {
		return map[string]bool{}
	}
	known, err := q.git.Known(q.ctx, slices.Collect(maps.Keys(ids)))
	if err != nil {
		return map[string]bool{} // they are asked for one by one
	}
	return known
}

func (q *question) file() ([]Line, error) {
	q.own = newHistory(q.path, q.past, q.contents)
	if q.git != nil && q.ahead == nil && q.own.hasGaps(q.path, q.now) {
		q.ahead = q.startBlame()
	}
	lines, err := q.own.file(q.ctx, q.path, q.now, q.texts)
	if err != nil || !slices.ContainsFunc(lines, isUntracked) {
		return lines, err
	}
	return q.askGit(lines)
}

func isUntracked(l Line) bool { return l.Record == nil }
