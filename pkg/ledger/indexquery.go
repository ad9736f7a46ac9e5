package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
)

// useIndex brings the index up to the places, if the filter can gain by it. A segment that cannot be indexed is read.
func (q *query) useIndex(ctx context.Context, x *index, places []extent) error {
	w, selective := wantedBy(q.Filter, q.paths)
	if !selective {
		return nil
	}
	q.index, q.wanted, q.views = x, w, make(map[string]*view, len(places))
	x.only(places)
	for _, place := range places {
		v, err := x.view(ctx, place)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("query the ledger: %w", err)
		}
		if err == nil {
			q.views[place.name] = v
		}
	}
	x.tidy()
	return nil
}

// eachIndexed is each by way of the index. After errStale, what it gave is not given again.
func (q *query) eachIndexed(ctx context.Context, root *os.Root, v *view, visit func(Entry) error) error {
	r := &indexReader{query: q, root: root, view: v, visit: visit}
	defer r.close()
	if q.Newest {
		if err := r.uncovered(ctx); err != nil {
			return err
		}
	}
	for i := range v.runs {
		if q.Newest {
			i = len(v.runs) - 1 - i
		}
		run := v.runs[i]
		err := q.wanted.rows(run, q.Newest, func(n int, row postings.Row, end int64) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.row(run, n, row, end)
		})
		if err != nil {
			return err
		}
	}
	if q.Newest {
		return nil
	}
	return r.uncovered(ctx)
}

// indexReader reads the candidates of one segment.
type indexReader struct {
	*query
	root  *os.Root
	view  *view
	visit func(Entry) error
	file  content // nil until the first is read
	size  int64
	buf   []byte
}

func (r *indexReader) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// open makes sure that the file is the one that was indexed, or begins with the same lines.
func (r *indexReader) open() (err error) {
	if r.file != nil {
		return nil
	}
	file, size, err := r.view.place.open(r.root)
	if err != nil {
		if errors.Is(err, errRotated) {
			return err
		}
		return fmt.Errorf("%w: %w", errStale, err)
	}
	r.file, r.size = file, size
	if f, ok := file.(*os.File); ok {
		info, err := f.Stat()
		if err != nil || !os.SameFile(info, r.view.info) && !r.view.continues(file, size) {
			return errStale
		}
	}
	return nil
}

// uncovered visits what stands behind the last whole line: nothing, or a torn one.
func (r *indexReader) uncovered(ctx context.Context) error {
	if r.view.end >= r.view.size {
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	rest := io.NewSectionReader(r.file, r.view.end, max(0, r.size-r.view.end))
	return forward(rest, r.view.end, func(line rawLine) error {
		line.number = 0
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.query.visit(r.view.place.name, line, r.visit)
	})
}

func (r *indexReader) row(run covered, n int, row postings.Row, end int64) error {
	name := r.view.place.name
	offset := run.From + int64(row.Offset)
	holds := r.Limit > 0 && r.Limit <= maxHeldLimit && r.view.place.archived()
	var line rawLine
	held := false
	if holds {
		line, held = r.index.lines.get(name, offset)
	}
	if !held {
		if err := r.open(); err != nil {
			return err
		}
		var err error
		if line, err = r.line(offset, end); err != nil {
			return fmt.Errorf("%w: %w", errStale, err)
		}
	}
	if len(r.Without) > 0 && r.seen.has(identity(line.data)) {
		return nil
	}
	e, err := r.parse(line)
	if err == nil && r.matches(e) {
		if holds && !held {
			r.index.lines.put(name, line)
		}
		return r.give(e, line, name, r.visit)
	}
	if !r.stands(run, n, row, line, err) {
		return errStale
	}
	if err != nil {
		r.problems = append(r.problems, lineProblem(r.view.place.name, line, err))
	}
	return nil
}

// line reads the line at offset, which is followed by another one, or by blank ones, at end.
func (r *indexReader) line(offset, end int64) (rawLine, error) {
	length := end - offset
	if length <= 0 || end > r.size {
		return rawLine{}, errStale
	}
	line := rawLine{offset: offset, size: length, tooLong: length > maxLineToRead}
	if line.tooLong {
		return line, nil
	}
	if int64(cap(r.buf)) < length {
		r.buf = make([]byte, length)
	}
	data := r.buf[:length]
	if _, err := r.file.ReadAt(data, offset); err != nil && !errors.Is(err, io.EOF) {
		return line, err
	}
	n := bytes.IndexByte(data, '\n')
	if n < 0 {
		return line, errStale
	}
	line.data, line.size = trimEnd(data[:n+1]), int64(n+1)
	return line, nil
}

// stands checks a line that does not match although the index proposed it. That is as it should be where the index
// knows less than the filter; but the line must be the one that was indexed.
func (r *indexReader) stands(run covered, n int, row postings.Row, line rawLine, err error) bool {
	if row.Marks == 0 {
		return err != nil
	}
	rows, ferr := run.Find(keyOfLine(identity(line.data)))
	if ferr != nil {
		return false
	}
	for _, is := range rows {
		if int(is) == n {
			return true
		}
	}
	return false
}
