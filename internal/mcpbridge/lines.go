package mcpbridge

import (
	"bufio"
	"errors"
	"io"
)

// errLineTooLong: the line was over the cap; it has been read past.
var errLineTooLong = errors.New("line too long")

// lineReader reads lines of bounded length. A longer one is skipped without
// being kept, so that what a peer sends cannot take more memory than the cap.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(in io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(in, 64<<10), max: max}
}

// next returns the next line without its newline, in memory of its own. A last
// line without a newline counts as one. Then the error is io.EOF.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if ended := err == nil; ended {
			part = part[:len(part)-1]
		}
		if len(line)+len(part) > l.max {
			return nil, l.skip(err)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// skip reads to the end of a line that is too long; err is how its last part
// ended.
func (l *lineReader) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errLineTooLong
}
