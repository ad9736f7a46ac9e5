package mcpbridge

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLineTooLong: the line was over the cap; it has been read past.
var errLineTooLong = errors.New("line too long")

// readLine returns the next line without its newline, in memory of its own. A longer one than max is read past without
// being kept, so that what a peer sends cannot take more memory than that. A last line without a newline counts as one.
// Then the error is io.EOF.
func readLine(r *bufio.Reader, max int) (line []byte, err error) {
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > max; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errLineTooLong
		case err != nil && len(line) == 0:
			return nil, err
		default:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
	}
}
