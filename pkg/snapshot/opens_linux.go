//go:build linux && !portable

package snapshot

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"golang.org/x/sys/unix"
)

// opens are what the kernel tells of the files that are opened in the directories of the kept state (fanotify(7)). Who writes
// to a file has opened it, and that is told at once; that he has closed it, which inotify tells, and what a mapping needs to be
// told of at all, can come later than the end of all processes of a command: of a descriptor on its way through a socket, or of
// a ring (io_uring), the kernel disposes when it likes. Here too a user has a bounded number, which editors do not use.
// A nil one tells nothing.
type opens struct {
	fd   int
	seed maphash.Seed
	// nodes are the directories by the hash of what the kernel calls them.
	nodes map[uint64][]*node
}

func openOpens() *opens {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_DIR_FID|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		return nil
	}
	return &opens{fd: fd, seed: maphash.MakeSeed(), nodes: map[uint64][]*node{}}
}

func (o *opens) close() {
	if o != nil {
		_ = unix.Close(o.fd)
		o.fd = -1
	}
}

// watch has the kernel tell of a directory, if it can. That directories are opened it does not tell.
func (o *opens) watch(h *handle, dir *node) {
	if o == nil {
		return
	}
	o.forget(dir) // what was told of can be gone, and this one have its number
	called, ok := handleOf(h.Fd())
	if !ok || unix.FanotifyMark(o.fd, unix.FAN_MARK_ADD, unix.FAN_OPEN|unix.FAN_EVENT_ON_CHILD, h.Fd(), "") != nil {
		return
	}
	dir.opened = o.number(called)
	o.nodes[dir.opened] = append(o.nodes[dir.opened], dir)
}

const atHandleFID = unix.AT_REMOVEDIR // what fanotify says, whether it can be opened or not

// handleOf is what the kernel calls a directory, as it stands in a notice: what of a notice is compared.
func handleOf(fd int) (handle []byte, ok bool) {
	called, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH|atHandleFID)
	if err == unix.EINVAL { // before 6.5
		called, _, err = unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return nil, false
	}
	return append(binary.NativeEndian.AppendUint32(nil, uint32(called.Type())), called.Bytes()...), true
}

// number is never 0.
func (o *opens) number(handle []byte) uint64 { return maphash.Bytes(o.seed, handle) | 1 }

func (o *opens) forget(dir *node) {
	if o == nil || dir.opened == 0 {
		return
	}
	left := slices.DeleteFunc(o.nodes[dir.opened], func(other *node) bool { return other == dir })
	if o.nodes[dir.opened] = left; len(left) == 0 {
		delete(o.nodes, dir.opened)
	}
	dir.opened = 0
}

// Where things stand in a notice of fanotify(7).
const (
	eventMask    = 8
	eventInfo    = 24    // the header's length
	infoHandle   = 4 + 8 // behind the record's header, of which the kind differs, and the file system's number
	infoType     = infoHandle + 4
	infoContents = infoType + 4
)

// take marks the directories in which a file was opened since the last time, and reports whether those are all.
func (o *opens) take() (all bool) {
	if o == nil {
		return false
	}
	return drain(o.fd, eventInfo, func(header []byte) int { return int(binary.NativeEndian.Uint32(header)) }, o.heard)
}

// heard marks the directory that a notice is about, and reports whether it is known.
func (o *opens) heard(event []byte) bool {
	info := event[eventInfo:]
	if binary.NativeEndian.Uint64(event[eventMask:])&unix.FAN_Q_OVERFLOW != 0 || len(info) < infoContents {
		return false
	}
	length := int(binary.NativeEndian.Uint32(info[infoHandle:]))
	if length < 0 || length > len(info)-infoContents {
		return false
	}
	dirs := o.nodes[o.number(info[infoType:][:4+length])]
	for _, dir := range dirs {
		dir.stirred = true
	}
	return len(dirs) > 0
}
