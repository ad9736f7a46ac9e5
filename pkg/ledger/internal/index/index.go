package index

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

const (
	// What is shorter, or less than a sixteenth of a segment, is read again by the next process.
	minWrite = 64 << 10
	// Files that no segment in sight wants are kept for the branches that may come back.
	keptUnused = 7 * 24 * time.Hour

	maxHeld = 4 << 20 // bytes of all held blocks
	// How many questions are remembered of a segment, and how many blocks of an answer: what many have is found in few segments.
	maxFound = 64
)

// ErrStale: what the index says is not what stands in the segment.
var ErrStale = errors.New("the index does not fit the ledger")

// Index knows of each segment what its blocks have. It is made from the segments alone; what is kept of it in cache/index
// saves the next process from reading them. Safe for concurrent use.
type Index struct {
	root *os.Root

	BlockSize, MinWrite int64

	mu       sync.Mutex
	segments map[string]*View
	swept    bool
	held     map[place][]byte
	heldSize int
}

// place is where a block of an archive begins.
type place struct {
	archive string
	from    int64
}

func New(root *os.Root) *Index {
	return &Index{root: root, BlockSize: blockSize, MinWrite: minWrite, segments: map[string]*View{}, held: map[place][]byte{}}
}

// View is the index of one segment at a moment. It stays as it is.
type View struct {
	blocks  []Block
	torn    bool        // the last block is what stands behind the last whole line
	info    fs.FileInfo // of the file when it was read to its end
	final   bool        // all of an archive that its name vouches for; git may be about to write the rest of another
	written int64       // how much of it the file in cache/index covers

	Least, Greatest time.Time // bounds of the times of all lines

	found map[string][]Block // of a final segment whose filters are in its file alone, by what was wanted; nil of others
}

// whole are the blocks of whole lines.
func (v *View) whole() []Block {
	if v.torn {
		return v.blocks[:len(v.blocks)-1]
	}
	return v.blocks
}

// end is how far whole lines are covered.
func (v *View) end() int64 {
	if n := len(v.whole()); n > 0 {
		return v.blocks[n-1].To
	}
	return 0
}

// settle sets the bounds, and leaves the filters of a final segment to its file.
func (v *View) settle() {
	a, z := int64(math.MaxInt64), int64(math.MinInt64)
	onDisk := v.final && v.written == v.end()
	for i := range v.blocks {
		a, z = min(a, v.blocks[i].Least), max(z, v.blocks[i].Greatest)
		if onDisk {
			v.blocks[i].filter = nil
		}
	}
	v.Least, v.Greatest = time.UnixMilli(a), time.UnixMilli(z).Add(time.Millisecond)
	if onDisk {
		v.found = map[string][]Block{}
	}
}

// Knows reports whether all of an archive is in the index, so that nothing about it needs to be asked.
func (x *Index) Knows(archive string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := x.segments[archive]
	return v != nil && v.final
}

// Archive is the index of an archive, if it is known to its end; the archive is not read.
func (x *Index) Archive(name string) (v *View, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v = x.known(name)
	return v, v.final
}

// known is what this process or an earlier one has indexed of a segment.
func (x *Index) known(name string) *View {
	v := x.segments[name]
	if v == nil {
		v = x.load(name)
		v.settle()
		x.segments[name] = v
	}
	return v
}

// View brings the index of a segment up to what is in it now. The home is not locked.
func (x *Index) View(ctx context.Context, at segment.Extent) (*View, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := x.known(at.Name)
	if v.final || segment.Unchanged(v.info, at.Info) {
		return v, nil
	}
	named := at.Archived() && at.CheckName(x.root) == nil // before it is read: then it was there as a whole
	file, size, err := at.Open(x.root)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	next := v.standing(file, size)
	err = x.extend(ctx, next, file, size)
	x.segments[at.Name] = next // as far as it came
	if err != nil {
		return nil, err
	}
	next.info = at.Info
	if f, is := file.(*os.File); is { // git may have put another there since the place was looked at
		if now, err := f.Stat(); err != nil || !os.SameFile(now, at.Info) {
			next.info = nil
		}
	}
	next.final = named && !next.torn
	if grown := next.end() - next.written; next.final || grown >= max(x.MinWrite, next.end()/16) {
		x.write(at.Name, next)
	}
	next.settle()
	return next, nil
}

// Blocks gives those that may have lines which are wanted. ErrStale: the filters are gone.
func (x *Index) Blocks(segment string, v *View, w *Wanted) (found []Block, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	found, known := v.found[w.text]
	if known || !slices.ContainsFunc(v.blocks, w.inTime) {
		return found, nil
	}
	takes := func(i int) bool { return w.takes(v.blocks[i].has) }
	if v.found != nil {
		columns, err := x.open(segment, len(v.blocks))
		if err != nil {
			return nil, err
		}
		defer columns.file.Close()
		set := w.among(columns)
		if columns.err != nil {
			return nil, columns.err
		}
		takes = func(i int) bool { return set[i/8]&(1<<(i%8)) != 0 }
	}
	for i, b := range v.blocks {
		if b.Odd || w.inTime(b) && takes(i) {
			b.filter = nil
			found = append(found, b)
		}
	}
	if v.found != nil && len(found) <= maxFound {
		if len(v.found) >= maxFound {
			clear(v.found)
		}
		v.found[w.text] = found
	}
	return found, nil
}

// standing is what is known of a segment as far as its content still has it.
func (v *View) standing(file segment.Content, size int64) *View {
	n := len(v.whole())
	for n > 0 && !v.blocks[n-1].Stands(file, size) {
		n--
	}
	next := &View{blocks: slices.Clone(v.blocks[:n]), written: v.written}
	if next.end() < v.written {
		next.written = 0
	}
	return next
}

// extend takes in the lines behind what is covered.
func (x *Index) extend(ctx context.Context, v *View, file segment.Content, size int64) error {
	if n := len(v.blocks); n > 0 {
		v.blocks[n-1].filter = slices.Clone(v.blocks[n-1].filter)
	}
	at := v.end()
	return segment.Forward(io.NewSectionReader(file, at, size-at), at, func(line segment.Line) error {
		n := len(v.blocks)
		if line.Torn {
			v.torn = true
			sum, err := sumOf(file, line.Offset, size)
			v.blocks = append(v.blocks, Block{From: line.Offset, To: size, Sum: sum, Odd: true, Least: math.MinInt64, Greatest: math.MaxInt64})
			return err
		}
		if n == 0 || line.Offset+line.Size-v.blocks[n-1].From > x.BlockSize {
			v.blocks = append(v.blocks, newBlock(line.Offset))
			n++
		}
		b := &v.blocks[n-1]
		b.add(line)
		if line.TooLong { // what was read is not all of it
			var err error
			if b.Sum, err = sumOf(file, b.From, b.To); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// Forget drops what is known of a segment, also on disk.
func (x *Index) Forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.segments, name)
	maps.DeleteFunc(x.held, func(at place, _ []byte) bool { return at.archive == name })
	_ = x.root.Remove(path.Join(indexDir, fileOf(name)))
}

// Tidy drops what is known of segments that are gone, when all places are known; and once in the life of a process it
// removes index files that no segment has wanted for long, and what writers left that died.
func (x *Index) Tidy(places []segment.Extent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.swept && len(x.segments) <= len(places) {
		return
	}
	there, wanted := map[string]bool{}, map[string]bool{}
	for _, at := range places {
		there[at.Name], wanted[fileOf(at.Name)] = true, true
	}
	maps.DeleteFunc(x.segments, func(name string, _ *View) bool { return !there[name] })
	if x.swept {
		return
	}
	x.swept = true
	entries, _ := durable.ReadDirectoryIn(x.root, indexDir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && !wanted[entry.Name()] && time.Since(info.ModTime()) > keptUnused {
			_ = x.root.Remove(path.Join(indexDir, entry.Name()))
		}
	}
}

// Held gives a block of an archive that was read lately, or nil: to read it again is to decompress it. Archives never change.
func (x *Index) Held(archive string, b Block) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if text := x.held[place{archive, b.From}]; int64(len(text)) == b.To-b.From {
		return text
	}
	return nil
}

// Hold remembers one, which nobody changes any more.
func (x *Index) Hold(archive string, b Block, text []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.heldSize += len(text); x.heldSize > maxHeld {
		clear(x.held)
		x.heldSize = len(text)
	}
	x.held[place{archive, b.From}] = text
}
