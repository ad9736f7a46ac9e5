package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	// maxHeldLimit: what asks for more is not asked again and again, and would push out of memory what is.
	maxHeldLimit = 64
	maxInMemory  = 1 << 20 // bytes of a block; a longer one is read line by line
)

// reader gives the matches of one segment.
type reader struct {
	*query
	ctx    context.Context
	root   *os.Root
	place  segment.Extent
	visit  func(record.Entry) error
	needle []byte   // every matching line of ours contains it
	kinds  [][]byte // and one of these; none where any kind matches

	file segment.Content // nil until it is needed
	size int64
}

func (q *query) reader(ctx context.Context, root *os.Root, place segment.Extent, visit func(record.Entry) error) *reader {
	r := &reader{query: q, ctx: ctx, root: root, place: place, visit: visit, needle: q.needle()}
	for _, kind := range q.Kinds {
		r.kinds = append(r.kinds, []byte(`"kind":"`+string(kind)+`"`))
	}
	return r
}

func (r *reader) open() (err error) {
	if r.file == nil {
		r.file, r.size, err = r.place.Open(r.root)
	}
	return err
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// all reads the whole segment.
func (r *reader) all() error {
	return r.place.Read(r.ctx, r.root, r.Newest, r.line, r.tell)
}

func (q *query) tell(p segment.Problem) { q.problems = append(q.problems, p) }

// blocks reads those that may have matches.
func (r *reader) blocks(v *index.View) error {
	blocks, err := r.index.Blocks(r.place.Name, v, &r.wanted)
	for i := range blocks {
		if r.Newest {
			i = len(blocks) - 1 - i
		}
		if err == nil {
			err = r.block(blocks[i])
		}
	}
	return err
}

func (r *reader) block(b index.Block) error {
	text, err := r.text(b)
	if err != nil {
		return err
	}
	return segment.ReadLines(text, b.To-b.From, r.Newest, func(line segment.Line) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		line.Offset, line.Number = line.Offset+b.From, 0
		return r.line(line)
	}, func(d *framed.Damage) { r.tell(segment.DamageProblem(r.place.Name, d)) })
}

// text gives a block as it was indexed, or ErrStale.
func (r *reader) text(b index.Block) (io.ReaderAt, error) {
	if held := r.index.Held(r.place.Name, b); held != nil {
		return bytes.NewReader(held), nil
	}
	if err := r.open(); err != nil {
		if !errors.Is(err, segment.ErrRotated) {
			err = fmt.Errorf("%w: %w", index.ErrStale, err)
		}
		return nil, err
	}
	if !b.Stands(r.file, r.size) {
		return nil, index.ErrStale
	}
	section := io.NewSectionReader(r.file, b.From, b.To-b.From)
	if r.Limit == 0 || r.Limit > maxHeldLimit || !r.place.Archived() || section.Size() > maxInMemory {
		return section, nil
	}
	text, err := io.ReadAll(section)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", index.ErrStale, err)
	}
	r.index.Hold(r.place.Name, b, text)
	return bytes.NewReader(text), nil
}

func (r *reader) line(line segment.Line) error {
	has := func(text []byte) bool { return bytes.Contains(line.Data, text) }
	ours := !line.TooLong && bytes.HasPrefix(line.Data, []byte(record.PrevKey))
	if ours && (!has(r.needle) || len(r.kinds) > 0 && !slices.ContainsFunc(r.kinds, has) || r.want != nil && !r.want(line.Data)) {
		return nil
	}
	if !line.TooLong && (len(bytes.TrimSpace(line.Data)) == 0 || len(r.Without) > 0 && r.seen.has(record.Identity(line.Data))) {
		return nil
	}
	e, err := record.Entry{}, error(record.ErrMalformed)
	if !line.TooLong {
		e, err = record.Parse(line.Data)
	}
	if err != nil {
		r.tell(segment.LineProblem(r.place.Name, line, err))
		return nil
	}
	if !r.Matches(e) || !r.onPaths(e) || !r.seen.add(e.Hash) {
		return nil
	}
	e.Segment, e.Offset = r.place.Name, line.Offset
	return r.visit(e)
}
