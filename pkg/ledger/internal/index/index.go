package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	maxRun = 64 << 20 // bytes of a segment that one run covers, but for the last line
	// A run of what was appended is written when it covers minRun bytes, or minQuiet of a file that nobody has
	// written to for a while. What is shorter is read again by the next process.
	minRun   = 1 << 20
	minQuiet = 64 << 10
	quiet    = time.Hour
)

// ErrStale: what the index says is not what stands in the segment.
var ErrStale = errors.New("the index does not fit the ledger")

// Index knows of each segment where its lines are that a query may want. It is made from the segments alone; what is
// kept of it in cache/index saves the next process from reading them. Safe for concurrent use.
type Index struct {
	root *os.Root

	MaxRun, MinRun int64

	mu       sync.Mutex
	segments map[string]*indexed
	store    indexStore
	Lines    heldLines
}

func New(root *os.Root) *Index {
	return &Index{root: root, MaxRun: maxRun, MinRun: minRun, segments: map[string]*indexed{}, store: indexStore{root: root}}
}

// indexed is what is known of one segment: runs from its start on, and a last one in memory.
type indexed struct {
	segment.Reached             // the lines that are covered
	info            fs.FileInfo // of the file when they were read
	archived        bool
	final           bool     // an archive that its name vouches for; git may be about to write the rest of another
	size            int64    // of the content then; behind the lines can be a torn one
	id              [32]byte // what its runs are kept under
	runs            []Covered
	tail            postings.Builder
	tailFrom        int64
	view            *View // of an archive that is whole: it stays
}

// Covered is a run and what it covers.
type Covered struct {
	postings.Span
	Reader
	Name string // of the file; empty if it could not be written
}

// Reader is a run, in a file or in memory.
type Reader interface {
	Len() int
	Times() (least, greatest int64)
	Find(postings.Key) ([]uint32, error)
	Page(i int) (rows []postings.Row, first int, err error)
}

var (
	_ Reader = (*postings.Run)(nil)
	_ Reader = postings.Builder{}
)

// View is the index of one segment at a moment. It stays as it is.
type View struct {
	Place segment.Extent
	segment.Reached
	Info            fs.FileInfo
	Size            int64 // of the content when it was read up to end
	Runs            []Covered
	Least, Greatest time.Time // bounds for the times of the lines up to end
}

// Knows reports whether all of an archive is in the index, so that nothing about it needs to be asked.
func (x *Index) Knows(archive string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.segments[archive]
	return s != nil && s.view != nil
}

// View brings the index of a segment up to what is in it now. The home is not locked.
func (x *Index) View(ctx context.Context, place segment.Extent) (*View, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.segments[place.Name]
	if s != nil && s.view != nil {
		return s.view, nil
	}
	if s == nil || !segment.Unchanged(s.info, place.Info) {
		var err error
		if s, err = x.bringUp(ctx, s, place); err != nil {
			return nil, err
		}
	}
	v := &View{Place: place, Reached: s.Reached, Info: s.info, Size: s.size, Runs: slices.Clip(s.runs)}
	if len(s.tail.Rows) > 0 {
		tail := postings.Builder{Rows: slices.Clip(s.tail.Rows), Entries: slices.Clip(s.tail.Entries)}
		v.Runs = append(v.Runs, Covered{postings.Span{From: s.tailFrom, To: s.End}, tail, ""})
	}
	v.Least, v.Greatest = v.times()
	if s.archived && s.whole() {
		v.Place.Info = nil
		s.view = v
	}
	return v, nil
}

// bringUp reads what the segment has beyond what is known of it, or begins anew if that is no longer there.
func (x *Index) bringUp(ctx context.Context, s *indexed, place segment.Extent) (*indexed, error) {
	if s == nil && place.Archived() {
		s = x.load(sha256.Sum256([]byte(place.Name)), true, func(postings.Span) bool { return true })
		x.segments[place.Name] = s
	}
	if s != nil && s.whole() {
		s.info, s.size = place.Info, s.End
		return s, nil
	}
	file, size, err := place.Open(x.root)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if s == nil || !s.Continues(file, size) {
		if s, err = x.reload(s, place, file, size); err != nil {
			return nil, err
		}
	}
	a, is := file.(segment.Archive)
	s.final = is && a.CheckName(place.Name) == nil
	s.size, s.info = size, nothing{}
	if err := x.extend(ctx, s, file, size); err != nil {
		return nil, err
	}
	if s.info = place.Info; !s.archived {
		s.info = infoOf(file, place)
	}
	if length := s.End - s.tailFrom; length >= x.MinRun || s.archived || length >= minQuiet && time.Since(s.info.ModTime()) > quiet {
		x.keep(s)
	}
	return s, nil
}

// reload takes of the runs that were kept those that the content has.
func (x *Index) reload(s *indexed, place segment.Extent, file segment.Content, size int64) (*indexed, error) {
	archived, id := place.Archived(), [32]byte{}
	if archived {
		id = s.id
	} else {
		var err error
		if id, err = firstLine(file, size); err != nil {
			return nil, err
		}
	}
	s = x.load(id, archived, func(span postings.Span) bool {
		return segment.Reached{End: span.To, LastAt: span.Last, Last: span.Line}.Continues(file, size)
	})
	x.segments[place.Name] = s
	return s, nil
}

// infoOf describes the file that was opened, which git may have put there since the place was looked at, as it was
// when its size was taken.
func infoOf(file segment.Content, place segment.Extent) fs.FileInfo {
	if f, ok := file.(*os.File); ok {
		if info, err := f.Stat(); err == nil && os.SameFile(info, place.Info) {
			return place.Info
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
	return len(s.runs) > 0 && s.runs[len(s.runs)-1].Whole && s.End == s.tailFrom
}

// firstLine is the identity of a segment's first line, by which its runs are known. Those of an archive are known by
// its name, which says what is in it.
func firstLine(file segment.Content, size int64) (id record.Hash, err error) {
	err = segment.Forward(io.NewSectionReader(file, 0, size), 0, func(line segment.Line) error {
		id = record.Identity(line.Data)
		return segment.ErrEnough
	})
	if errors.Is(err, segment.ErrEnough) {
		err = nil
	}
	return id, err
}

// load finds the runs that were kept of a segment.
func (x *Index) load(id [32]byte, archived bool, fits func(postings.Span) bool) *indexed {
	s := &indexed{archived: archived, id: id}
	for {
		next, ok := x.store.next(id, s.End, fits)
		if !ok {
			s.tailFrom = s.End
			return s
		}
		s.runs = append(s.runs, next)
		s.Reached = segment.Reached{End: next.To, LastAt: next.Last, Last: next.Line}
	}
}

// extend takes in the whole lines behind what is covered.
func (x *Index) extend(ctx context.Context, s *indexed, file segment.Content, size int64) error {
	var k LineKeys
	if s.End >= size {
		return nil
	}
	return segment.Forward(io.NewSectionReader(file, s.End, size-s.End), s.End, func(line segment.Line) error {
		if line.Torn {
			return nil
		}
		var id record.Hash
		if !line.TooLong {
			id = record.Identity(line.Data)
		}
		if IndexLine(&k, line, id) {
			s.tail.Add(postings.Row{Offset: uint32(line.Offset - s.tailFrom), Marks: k.Marks(), Time: k.At}, k.Keys)
		}
		s.Reached = segment.Reached{End: line.Offset + line.Size, LastAt: line.Offset, Last: id}
		if s.End-s.tailFrom >= x.MaxRun || len(s.tail.Rows) >= postings.MaxRows {
			x.keep(s)
		}
		return ctx.Err()
	})
}

// keep makes a run in a file of what is in memory, together with the last runs if they are not much longer: so there
// are few, and a line is written again only as often as the length doubles. Where it cannot be written it stays in
// memory, encoded.
func (x *Index) keep(s *indexed) {
	if s.End == s.tailFrom {
		return
	}
	span := postings.Span{Segment: s.id, From: s.tailFrom, To: s.End, Last: s.LastAt, Line: s.Last, Whole: s.final && s.End == s.size}
	whole, joined := &s.tail, 0
	for _, run := range slices.Backward(s.runs) {
		length := span.To - span.From
		stored, ok := run.Reader.(*postings.Run)
		if !ok || run.To-run.From >= 2*length || run.To-run.From+length > x.MaxRun || run.Len()+len(whole.Rows) > postings.MaxRows {
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
	s.tail, s.tailFrom = postings.Builder{}, s.End
}

// Forget drops what is known of a segment, also on disk.
func (x *Index) Forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.segments[name]; s != nil {
		x.store.remove(s.runs)
		delete(x.segments, name)
	}
}

// Tidy drops what is known of segments that are gone, when all places are known; and once in the life of a process it
// removes index files that no segment wants.
func (x *Index) Tidy(places []segment.Extent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.store.release()
	if len(x.segments) > len(places) {
		there := map[string]bool{}
		for _, p := range places {
			there[p.Name] = true
		}
		maps.DeleteFunc(x.segments, func(name string, _ *indexed) bool { return !there[name] })
	}
	if x.store.swept {
		return
	}
	wanted := map[string]bool{}
	for _, s := range x.segments {
		for _, run := range s.runs {
			wanted[run.Name] = true
		}
	}
	x.store.sweep(wanted)
}

// times gives bounds for the times of the view's lines. Lines that it does not cover may have any.
func (v *View) times() (least, greatest time.Time) {
	a, z := int64(maxTime), int64(minTime)
	for _, run := range v.Runs {
		least, greatest := run.Times()
		a, z = min(a, least), max(z, greatest)
	}
	return time.UnixMilli(a), time.UnixMilli(z + 1)
}
