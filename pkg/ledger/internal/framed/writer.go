package framed

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ErrFull: a file cannot hold more.
var ErrFull = errors.New("the compressed file is full")

// Writer compresses what is written to it. It is not for several goroutines.
type Writer struct {
	to      io.Writer
	encoder *zstd.Encoder
	text    []byte // not yet in a frame
	frame   []byte
	size    int64
	frames  int
}

// Dictionary is a text that frames may refer to. The id is in each frame that does, and is one of those that zstd leaves to
// everybody: 32768 to 1<<31-1.
type Dictionary struct {
	ID   uint32
	Text string
}

// NewWriter gives a Writer of a new file, whose frames refer to the dictionary if there is one.
func NewWriter(to io.Writer, dictionary ...Dictionary) (*Writer, error) {
	options := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
		zstd.WithSingleSegment(true), zstd.WithEncoderCRC(true), zstd.WithLowerEncoderMem(true)}
	for _, d := range dictionary {
		options = append(options, zstd.WithEncoderDictRaw(d.ID, []byte(d.Text)))
	}
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return &Writer{to: to, encoder: encoder}, nil
}

// Write takes in more of the text. ErrFull leaves a file that nobody can read.
func (w *Writer) Write(p []byte) (int, error) {
	w.size += int64(len(p))
	if w.size > MaxSize {
		return 0, ErrFull
	}
	w.text = append(w.text, p...)
	for len(w.text) > targetText {
		n := bytes.LastIndexByte(w.text[:targetText], '\n') + 1
		if n == 0 {
			n = bytes.IndexByte(w.text[:min(len(w.text), maxText)], '\n') + 1
		}
		switch {
		case n == 0 && len(w.text) < maxText:
			return len(p), nil // the line may still end in time
		case n == 0:
			n = maxText
		}
		if err := w.end(n); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// end makes a frame of the first n bytes.
func (w *Writer) end(n int) error {
	if w.frames++; w.frames > maxFrames {
		return ErrFull
	}
	w.frame = w.encoder.EncodeAll(w.text[:n], w.frame[:0])
	w.text = append(w.text[:0], w.text[n:]...)
	_, err := w.to.Write(w.frame)
	return err
}

// Close writes the last frame. It does not close what is written to.
func (w *Writer) Close() error {
	if len(w.text) > 0 {
		return w.end(len(w.text))
	}
	return nil
}

// Stream reads the text of a file that can be read from its start only. What is no frame ends it with ErrDamaged.
type Stream struct {
	decoder *zstd.Decoder
	source  *source
	rest    int64
}

// source remembers why reading failed, which is not the file's fault.
type source struct {
	io.Reader
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

// ErrDamaged: a stream came to bytes that are not what a Writer wrote.
var ErrDamaged = errors.New("the compressed file is damaged")

// NewStream reads in the goroutine of who reads, so there is nothing to close. Frames may refer to the dictionaries.
func NewStream(file io.Reader, dictionaries ...Dictionary) (*Stream, error) {
	from := &source{Reader: file}
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxText)}
	for _, d := range dictionaries {
		options = append(options, zstd.WithDecoderDictRaw(d.ID, []byte(d.Text)))
	}
	decoder, err := zstd.NewReader(from, options...)
	if err != nil {
		return nil, err
	}
	return &Stream{decoder: decoder, source: from, rest: MaxSize}, nil
}

func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.decoder.Read(p)
	if s.rest -= int64(n); s.rest < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes of text", ErrDamaged, int64(MaxSize))
	}
	if s.source.failed != nil {
		return n, s.source.failed
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, err
}
