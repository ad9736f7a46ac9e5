package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Place is where the process ids of this process mean something: the boot of a machine and the pid namespace. "": that
// cannot be told.
func Place() string { return place() }

var place = sync.OnceValue(func() string {
	self, err := os.Readlink("/proc/self")
	boot, noBoot := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, noNamespace := os.Readlink("/proc/self/ns/pid")
	if errors.Join(err, noBoot, noNamespace) != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
})

// Gone reports whether no process of this place has an id, or one that has ended.
func Gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return len(rest) > 1 && strings.IndexByte("ZXx", rest[1]) >= 0
}

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

// FlushData brings a file's data and size to disk. It leaves out what fsync writes beyond (times), which saves a journal
// commit on some file systems.
func FlushData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
