package helper

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

const (
	pollPriority = 0x2 // POLLPRI
	// A path that is absent is looked for again after soon at first, and after
	// late in the end: the mounts change before the new file has its name.
	soon = 20_000     // nanoseconds
	late = 50_000_000 // nanoseconds
)

// keepMasks puts masks back for as long as the command runs. The kernel takes a mount away when somebody outside of the
// namespace replaces or removes what it lies on, which an editor or git does to save a file. Until a mask is back, for
// a moment, the new file can be written.
//
// It has a thread of its own, with the rights of before the surrender, and returns when that waits.
func keepMasks(plan *Plan) {
	var masks, others []Mask // those that hide come first
	for _, mask := range plan.Masks {
		switch mask.Kind {
		case Writable: // what replaces it is read-only
		case Hidden, Emptied:
			masks = append(masks, mask)
		case Content:
			mask.Kind = Frozen // the new content is the operator's
			fallthrough
		default:
			others = append(others, mask)
		}
	}
	masks = append(masks, others...)
	if len(masks) == 0 {
		return
	}
	table, err := syscall.Open("/proc/self/mountinfo", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	check(err, "watch the mounts")
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(ready)
		for pause := int64(0); ; {
			if awaitMounts(table, pause) {
				pause = 0
			}
			next := int64(0)
			for _, mask := range masks {
				if !restored(mask) {
					next = min(max(2*pause, soon), late)
				}
			}
			pause = next
		}
	}()
	<-ready
}

// awaitMounts returns when the mounts have changed, which it reports, or after a while in nanoseconds; 0 is any.
func awaitMounts(table int, pause int64) (changed bool) {
	watched := struct {
		fd              int32
		wanted, happens int16
	}{fd: int32(table), wanted: pollPriority}
	var timeout *syscall.Timespec
	if pause > 0 {
		timeout = &syscall.Timespec{Nsec: pause}
	}
	ready, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&watched)), 1, uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
	return ready == 1
}

// restored puts a mask on what is there now, unless it is there, the root of a mount; false if nothing is. Where it cannot,
// the command ends with the helper.
func restored(mask Mask) bool {
	info, errno := kernel.Statx(kernel.AtCwd, mask.Path, kernel.AtNoFollow, 0)
	if errno == 0 && info.Attributes&kernel.MountRoot != 0 {
		return true
	}
	step, errno := lay(mask, nil)
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP: // a link leads nowhere that could be written
		return false
	}
	must(errno, step, mask.Path)
	return true
}
