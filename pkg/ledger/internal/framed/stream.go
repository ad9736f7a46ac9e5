package framed

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

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
