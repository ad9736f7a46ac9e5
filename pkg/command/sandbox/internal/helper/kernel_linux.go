package helper

import (
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// Numbers of system calls that are the same on all architectures.
const (
	sysOpenTree        = 428
	sysMoveMount       = 429
	sysCloseRange      = 436
	sysMountSetattr    = 442
	sysLandlockCreate  = 444
	sysLandlockAddRule = 445
	sysLandlockSelf    = 446
)

// Values of linux/mount.h, linux/prctl.h, linux/securebits.h, linux/seccomp.h and linux/landlock.h.
const (
	atRecursive      = 0x8000
	openTreeClone    = 1
	moveFromEmpty    = 0x4
	moveToEmpty      = 0x40
	attrRdonly       = 0x1
	attrNosuid       = 0x2
	attrNodev        = 0x4
	attrNoexec       = 0x8
	msPrivate        = 1 << 18
	prSetDumpable    = 4
	prCapbsetDrop    = 24
	prSetSecurebits  = 28
	prSetNoNewPrivs  = 38
	prCapAmbient     = 47
	ambientClearAll  = 4
	setFilter        = 1 // SECCOMP_SET_MODE_FILTER
	newListener      = 1 << 3
	waitKillable     = 1 << 5
	landlockBeneath  = 1
	securebitsLocked = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80 // no rights by user id 0, none by ambience, for good
)

// open opens a path in which there is no link, for its descriptor only.
func open(path string, flags uint64) (int, syscall.Errno) {
	return kernel.Openat2(kernel.AtCwd, path, flags, kernel.NoSymlinks)
}

var empty = [1]byte{}

// cloneTree is a detached copy of the mount at an open path, with all that is mounted below.
func cloneTree(fd int, recursive bool) (int, syscall.Errno) {
	flags := uintptr(openTreeClone | syscall.O_CLOEXEC | kernel.AtEmpty)
	if recursive {
		flags |= atRecursive
	}
	tree, _, errno := syscall.RawSyscall(sysOpenTree, uintptr(fd), uintptr(unsafe.Pointer(&empty)), flags)
	return int(tree), errno
}

func attach(tree, target int) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(sysMoveMount, uintptr(tree), uintptr(unsafe.Pointer(&empty)),
		uintptr(target), uintptr(unsafe.Pointer(&empty)), moveFromEmpty|moveToEmpty, 0)
	return errno
}

// setAttributes changes a mount and those below it.
func setAttributes(fd int, set, propagation uint64) syscall.Errno {
	attributes := struct{ set, clear, propagation, userns uint64 }{set: set, propagation: propagation}
	_, _, errno := syscall.RawSyscall6(sysMountSetattr, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		kernel.AtEmpty|atRecursive, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	return errno
}

func prctl(option, a, b uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, a, b, 0, 0, 0)
	return errno
}
