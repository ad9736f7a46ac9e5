package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// MaxLine is how long a line can be that is read, in bytes.
	MaxLine = maxLineToRead

	maxLine       = 8 << 20  // of a body that we write
	maxLineToRead = 16 << 20 // a longer line is none of ours; it is passed over without being held in memory
	readBlock     = 64 << 10
)

// rawLine is a line as it stands in a segment.
type rawLine struct {
	data    []byte // without newline and CR; valid until the next line is read
	offset  int64
	size    int64 // with the newline
	number  int   // 1-based; 0 when reading backwards
	torn    bool  // the last line has no newline
	tooLong bool  // data is not the whole of it
}

// forward calls yield for each line from the start of r, which stands at base in its segment.
func forward(r io.Reader, base int64, yield func(rawLine) error) error {
	block := int64(4 * readBlock)
	if s, ok := r.(*io.SectionReader); ok {
		block = min(block, s.Size()+1) // a few lines that were appended
	}
	in := bufio.NewReaderSize(r, int(block))
	var held []byte
	line := rawLine{offset: base, number: 1}
	for {
		piece, err := in.ReadSlice('\n')
		line.size += int64(len(piece))
		full := errors.Is(err, bufio.ErrBufferFull)
		if full || len(held) > 0 {
			if line.tooLong = line.size > maxLineToRead; !line.tooLong {
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
		if line.size == 0 {
			return nil
		}
		line.torn = err != nil
		line.data = trimEnd(piece)
		if err := yield(line); err != nil || line.torn {
			return err
		}
		line = rawLine{offset: line.offset + line.size, number: line.number + 1}
		held = held[:0]
	}
}

// backward calls yield for each line of the first size bytes of r, the last one first, and reads no more than it
// must. The window grows with the line that does not fit into it.
func backward(r io.ReaderAt, size int64, yield func(rawLine) error) error {
	window := int64(readBlock)
	var buf []byte
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
		case window < maxLineToRead:
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

// splitBackward gives the lines of buf, last one first, and returns the bytes before the first line whose start is
// in sight.
func splitBackward(buf []byte, start, size int64, yield func(rawLine) error) ([]byte, error) {
	for len(buf) > 0 {
		body := bytes.TrimSuffix(buf, []byte("\n"))
		begin := bytes.LastIndexByte(body, '\n') + 1
		if begin == 0 && start > 0 {
			return buf, nil
		}
		line := rawLine{
			data: trimEnd(body[begin:]), offset: start + int64(begin), size: int64(len(buf) - begin),
			torn: len(body) == len(buf) && start+int64(len(buf)) == size,
		}
		if err := yield(line); err != nil {
			return nil, err
		}
		buf = buf[:begin]
	}
	return nil, nil
}

// passOver reports the line that ends at end as too long, and returns where it begins.
func passOver(r io.ReaderAt, end int64, yield func(rawLine) error) (int64, error) {
	buf := make([]byte, readBlock)
	for at := end - 1; at > 0; {
		start := max(0, at-readBlock)
		if _, err := r.ReadAt(buf[:at-start], start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:at-start], '\n'); i >= 0 {
			begin := start + int64(i) + 1
			return begin, yield(rawLine{offset: begin, size: end - begin, tooLong: true})
		}
		at = start
	}
	return 0, yield(rawLine{size: end, tooLong: true})
}

// trimEnd takes a CR for part of the line's end: a checkout that converted line endings has not changed a record.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
