//go:build unix

package main

import (
	"os"
	"syscall"
)

// terminate asks a server to end.
func terminate() os.Signal { return syscall.SIGTERM }
