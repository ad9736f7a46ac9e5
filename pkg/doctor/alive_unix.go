//go:build unix

package doctor

import (
	"errors"
	"syscall"
)

// alive: a process has this id. It may be another one than the one that is meant.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && (err == nil || errors.Is(err, syscall.EPERM))
}
