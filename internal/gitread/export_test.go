package gitread

import (
	"bufio"
	"bytes"
	"io"
)

// ReadAnswer reads one answer of git cat-file --batch to a request for name, and what is behind it.
func ReadAnswer(name string, answer []byte) (found Object, content, rest []byte, err error) {
	o := &Objects{out: bufio.NewReaderSize(bytes.NewReader(answer), 16)}
	if found, err = o.header(name); err != nil {
		return found, nil, nil, err
	}
	if content, err = io.ReadAll(o); err != nil {
		return found, nil, nil, err
	}
	if err = o.skip(); err != nil {
		return found, nil, nil, err
	}
	rest, err = io.ReadAll(o.out)
	return found, content, rest, err
}
