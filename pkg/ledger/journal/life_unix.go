//go:build unix && !linux

package journal

import (
	"errors"
	"syscall"
)

// place cannot be told: a workspace can be shared with another machine or container.
func place() string { return "" }

// gone reports whether no process has an id.
func gone(pid int) bool { return pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
