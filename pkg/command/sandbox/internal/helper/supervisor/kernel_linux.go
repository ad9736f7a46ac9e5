package supervisor

import (
	"syscall"
	"unsafe"
)

// Numbers of system calls that are the same on all architectures.
const (
	sysPidfdOpen  = 434
	sysOpenat2    = 437
	sysPidfdGetfd = 438
)

// Values of linux/seccomp.h, linux/pidfd.h, asm/socket.h and linux/openat2.h.
const (
	notifyReceive  = 0xc0502100
	notifySend     = 0xc0182101
	notifyValid    = 0x40082102
	notifyContinue = 1
	pidfdThread    = 0x80 // PIDFD_THREAD, which is O_EXCL
	soDomain       = 39
	soCookie       = 57
	oPath          = 0x200000
	resolveNoMagic = 0x2 // RESOLVE_NO_MAGICLINKS
)

func ioctl(fd int, request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(argument))
	return errno
}

// open follows links, but not those of /proc: they would be the supervisor's.
func open(dir int, path []byte) (int, syscall.Errno) {
	name := append(append(make([]byte, 0, len(path)+1), path...), 0)
	how := struct{ flags, mode, resolve uint64 }{oPath | syscall.O_CLOEXEC, 0, resolveNoMagic}
	fd, _, errno := syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), 0
}

// read is a file of /proc.
func read(path string) ([]byte, syscall.Errno) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err.(syscall.Errno)
	}
	defer syscall.Close(fd)
	content := make([]byte, 0, 4096)
	for {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := syscall.Read(fd, content[len(content):cap(content)])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, err.(syscall.Errno)
		case n == 0:
			return content, 0
		default:
			content = content[:len(content)+n]
		}
	}
}

// groupOf is the process of a thread: the Tgid in /proc/TID/status.
func groupOf(thread uint32) (uint64, syscall.Errno) {
	status, errno := read("/proc/" + decimal(uint64(thread)) + "/status")
	if errno != 0 {
		return 0, errno
	}
	const field = "\nTgid:\t"
	for i := 0; i+len(field) < len(status); i++ {
		if string(status[i:i+len(field)]) == field {
			number, _ := parse(status[i+len(field):])
			return number, 0
		}
	}
	return 0, syscall.ESRCH
}

// parse reads the decimal number that a text begins with.
func parse(text []byte) (number uint64, rest []byte) {
	for len(text) > 0 && '0' <= text[0] && text[0] <= '9' {
		number, text = number*10+uint64(text[0]-'0'), text[1:]
	}
	return number, text
}

func decimal(number uint64) string {
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
