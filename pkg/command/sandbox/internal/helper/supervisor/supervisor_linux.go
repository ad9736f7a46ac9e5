package supervisor

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/kernel"
)

// maxListening bounds what is noted in the life of a command.
const maxListening = 1 << 16

// Supervisor answers for all processes under one filter.
type Supervisor struct {
	listener int
	free     atomic.Int32 // goroutines that can hear a question
	tell     func() bool

	mu        sync.Mutex
	linked    bool
	listening map[uint64]bool // by SO_COOKIE
	diag      int             // where the kernel is asked who listens; 0 is not open
	answers   []byte          // room for what it says
}

// New is the supervisor of a filter, by the descriptor that it came with. Linked is called before a file gets one more name for the
// first time; false is that nobody could be told.
func New(listener int, linked func() bool) *Supervisor {
	return &Supervisor{listener: listener, tell: linked, listening: map[uint64]bool{}}
}

// Serve answers questions for as long as there are any. Before something may take long, and nobody else is free, it
// calls another, which is to have Serve called on another thread.
func (s *Supervisor) Serve(another func()) {
	for {
		s.free.Add(1)
		q, errno := kernel.Receive(s.listener)
		s.free.Add(-1)
		switch errno {
		case 0:
			s.answer(&q, another)
		case syscall.EINTR, syscall.ENOENT: // who asked is dead
		default:
			return // and nobody has an answer any more
		}
	}
}

func (s *Supervisor) answer(q *kernel.Question, another func()) {
	switch q.Number {
	case syscall.SYS_LISTEN:
		if errno := s.note(q); errno != 0 {
			q.Fail(s.listener, errno)
		} else {
			q.Continue(s.listener)
		}
	case syscall.SYS_CONNECT:
		q.Fail(s.listener, s.connect(q, another))
	case kernel.SysLink, syscall.SYS_LINKAT:
		if s.told() {
			q.Continue(s.listener)
		} else {
			q.Fail(s.listener, syscall.EPERM)
		}
	default:
		q.Fail(s.listener, syscall.ENOSYS)
	}
}

// told reports whether it was said that files get more names.
func (s *Supervisor) told() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linked = s.linked || s.tell()
	return s.linked
}

// note remembers the caller's socket, if it is a Unix one.
func (s *Supervisor) note(q *kernel.Question) syscall.Errno {
	fd, errno := s.take(q)
	if errno != 0 {
		return 0 // the kernel says what is wrong with it; if it does listen, nobody here finds it
	}
	defer syscall.Close(fd)
	if domain, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, soDomain); err != nil || domain != syscall.AF_UNIX {
		return 0
	}
	var cookie uint64
	length := uint32(unsafe.Sizeof(cookie))
	_, _, errno = syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.SOL_SOCKET, soCookie,
		uintptr(unsafe.Pointer(&cookie)), uintptr(unsafe.Pointer(&length)), 0)
	if errno != 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listening) >= maxListening {
		return syscall.ENOBUFS
	}
	s.listening[cookie] = true
	return 0
}

// connect does what the caller wants, or says why not.
func (s *Supervisor) connect(q *kernel.Question, another func()) syscall.Errno {
	fd, errno := s.take(q)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(fd)
	domain, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, soDomain)
	if err != nil {
		return err.(syscall.Errno)
	}
	address, errno := copyAddress(q)
	if errno != 0 {
		return errno
	}
	if !q.Waits(s.listener) {
		return syscall.ESRCH // and what was taken is of another
	}
	if domain == syscall.AF_UNIX && isUnix(address) {
		held, allowed, errno := s.judge(q, address)
		if held >= 0 {
			defer syscall.Close(held)
		}
		if errno != 0 {
			return errno
		}
		address = allowed
	}
	if s.free.Load() == 0 && !isNonblocking(fd) {
		another()
	}
	_, _, errno = syscall.Syscall(syscall.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

func isNonblocking(fd int) bool {
	flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	return errno == 0 && flags&syscall.O_NONBLOCK != 0
}

// take is the caller's socket.
func (s *Supervisor) take(q *kernel.Question) (int, syscall.Errno) {
	process, errno := openProcess(q.PID)
	if errno != 0 {
		return -1, errno
	}
	defer syscall.Close(process)
	fd, _, errno := syscall.RawSyscall(sysPidfdGetfd, uintptr(process), uintptr(uint32(q.Arguments[0])), 0)
	return int(fd), errno
}

// openProcess is a descriptor of the process that a thread belongs to.
func openProcess(thread uint32) (int, syscall.Errno) {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(thread), pidfdThread, 0)
	if errno != syscall.EINVAL {
		return int(fd), errno
	}
	group, errno := groupOf(thread) // before Linux 6.9
	if errno != 0 {
		return -1, errno
	}
	fd, _, errno = syscall.RawSyscall(sysPidfdOpen, uintptr(group), 0, 0)
	return int(fd), errno
}

// copyAddress reads the address from the caller's memory, once.
func copyAddress(q *kernel.Question) ([]byte, syscall.Errno) {
	const longest = 128 // struct sockaddr_storage
	length := uint32(q.Arguments[2])
	if length > longest {
		return nil, syscall.EINVAL
	}
	if length == 0 {
		return nil, 0
	}
	address := make([]byte, length)
	type vector struct{ base, length uintptr }
	here := vector{uintptr(unsafe.Pointer(&address[0])), uintptr(length)}
	there := vector{uintptr(q.Arguments[1]), uintptr(length)}
	n, _, errno := syscall.RawSyscall6(kernel.SysVMRead, uintptr(q.PID), uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
	if errno == 0 && n != uintptr(length) {
		errno = syscall.EFAULT
	}
	return address, errno
}

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
