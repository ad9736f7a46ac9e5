//go:build unix

package session

import "syscall"

// openNonblock keeps a FIFO that stands in the place of a file from blocking the server.
const openNonblock = syscall.O_NONBLOCK
