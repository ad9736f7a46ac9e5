package printer

import (
	"errors"
	"syscall"
)

// What Windows says of a pipe that nobody reads any more.
const (
	errorBrokenPipe = syscall.Errno(109)
	errorNoData     = syscall.Errno(232)
)

func isClosedByReader(err error) bool {
	return errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData)
}
