//go:build unix

package workspace

import (
	"errors"
	"syscall"
)

// isLoop reports the error of an open that refuses to follow a link.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }
