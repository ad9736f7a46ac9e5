//go:build unix && !linux

package durable

import (
	"errors"
	"syscall"
)

// Place cannot be told: a workspace can be shared with another machine or container.
func Place() string { return "" }

// Gone reports whether no process has an id.
func Gone(pid int) bool { return pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
