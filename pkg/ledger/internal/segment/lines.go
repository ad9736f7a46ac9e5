package segment

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// MaxLine is how long a line can be that is read, in bytes. A longer one is none of ours; it is passed over without being
// held in memory.
const MaxLine = 16 << 20

const readBlock = 64 << 10

// Line is a line as it stands in a segment.
type Line struct {
	Data    []byte // without newline and CR; valid until the next line is read
	Offset  int64
	Size    int64 // with the newline
	Number  int   // 1-based; 0 when reading backwards
	Torn    bool  // the last line has no newline
	TooLong bool  // data is not the whole of it
}

// Forward calls yield for each line from the start of r, which stands at base in its segment.
func Forward(r io.Reader, base int64, yield func(Line) error) error {
	block := int64(4 * readBlock)
	if s, ok := r.(*io.SectionReader); ok {
		block = min(block, s.Size()+1) // a few lines that were appended
	}
	in := bufio.NewReaderSize(r, int(block))
	var held []byte
	line := Line{Offset: base, Number: 1}
	for {
		piece, err := in.ReadSlice('\n')
		line.Size += int64(len(piece))
		full := errors.Is(err, bufio.ErrBufferFull)
		if full || len(held) > 0 {
			if line.TooLong = line.Size > MaxLine; !line.TooLong {
				held = append(held, piece...)
			}
			piece = held
		}
		if full {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line.Size == 0 {
			return nil
		}
		line.Torn = err != nil
		line.Data = TrimEnd(piece)
		if err := yield(line); err != nil || line.Torn {
			return err
		}
		line = Line{Offset: line.Offset + line.Size, Number: line.Number + 1}
		held = held[:0]
	}
}

// windows are buffers of readBlock bytes.
var windows = sync.Pool{New: func() any { return new([readBlock]byte) }}

// Backward calls yield for each line of the first size bytes of r, the last one first, and reads no more than it
// must. The window grows with the line that does not fit into it. A line's bytes are yield's only until it returns.
func Backward(r io.ReaderAt, size int64, yield func(Line) error) error {
	window := int64(readBlock)
	lent := windows.Get().(*[readBlock]byte)
	defer windows.Put(lent)
	buf := lent[:0]
	for end := size; end > 0; {
		start := max(0, end-window)
		buf = append(buf[:0], make([]byte, end-start)...)
		if _, err := r.ReadAt(buf, start); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		rest, err := splitBackward(buf, start, size, yield)
		switch {
		case err != nil:
			return err
		case int64(len(rest)) < end-start:
			end, window = start+int64(len(rest)), readBlock
		case window < MaxLine:
			window *= 2
		default:
			if end, err = passOver(r, end, yield); err != nil {
				return err
			}
			window = readBlock
		}
	}
	return nil
}

// splitBackward gives the lines of buf, last one first, and returns the bytes before the first line whose start is in sight.
func splitBackward(buf []byte, start, size int64, yield func(Line) error) ([]byte, error) {
	for len(buf) > 0 {
		body := bytes.TrimSuffix(buf, []byte("\n"))
		begin := bytes.LastIndexByte(body, '\n') + 1
		if begin == 0 && start > 0 {
			return buf, nil
		}
		line := Line{
			Data: TrimEnd(body[begin:]), Offset: start + int64(begin), Size: int64(len(buf) - begin),
			Torn: len(body) == len(buf) && start+int64(len(buf)) == size,
		}
		if err := yield(line); err != nil {
			return nil, err
		}
		buf = buf[:begin]
	}
	return nil, nil
}

// passOver reports the line that ends at end as too long, and returns where it begins.
func passOver(r io.ReaderAt, end int64, yield func(Line) error) (int64, error) {
	buf := make([]byte, readBlock)
	for at := end - 1; at > 0; {
		start := max(0, at-readBlock)
		if _, err := r.ReadAt(buf[:at-start], start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:at-start], '\n'); i >= 0 {
			begin := start + int64(i) + 1
			return begin, yield(Line{Offset: begin, Size: end - begin, TooLong: true})
		}
		at = start
	}
	return 0, yield(Line{Size: end, TooLong: true})
}

// TrimEnd takes a CR for part of the line's end: a checkout that converted line endings has not changed a record.
func TrimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// HashLines calls visit for each line of a segment's content that the chain knows, in order. It passes over what the
// chain does not: blank lines, conflict markers, a torn end. Its memory is bounded whatever is read.
func HashLines(content io.Reader, visit func(RawLine) error) error {
	return Forward(content, 0, func(line Line) error {
		if found := rawLine("", line); found.Whole {
			return visit(found)
		}
		return nil
	})
}

// ReaderAt stops reading when the context ends.
type ReaderAt struct {
	Ctx context.Context
	io.ReaderAt
}

func (r ReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.Ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, off)
}

var ErrEnough = errors.New("enough")

// HeadFinder finds the heads of lines that come in any order, with duplicates. In a chain it holds one line at a time,
// however long the chain is.
type HeadFinder map[record.Hash]struct{}

// Take holds the line until one that follows it comes. A line whose follower came before it stays, as one that comes
// twice may: candidates, which FindHeads sorts out.
func (h HeadFinder) Take(id record.Hash, prev []record.Hash) {
	for _, p := range prev {
		delete(h, p)
	}
	h[id] = struct{}{}
}

// FindHeads gives the sorted heads of the first size bytes, and calls each with each line that is whole and its kind.
// Where there is more than one candidate all is read twice.
func FindHeads(file io.ReaderAt, size int64, each func(Line, record.Hash, record.LineKind)) ([]record.Hash, error) {
	found := HeadFinder{}
	err := Forward(io.NewSectionReader(file, 0, size), 0, func(line Line) error {
		id, prev, kind := ReadChain(line)
		if line.Torn {
			return nil
		}
		if kind.Linked() {
			found.Take(id, prev)
		}
		each(line, id, kind)
		return nil
	})
	if err == nil && len(found) > 1 {
		err = Forward(io.NewSectionReader(file, 0, size), 0, func(line Line) error {
			if line.Torn || line.TooLong {
				return nil
			}
			if prev, ok := record.ParsePrev(line.Data); ok {
				for _, p := range prev {
					delete(found, p)
				}
			}
			return nil
		})
	}
	return slices.SortedFunc(maps.Keys(found), record.CompareHash), err
}

// ReadChain gives a line's identity and whom it follows. A line that is too long is garbage to the chain.
func ReadChain(line Line) (record.Hash, []record.Hash, record.LineKind) {
	if line.TooLong {
		return record.Hash{}, nil, record.LineGarbage
	}
	prev, kind := record.Classify(line.Data)
	return record.Identity(line.Data), prev, kind
}

// Reached is how far a segment is known: up to the end of a whole line.
type Reached struct {
	End    int64 // of the last line that is known
	LastAt int64 // where that begins
	Last   record.Hash
}

// Continues reports whether the content has the last line that is known where it was.
func (c Reached) Continues(file io.ReaderAt, size int64) bool {
	if c.End == 0 || c.End > size || c.End-c.LastAt > MaxLine {
		return false
	}
	line := make([]byte, c.End-c.LastAt)
	_, err := file.ReadAt(line, c.LastAt)
	return (err == nil || errors.Is(err, io.EOF)) && record.Identity(TrimEnd(line)) == c.Last
}

func Unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// IgnoreGone: what git or a rotation takes away between two looks is read when it is back, and damage is for Verify to report.
func IgnoreGone(err error) error {
	_, damaged := errors.AsType[*framed.Damage](err)
	if damaged || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrRotated) {
		return nil
	}
	return err
}

// InPlace reports whether the last line stands where it stood.
func (at Reached) InPlace(root *os.Root, name string) bool {
	file, info, err := durable.OpenRegularIn(root, path.Join(Home, name), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	return at.Continues(file, info.Size())
}

// TakeOut removes from wanted the lines that segments have, looked for from the last one. What cannot be opened has none.
func TakeOut(root *os.Root, places []Extent, wanted map[record.Hash]bool) error {
	var failed []error
	for _, place := range slices.Backward(places) {
		if len(wanted) == 0 {
			break
		}
		file, size, err := place.Open(root)
		if err != nil {
			continue
		}
		if err := TakeOutOf(file, size, wanted); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("%s: %w", place.Name, err))
		}
		file.Close()
	}
	return errors.Join(failed...)
}

// TakeOutOf removes from wanted the lines that a content has.
func TakeOutOf(file io.ReaderAt, size int64, wanted map[record.Hash]bool) error {
	err := ReadLines(file, size, true, func(line Line) error {
		if !line.TooLong && !line.Torn {
			delete(wanted, record.Identity(line.Data))
		}
		if len(wanted) == 0 {
			return ErrEnough
		}
		return nil
	}, func(*framed.Damage) {})
	if errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}
