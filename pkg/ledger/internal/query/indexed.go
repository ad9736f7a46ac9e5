package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// useIndex brings the index up to the places, if the filter can gain by it. A segment that cannot be indexed is read.
func (q *query) useIndex(ctx context.Context, x *index.Index, places []segment.Extent) error {
	w, selective := index.WantedBy(q.Filter, q.paths)
	if !selective {
		return nil
	}
	q.index, q.wanted, q.views = x, w, make(map[string]*index.View, len(places))
	for _, place := range places {
		v, err := x.View(ctx, place)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("query the ledger: %w", err)
		}
		if err == nil {
			q.views[place.Name] = v
		}
	}
	x.Tidy(places)
	return nil
}

// eachIndexed is each by way of the index. After ErrStale, what it gave is not given again.
func (q *query) eachIndexed(ctx context.Context, root *os.Root, v *index.View, visit func(record.Entry) error) error {
	r := &indexReader{query: q, root: root, view: v, visit: visit}
	defer r.close()
	if q.Newest {
		if err := r.uncovered(ctx); err != nil {
			return err
		}
	}
	for i := range v.Runs {
		if q.Newest {
			i = len(v.Runs) - 1 - i
		}
		run := v.Runs[i]
		err := q.wanted.Rows(run, q.Newest, func(n int, row postings.Row, end int64) error {
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
	view  *index.View
	visit func(record.Entry) error
	file  segment.Content // nil until the first is read
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
	file, size, err := r.view.Place.Open(r.root)
	if err != nil {
		if errors.Is(err, segment.ErrRotated) {
			return err
		}
		return fmt.Errorf("%w: %w", index.ErrStale, err)
	}
	r.file, r.size = file, size
	if f, ok := file.(*os.File); ok {
		info, err := f.Stat()
		if err != nil || !os.SameFile(info, r.view.Info) && !r.view.Continues(file, size) {
			return index.ErrStale
		}
	}
	return nil
}

// uncovered visits what stands behind the last whole line: nothing, or a torn one.
func (r *indexReader) uncovered(ctx context.Context) error {
	if r.view.End >= r.view.Size {
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	rest := io.NewSectionReader(r.file, r.view.End, max(0, r.size-r.view.End))
	return segment.Forward(rest, r.view.End, func(line segment.Line) error {
		line.Number = 0
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.query.visit(r.view.Place.Name, line, r.visit)
	})
}

func (r *indexReader) row(run index.Covered, n int, row postings.Row, end int64) error {
	name := r.view.Place.Name
	offset := run.From + int64(row.Offset)
	holds := r.Limit > 0 && r.Limit <= index.MaxHeldLimit && r.view.Place.Archived()
	var line segment.Line
	held := false
	if holds {
		line, held = r.index.Lines.Get(name, offset)
	}
	if !held {
		if err := r.open(); err != nil {
			return err
		}
		var err error
		if line, err = r.line(offset, end); err != nil {
			return fmt.Errorf("%w: %w", index.ErrStale, err)
		}
	}
	if len(r.Without) > 0 && r.seen.has(record.Identity(line.Data)) {
		return nil
	}
	e, err := r.parse(line)
	if err == nil && r.matches(e) {
		if holds && !held {
			r.index.Lines.Put(name, line)
		}
		return r.give(e, line, name, r.visit)
	}
	if !r.stands(run, n, row, line, err) {
		return index.ErrStale
	}
	if err != nil {
		r.problems = append(r.problems, segment.LineProblem(r.view.Place.Name, line, err))
	}
	return nil
}

// line reads the line at offset, which is followed by another one, or by blank ones, at end.
func (r *indexReader) line(offset, end int64) (segment.Line, error) {
	length := end - offset
	if length <= 0 || end > r.size {
		return segment.Line{}, index.ErrStale
	}
	line := segment.Line{Offset: offset, Size: length, TooLong: length > segment.MaxLine}
	if line.TooLong {
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
		return line, index.ErrStale
	}
	line.Data, line.Size = segment.TrimEnd(data[:n+1]), int64(n+1)
	return line, nil
}

// stands checks a line that does not match although the index proposed it. That is as it should be where the index
// knows less than the filter; but the line must be the one that was indexed.
func (r *indexReader) stands(run index.Covered, n int, row postings.Row, line segment.Line, err error) bool {
	if row.Marks == 0 {
		return err != nil
	}
	rows, ferr := run.Find(index.KeyOfLine(record.Identity(line.Data)))
	return ferr == nil && slices.Contains(rows, uint32(n))
}
