//go:build unix

package command

import (
	"os"
	"strconv"
	"syscall"
)

// firstInherited is the lowest descriptor that a command must not get: below it are its own three.
const firstInherited = 3

// closeInheritedOneByOne marks what this process has open now. Go opens everything with close-on-exec; what is meant are
// descriptors that the server was started with.
func closeInheritedOneByOne() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= firstInherited {
			syscall.CloseOnExec(fd)
		}
	}
}
