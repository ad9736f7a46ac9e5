package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
)

const (
	maxRun = 64 << 20 // bytes of a segment that one run covers, but for the last line
	// A run of what was appended is written when it covers minRun bytes, or minQuiet of a file that nobody has
	// written to for a while. What is shorter is read again by the next process.
	minRun   = 1 << 20
	minQuiet = 64 << 10
	quiet    = time.Hour
)

// errStale: what the index says is not what stands in the segment.
var errStale = errors.New("the index does not fit the ledger")

// index knows of each segment where its lines are that a query may want. It is made from the segments alone; what is
// kept of it in cache/index saves the next process from reading them. Safe for concurrent use.
type index struct {
	root *os.Root

	maxRun, minRun int64

	mu       sync.Mutex
	segments map[string]*indexed
	store    indexStore
	lines    heldLines
}

func newIndex(root *os.Root) *index {
	return &index{root: root, maxRun: maxRun, minRun: minRun, segments: map[string]*indexed{}, store: indexStore{root: root}}
}

// indexed is what is known of one segment: runs from its start on, and a last one in memory.
type indexed struct {
	reached  // the lines that are covered, and the file when they were read
	archived bool
	final    bool     // an archive that its name vouches for; git may be about to write the rest of another
	size     int64    // of the content then; behind the lines can be a torn one
	id       [32]byte // what its runs are kept under
	runs     []covered
	tail     postings.Builder
	tailFrom int64
	view     *view // of an archive that is whole: it stays
}

// covered is a run and what it covers.
type covered struct {
	postings.Span
	reader
	name string // of the file; empty if it could not be written
}

// reader is a run, in a file or in memory.
type reader interface {
	Len() int
	Times() (least, greatest int64)
	Find(postings.Key) ([]uint32, error)
	Page(i int) (rows []postings.Row, first int, err error)
}

var (
	_ reader = (*postings.Run)(nil)
	_ reader = postings.Builder{}
)

// view is the index of one segment at a moment. It stays as it is.
type view struct {
	place extent
	reached
	size            int64 // of the content when it was read up to end
	runs            []covered
	least, greatest time.Time // bounds for the times of the lines up to end
}

// knows reports whether all of an archive is in the index, so that nothing about it needs to be asked.
func (x *index) knows(archive string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.segments[archive]
	return s != nil && s.view != nil
}

// view brings the index of a segment up to what is in it now. The home is not locked.
func (x *index) view(ctx context.Context, place extent) (*view, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.segments[place.name]
	if s != nil && s.view != nil {
		return s.view, nil
	}
	if s == nil || !unchanged(s.info, place.info) {
		var err error
		if s, err = x.bringUp(ctx, s, place); err != nil {
			return nil, err
		}
	}
	v := &view{place: place, reached: s.reached, size: s.size, runs: slices.Clip(s.runs)}
	if len(s.tail.Rows) > 0 {
		tail := postings.Builder{Rows: slices.Clip(s.tail.Rows), Entries: slices.Clip(s.tail.Entries)}
		v.runs = append(v.runs, covered{postings.Span{From: s.tailFrom, To: s.end}, tail, ""})
	}
	v.least, v.greatest = v.times()
	if s.archived && s.whole() {
		v.place.info = nil
		s.view = v
	}
	return v, nil
}

// bringUp reads what the segment has beyond what is known of it, or begins anew if that is no longer there.
func (x *index) bringUp(ctx context.Context, s *indexed, place extent) (*indexed, error) {
	if s == nil && place.archived() {
		s = x.load(sha256.Sum256([]byte(place.name)), true, func(postings.Span) bool { return true })
		x.segments[place.name] = s
	}
	if s != nil && s.whole() {
		s.info, s.size = place.info, s.end
		return s, nil
	}
	file, size, err := place.open(x.root)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if s == nil || !s.continues(file, size) {
		if s, err = x.reload(s, place, file, size); err != nil {
			return nil, err
		}
	}
	a, is := file.(archive)
	s.final = is && a.checkName(place.name) == nil
	s.size, s.info = size, nothing{}
	if err := x.extend(ctx, s, file, size); err != nil {
		return nil, err
	}
	if s.info = place.info; !s.archived {
		s.info = infoOf(file, place)
	}
	if length := s.end - s.tailFrom; length >= x.minRun || s.archived || length >= minQuiet && time.Since(s.info.ModTime()) > quiet {
		x.keep(s)
	}
	return s, nil
}

// reload takes of the runs that were kept those that the content has.
func (x *index) reload(s *indexed, place extent, file content, size int64) (*indexed, error) {
	archived, id := place.archived(), [32]byte{}
	if archived {
		id = s.id
	} else {
		var err error
		if id, err = firstLine(file, size); err != nil {
			return nil, err
		}
	}
	s = x.load(id, archived, func(span postings.Span) bool {
		at := reached{end: span.To, lastAt: span.Last, last: span.Line}
		return at.continues(file, size)
	})
	x.segments[place.name] = s
	return s, nil
}

// infoOf describes the file that was opened, which git may have put there since the place was looked at, as it was
// when its size was taken.
func infoOf(file content, place extent) fs.FileInfo {
	if f, ok := file.(*os.File); ok {
		if info, err := f.Stat(); err == nil && os.SameFile(info, place.info) {
			return place.info
		}
	}
	return nothing{}
}

// nothing is the description of no file: it is not unchanged.
type nothing struct{ fs.FileInfo }

func (nothing) Size() int64        { return -1 }
func (nothing) ModTime() time.Time { return time.Time{} }

// whole reports whether nothing can be behind the lines that are covered.
func (s *indexed) whole() bool {
	return len(s.runs) > 0 && s.runs[len(s.runs)-1].Whole && s.end == s.tailFrom
}

// firstLine is the identity of a segment's first line, by which its runs are known. Those of an archive are known by
// its name, which says what is in it.
func firstLine(file content, size int64) (id digest, err error) {
	err = forward(io.NewSectionReader(file, 0, size), 0, func(line rawLine) error {
		id = identity(line.data)
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return id, err
}

// load finds the runs that were kept of a segment.
func (x *index) load(id [32]byte, archived bool, fits func(postings.Span) bool) *indexed {
	s := &indexed{archived: archived, id: id}
	for {
		next, ok := x.store.next(id, s.end, fits)
		if !ok {
			s.tailFrom = s.end
			return s
		}
		s.runs = append(s.runs, next)
		s.end, s.lastAt, s.last = next.To, next.Last, next.Line
	}
}

// extend takes in the whole lines behind what is covered.
func (x *index) extend(ctx context.Context, s *indexed, file content, size int64) error {
	var k lineKeys
	if s.end >= size {
		return nil
	}
	return forward(io.NewSectionReader(file, s.end, size-s.end), s.end, func(line rawLine) error {
		if line.torn {
			return nil
		}
		var id digest
		if !line.tooLong {
			id = identity(line.data)
		}
		if indexLine(&k, line, id) {
			s.tail.Add(postings.Row{Offset: uint32(line.offset - s.tailFrom), Marks: k.marks(), Time: k.at}, k.keys)
		}
		s.end, s.lastAt, s.last = line.offset+line.size, line.offset, id
		if s.end-s.tailFrom >= x.maxRun || len(s.tail.Rows) >= postings.MaxRows {
			x.keep(s)
		}
		return ctx.Err()
	})
}

// keep makes a run in a file of what is in memory, together with the last runs if they are not much longer: so there
// are few, and a line is written again only as often as the length doubles. Where it cannot be written it stays in
// memory, encoded.
func (x *index) keep(s *indexed) {
	if s.end == s.tailFrom {
		return
	}
	span := postings.Span{Segment: s.id, From: s.tailFrom, To: s.end, Last: s.lastAt, Line: s.last, Whole: s.final && s.end == s.size}
	whole, joined := &s.tail, 0
	for _, run := range slices.Backward(s.runs) {
		length := span.To - span.From
		stored, ok := run.reader.(*postings.Run)
		if !ok || run.To-run.From >= 2*length || run.To-run.From+length > x.maxRun || run.Len()+len(whole.Rows) > postings.MaxRows {
			break
		}
		before, err := stored.Load()
		if err != nil {
			break
		}
		before.Append(whole, uint32(span.From-run.From))
		whole, span.From, joined = before, run.From, joined+1
	}
	data := whole.Encode(span)
	run, err := x.store.write(span, data)
	if err != nil {
		return // never: what was just encoded can be opened
	}
	kept := len(s.runs) - joined
	x.store.remove(s.runs[kept:])
	s.runs = append(slices.Clip(s.runs[:kept]), run)
	s.tail, s.tailFrom = postings.Builder{}, s.end
}

// forget drops what is known of a segment, also on disk.
func (x *index) forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.segments[name]; s != nil {
		x.store.remove(s.runs)
		delete(x.segments, name)
	}
}

// tidy removes index files that no segment wants, once in the life of a process, when all segments are known.
func (x *index) tidy() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.store.release()
	if x.store.swept {
		return
	}
	wanted := map[string]bool{}
	for _, s := range x.segments {
		for _, run := range s.runs {
			wanted[run.name] = true
		}
	}
	x.store.sweep(wanted)
}

// only drops what is known of segments that are gone.
func (x *index) only(places []extent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.segments) <= len(places) {
		return
	}
	names := map[string]bool{}
	for _, p := range places {
		names[p.name] = true
	}
	for name := range x.segments {
		if !names[name] {
			delete(x.segments, name)
		}
	}
}

// times gives bounds for the times of the view's lines. Lines that it does not cover may have any.
func (v *view) times() (least, greatest time.Time) {
	a, z := int64(maxTime), int64(minTime)
	for _, run := range v.runs {
		least, greatest := run.Times()
		a, z = min(a, least), max(z, greatest)
	}
	return time.UnixMilli(a), time.UnixMilli(z + 1)
}
