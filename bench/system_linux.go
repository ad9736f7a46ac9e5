package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// resident is what a process holds in memory now, in MiB.
func resident(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024, nil
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}

// flushData flushes as the ledger does.
func flushData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

func flushDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// exchangeNames lets two files change their places.
func exchangeNames(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// fileSystem names what is below path. On tmpfs a flush costs nothing, and the rows that are about flushes mean little.
func fileSystem(path string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "unknown file system"
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs (flushes cost nothing)", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.F2FS_SUPER_MAGIC: "f2fs",
	}
	if name := names[int64(st.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("file system %#x", st.Type)
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// syncDisk brings what was written so far to disk, so that its writing back does not weigh on what is measured next.
func syncDisk() { unix.Sync() }

// forgetCached takes a file out of the page cache, so that it is read from disk when it is used, as after the machine's
// start. What a build has just written lies there in large pieces, of which some kernels count each whole to a process that
// touches one byte of it.
func forgetCached(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
