package durable

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// LockedBy is the process that holds the lock of f's inode (flock), 0 where it cannot be told: the sixth field of proc_locks(5)
// names the file.
func LockedBy(f *os.File) (pid int) {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	raw, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(raw.Dev)), unix.Minor(uint64(raw.Dev)), raw.Ino)
	table, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[1] == "FLOCK" && fields[5] == file {
			pid, _ = strconv.Atoi(fields[4])
			return max(pid, 0)
		}
	}
	return 0
}
