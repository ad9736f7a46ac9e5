package supervisor

import (
	"syscall"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// Numbers of system calls that are the same on all architectures.
const (
	sysPidfdOpen  = 434
	sysPidfdGetfd = 438
)

// Values of linux/pidfd.h and asm/socket.h.
const (
	pidfdThread = 0x80 // PIDFD_THREAD, which is O_EXCL
	soDomain    = 39
	soCookie    = 57
)

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
	status, errno := read("/proc/" + kernel.Decimal(uint64(thread)) + "/status")
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
