package kernel

import (
	"syscall"
	"unsafe"
)

// Values of linux/openat2.h, linux/stat.h and linux/fcntl.h.
const (
	OPath      = 0x200000
	NoSymlinks = 0x4 | 0x2 // RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS
	NoMagic    = 0x2       // RESOLVE_NO_MAGICLINKS
	AtNoFollow = 0x100
	AtEmpty    = 0x1000
	AtCwd      = -100
	sysOpenat2 = 437
)

// Openat2 opens a path, as seen from a directory, for its descriptor only (O_PATH).
func Openat2(dir int, path string, flags, resolve uint64) (int, syscall.Errno) {
	how := struct{ flags, mode, resolve uint64 }{flags | OPath | syscall.O_CLOEXEC, 0, resolve}
	return At(sysOpenat2, dir, path, uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0)
}

// At is a system call with a path that is seen from a directory.
func At(number uintptr, dir int, path string, c, d, e uintptr) (int, syscall.Errno) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, syscall.EINVAL
	}
	result, _, errno := syscall.Syscall6(number, uintptr(dir), uintptr(unsafe.Pointer(name)), c, d, e, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(result), 0
}

// Status is struct statx, as far as it is used.
type Status struct {
	Mask       uint32
	_          uint32
	Attributes uint64
	_          [16]uint64
	Mount      uint64
	_          [13]uint64
}

// What Statx is asked for, and says.
const (
	MountID   = 0x1000 // STATX_MNT_ID
	MountRoot = 0x2000 // STATX_ATTR_MOUNT_ROOT
)

// Statx looks at a path.
func Statx(dir int, path string, flags, mask uintptr) (info Status, errno syscall.Errno) {
	_, errno = At(SysStatx, dir, path, flags, mask, uintptr(unsafe.Pointer(&info)))
	return info, errno
}

// Values of linux/capability.h.
const (
	Ptrace     = 19 // CAP_SYS_PTRACE
	capVersion = 0x20080522
)

// SetRights leaves this thread the capabilities of a mask, of the first 32, and no other.
func SetRights(mask uint32) syscall.Errno {
	header := struct {
		version uint32
		pid     int32
	}{version: capVersion}
	kept := [2]struct{ effective, permitted, inheritable uint32 }{{effective: mask, permitted: mask}}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&kept)), 0)
	return errno
}

// Question is struct seccomp_notif, reply is struct seccomp_notif_resp (linux/seccomp.h).
type (
	Question struct {
		ID         uint64
		PID, flags uint32
		Number     int32
		arch       uint32
		_          uint64
		Arguments  [6]uint64
	}
	reply struct {
		id    uint64
		_     int64
		error int32
		flags uint32
	}
)

// Requests of linux/seccomp.h.
const (
	notifyReceive  = 0xc0502100
	notifySend     = 0xc0182101
	notifyValid    = 0x40082102
	notifyContinue = 1
)

// Receive hears what a filter asks its listener; it waits for that.
func Receive(listener int) (q Question, errno syscall.Errno) {
	errno = ioctl(listener, notifyReceive, unsafe.Pointer(&q))
	return q, errno
}

// Waits reports whether who asked still waits for its answer: if it does, its ids are those of the question.
func (q *Question) Waits(listener int) bool {
	return ioctl(listener, notifyValid, unsafe.Pointer(&q.ID)) == 0
}

// Fail answers that the call failed; with 0 it succeeded. Who is dead needs no answer.
func (q *Question) Fail(listener int, errno syscall.Errno) {
	ioctl(listener, notifySend, unsafe.Pointer(&reply{id: q.ID, error: -int32(errno)}))
}

// Continue has the kernel go on with the call.
func (q *Question) Continue(listener int) {
	ioctl(listener, notifySend, unsafe.Pointer(&reply{id: q.ID, flags: notifyContinue}))
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(argument))
	return errno
}

// Decimal writes a number.
func Decimal(number uint64) string {
	var digits [20]byte
	at := len(digits)
	for {
		at--
		digits[at] = byte('0' + number%10)
		if number /= 10; number == 0 {
			return string(digits[at:])
		}
	}
}
