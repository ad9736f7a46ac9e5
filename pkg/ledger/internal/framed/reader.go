package framed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Damage is a part of the text that cannot be read. Where the bytes are no frame at all, how long the text was is not
// known; it counts as one byte.
type Damage struct {
	From, To int64 // in the text
	At, Size int64 // in the file
	Reason   error
}

func (d *Damage) Error() string {
	return fmt.Sprintf("damaged from byte %d to byte %d: %v", d.At, d.At+d.Size, d.Reason)
}

// Unwrap gives the reason.
func (d *Damage) Unwrap() error { return d.Reason }

// Reader reads the text of a file. All methods may be called at the same time, but for Close.
type Reader struct {
	file   io.ReaderAt
	frames []frame
	size   int64
	ahead  sync.WaitGroup

	mu    sync.Mutex
	held  []*text // the last used comes last
	first int     // where somebody who reads on will read next
}

// text is that of one frame, once it is ready.
type text struct {
	frame int
	ready chan struct{}
	bytes []byte
	err   error
}

const maxHeld = 3

var _ io.ReaderAt = (*Reader)(nil)

// NewReader finds the frames of the file's first size bytes. It must be closed. An error is one of reading, or that the
// file has more than a Reader reads; other damage is met by ReadAt.
func NewReader(file io.ReaderAt, size int64) (*Reader, error) {
	frames, length, err := locate(file, size)
	if err != nil {
		return nil, err
	}
	if _, err := decoder(); err != nil {
		return nil, err
	}
	return &Reader{file: file, frames: frames, size: length}, nil
}

// decoder is for all Readers: it takes longer to make one than to decode a frame with it.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxText))
})

// Size is the length of the text.
func (r *Reader) Size() int64 { return r.size }

// ReadAt gives the text as it was written. Where it is damaged the error is a *Damage, and what was read before it is given.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read at a negative offset")
	}
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		i := sort.Search(len(r.frames), func(i int) bool { return r.frames[i].from > at }) - 1
		t := r.text(i)
		if t.err != nil {
			return n, t.err
		}
		n += copy(p[n:], t.bytes[at-r.frames[i].from:])
	}
	return n, nil
}

// text gives a frame's text. When frames are read one after the other the next is begun meanwhile.
func (r *Reader) text(i int) *text {
	r.mu.Lock()
	t, mine := r.hold(i)
	var next *text
	if i > 0 && i == r.first && i+1 < len(r.frames) {
		if t, mine := r.hold(i + 1); mine {
			next = t
		}
	}
	r.first = i + 1
	r.mu.Unlock()
	if next != nil {
		r.ahead.Go(func() { r.decode(next) })
	}
	if mine {
		r.decode(t)
	}
	<-t.ready
	return t
}

// hold gives the text of a frame, and whether it is for the caller to decode. One that is given up here is still whole
// for those who have it.
func (r *Reader) hold(i int) (*text, bool) {
	for at, t := range r.held {
		if t.frame == i {
			r.held = append(append(r.held[:at], r.held[at+1:]...), t)
			return t, false
		}
	}
	if len(r.held) == maxHeld {
		r.held = append(r.held[:0], r.held[1:]...)
	}
	t := &text{frame: i, ready: make(chan struct{})}
	r.held = append(r.held, t)
	return t, true
}

func (r *Reader) decode(t *text) {
	defer close(t.ready)
	f := r.frames[t.frame]
	damaged := func(reason error) {
		t.err = &Damage{From: f.from, To: f.from + f.text, At: f.at, Size: f.size, Reason: reason}
	}
	if f.bad != nil {
		damaged(f.bad)
		return
	}
	compressed := make([]byte, f.size)
	if _, err := r.file.ReadAt(compressed, f.at); err != nil {
		if errors.Is(err, io.EOF) {
			damaged(io.ErrUnexpectedEOF)
			return
		}
		t.err = err
		return
	}
	all, err := decoder()
	if err != nil {
		t.err = err
		return
	}
	t.bytes, err = all.DecodeAll(compressed, make([]byte, 0, f.text))
	switch {
	case err != nil:
		damaged(err)
	case int64(len(t.bytes)) != f.text:
		damaged(fmt.Errorf("%d bytes of text and not %d", len(t.bytes), f.text))
	}
}

// Close frees what the Reader holds. The file is its owner's to close.
func (r *Reader) Close() error {
	r.ahead.Wait()
	return nil
}

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
	for at < size {
		f, err := parseFrame(file, at, size)
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

func parseFrame(file io.ReaderAt, at, size int64) (frame, error) {
	head, err := readUpTo(file, make([]byte, zstd.HeaderMaxSize), at, size)
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
	end, err := skipBlocks(file, at+int64(h.HeaderSize), size)
	if err != nil {
		return frame{}, err
	}
	if end-at > maxText+maxOverhead {
		return frame{}, fmt.Errorf("%w: %d bytes", errBad, end-at)
	}
	return frame{at: at, size: end - at, text: int64(h.FrameContentSize)}, nil
}

// skipBlocks returns where the frame ends whose first block begins at at.
func skipBlocks(file io.ReaderAt, at, size int64) (int64, error) {
	for range maxBlocks {
		b, err := readUpTo(file, make([]byte, blockHeader), at, size)
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
			if at > size {
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
