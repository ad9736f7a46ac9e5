package probes

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

func environment(pid int) ([]byte, error) {
	return os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
}

// daemons has none: that a command reaches none of their sockets is tried.
func daemons() []Probe { return nil }
