package framed

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// frame is where a piece of the text stands. One that is bad stands for bytes of which nothing is known; its text counts
// as one byte, so that whoever reads on meets it.
type frame struct {
	at, size   int64 // in the file
	from, text int64 // in the text
	bad        error
}

const (
	blockHeader = 3
	checksum    = 4
	maxOverhead = zstd.HeaderMaxSize + maxBlocks*blockHeader + checksum
)

var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// locate finds the frames of a file. Behind bytes that are none it goes on with the next that look like one.
func locate(file io.ReaderAt, size int64) ([]frame, int64, error) {
	var frames []frame
	var at, from int64
	headers := &window{file: file, size: size}
	for at < size {
		f, err := parseFrame(headers, at)
		if err != nil && !errors.Is(err, errBad) {
			return nil, 0, err
		}
		if err != nil {
			next, serr := nextMagic(file, at+1, size)
			if serr != nil {
				return nil, 0, serr
			}
			f = frame{at: at, size: next - at, text: 1, bad: err}
		}
		f.from = from
		at, from = at+f.size, from+f.text
		if len(frames) == maxFrames || from > MaxSize {
			return nil, 0, fmt.Errorf("more than %d frames or %d bytes of text", maxFrames, int64(MaxSize))
		}
		if last := len(frames) - 1; f.bad != nil && last >= 0 && frames[last].bad != nil {
			frames[last].size += f.size
			from--
			continue
		}
		frames = append(frames, f)
	}
	return frames, from, nil
}

var errBad = errors.New("not a frame of an archive")

func parseFrame(headers *window, at int64) (frame, error) {
	head, err := headers.bytes(at, zstd.HeaderMaxSize)
	if err != nil {
		return frame{}, err
	}
	var h zstd.Header
	switch err := h.Decode(head); {
	case err != nil:
		return frame{}, fmt.Errorf("%w: %v", errBad, err)
	case h.Skippable, !h.HasFCS, !h.HasCheckSum, h.DictionaryID != 0:
		return frame{}, fmt.Errorf("%w: its header is another program's", errBad)
	case h.FrameContentSize == 0, h.FrameContentSize > maxText:
		return frame{}, fmt.Errorf("%w: %d bytes of text", errBad, h.FrameContentSize)
	}
	end, err := skipBlocks(headers, at+int64(h.HeaderSize))
	if err != nil {
		return frame{}, err
	}
	if end-at > maxText+maxOverhead {
		return frame{}, fmt.Errorf("%w: %d bytes", errBad, end-at)
	}
	return frame{at: at, size: end - at, text: int64(h.FrameContentSize)}, nil
}

// skipBlocks returns where the frame ends whose first block begins at at.
func skipBlocks(headers *window, at int64) (int64, error) {
	for range maxBlocks {
		b, err := headers.bytes(at, blockHeader)
		if err != nil {
			return 0, err
		}
		if len(b) < blockHeader {
			return 0, fmt.Errorf("%w: it is cut off", errBad)
		}
		value := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
		last, kind, length := value&1 == 1, value>>1&3, value>>3
		switch kind {
		case 1: // one byte, repeated
			length = 1
		case 3:
			return 0, fmt.Errorf("%w: a block of an unknown kind", errBad)
		}
		if at += blockHeader + length; last {
			at += checksum
			if at > headers.size {
				return 0, fmt.Errorf("%w: it is cut off", errBad)
			}
			return at, nil
		}
	}
	return 0, fmt.Errorf("%w: more than %d blocks", errBad, maxBlocks)
}

// nextMagic looks for a frame's first bytes, and returns size if there are none.
func nextMagic(file io.ReaderAt, at, size int64) (int64, error) {
	var buf [32 << 10]byte
	for at < size {
		b, err := readUpTo(file, buf[:], at, size)
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(b, magic); i >= 0 {
			return at + int64(i), nil
		}
		at += max(int64(len(b)-len(magic)+1), 1)
	}
	return size, nil
}

// window is the part of a file that was read last: the header of a frame has that of its first block behind it.
type window struct {
	file io.ReaderAt
	size int64
	at   int64
	have []byte
	buf  [windowSize]byte
}

const windowSize = zstd.HeaderMaxSize + blockHeader

// bytes gives n bytes, less only where the file ends. They are valid until the next call.
func (w *window) bytes(at int64, n int) (_ []byte, err error) {
	n = int(max(0, min(int64(n), w.size-at)))
	if at < w.at || at+int64(n) > w.at+int64(len(w.have)) {
		if w.have, err = readUpTo(w.file, w.buf[:], at, w.size); err != nil {
			return nil, err
		}
		w.at = at
	}
	if n == 0 {
		return nil, nil
	}
	return w.have[at-w.at:][:n], nil
}

// readUpTo reads less only where the file ends.
func readUpTo(file io.ReaderAt, p []byte, at, size int64) ([]byte, error) {
	if at >= size {
		return nil, nil
	}
	p = p[:min(int64(len(p)), size-at)]
	n, err := file.ReadAt(p, at)
	if n == len(p) {
		return p, nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // it was longer when its size was taken
	}
	return nil, err
}
