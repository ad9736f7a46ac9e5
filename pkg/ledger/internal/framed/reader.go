package framed

import (
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

// ReadAt gives the text as it was written. Where it is damaged the error is a *Damage, and what was read before it is
// given.
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
