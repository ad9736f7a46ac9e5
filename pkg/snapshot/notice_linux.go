//go:build linux && !portable

package snapshot

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// noticed is all that changes a directory or what is in it. A write through a shared mapping shows at the latest when
	// its file is closed.
	noticed = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM |
		unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
)

// notices are what the kernel tells of the directories of the kept state (inotify(7)), and of mounts. A nil one tells
// nothing, so that everything has to be looked at.
type notices struct {
	fd, mounts int

	mu sync.Mutex
	// nodes are the directories by their watch. Two can be one inode, mounted in two places.
	nodes map[int32][]*node
	// most is how many of them there may be.
	most int
	// local are the file systems where nobody else changes files unnoticed, by their device.
	local map[uint64]bool
	opens *opens
}

// openNotices returns nil where the kernel gives none: a user has a bounded number.
func openNotices() *notices {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(fd)
		return nil
	}
	return &notices{fd: fd, mounts: mounts, nodes: map[int32][]*node{}, most: mostWatches(), local: map[uint64]bool{}, opens: openOpens()}
}

// mostWatches is half of the directories that a user may watch, as editors do too: of the memory that the kernel has for it
// by default, which is a hundredth of the machine's, about a kilobyte for each.
func mostWatches() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return fewWatches
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fewWatches
	}
	return limit / 2
}

// fewWatches is half of what kernels before 5.11 let a user have.
const fewWatches = 4096

// close has them tell nothing any more, also a walk that is under way.
func (n *notices) close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = unix.Close(n.fd)
	_ = unix.Close(n.mounts)
	n.fd, n.mounts = -1, -1
	n.opens.close()
}

// take marks the directories in which something happened since the last time, and reports whether that is all that did.
func (n *notices) take() (all bool) {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	mounted := n.mounted()
	all = drain(n.fd, unix.SizeofInotifyEvent, func(header []byte) int {
		return unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(header[12:]))
	}, n.heard)
	return all && !mounted
}

// drain gives each notice that waits at a descriptor, and reports whether they are all that there was. A notice begins with a
// header of a fixed length, which says how long it is.
func drain(fd, header int, length func(header []byte) int, heard func(notice []byte) (all bool)) (all bool) {
	all = true
	buf := make([]byte, 64<<10)
	for {
		size, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return all
		case err != nil || size <= 0:
			return false
		}
		for rest := buf[:size]; len(rest) > 0; {
			if len(rest) < header {
				return false
			}
			n := length(rest)
			if n < header || n > len(rest) {
				return false
			}
			all = heard(rest[:n]) && all
			rest = rest[n:]
		}
	}
}

// heard marks the directories that a notice is about, and reports whether there is nothing that it does not tell.
func (n *notices) heard(notice []byte) (all bool) {
	watch, mask := int32(binary.NativeEndian.Uint32(notice)), binary.NativeEndian.Uint32(notice[4:])
	ended := mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0
	for _, dir := range n.nodes[watch] {
		dir.stirred = true
		if ended {
			dir.watch = 0
		}
	}
	if ended {
		delete(n.nodes, watch)
	}
	return mask&unix.IN_Q_OVERFLOW == 0
}

// opened marks the directories in which a file was opened since the last time, and reports whether those are all.
func (n *notices) opened() (all bool) {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opens.take()
}

// mounted reports whether something was mounted, or no longer is, since the last time (proc_pid_mountinfo(5)).
func (n *notices) mounted() bool {
	fds := []unix.PollFd{{Fd: int32(n.mounts), Events: unix.POLLPRI}}
	for {
		_, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return err != nil || fds[0].Revents != 0
		}
	}
}

// watch has the kernel tell of a directory from now on, if it can.
func (n *notices) watch(h *handle, dir *node) {
	if n == nil || dir.watch != 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.nodes) >= n.most || !n.isLocal(h) {
		return
	}
	watch, err := unix.InotifyAddWatch(n.fd, fmt.Sprintf("/proc/self/fd/%d", h.Fd()), noticed)
	if err != nil {
		if err == unix.ENOSPC {
			n.giveBack()
		}
		return
	}
	dir.watch = int32(watch)
	n.nodes[dir.watch] = append(n.nodes[dir.watch], dir)
	n.opens.watch(h, dir)
}

// giveBack leaves a half of the watches to others: there are none left for anybody.
func (n *notices) giveBack() {
	n.most = len(n.nodes) / 2
	for watch := range n.nodes {
		if len(n.nodes) <= n.most {
			return
		}
		n.end(watch)
	}
}

// end gives one watch back.
func (n *notices) end(watch int32) {
	for _, dir := range n.nodes[watch] {
		dir.watch = 0
	}
	delete(n.nodes, watch)
	_, _ = unix.InotifyRmWatch(n.fd, uint32(watch))
}

// forget is called for a directory that is kept no more.
func (n *notices) forget(dir *node) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opens.forget(dir)
	if dir.watch == 0 {
		return
	}
	left := slices.DeleteFunc(n.nodes[dir.watch], func(other *node) bool { return other == dir })
	if n.nodes[dir.watch] = left; len(left) == 0 {
		n.end(dir.watch)
	}
	dir.watch = 0
}

// isLocal: on all other file systems another machine, or another program, can change what this kernel hears nothing of.
func (n *notices) isLocal(h *handle) bool {
	var info unix.Stat_t
	if unix.Fstat(h.Fd(), &info) != nil {
		return false
	}
	local, known := n.local[uint64(info.Dev)]
	if !known {
		var fs unix.Statfs_t
		if unix.Fstatfs(h.Fd(), &fs) == nil {
			local = fs.Type == unix.OVERLAYFS_SUPER_MAGIC || slices.Contains(ownFiles[:], uint32(fs.Type))
		}
		n.local[uint64(info.Dev)] = local
	}
	return local
}

// ownFiles are the numbers of the file systems of one machine that have files of their own, and not those of others; the
// last, of ZFS, is in its sys/zfs_vfsops.h.
var ownFiles = [...]uint32{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.BCACHEFS_SUPER_MAGIC, 0x2fc12fc1,
}
