package supervisor

import (
	"syscall"
	"unsafe"
)

// maxListening bounds what is noted in the life of a command.
const maxListening = 1 << 16

// Supervisor answers for all processes under one filter. It is for one
// goroutine at a time.
type Supervisor struct {
	listener  int
	listening map[uint64]bool // by SO_COOKIE
	diag      int             // where the kernel is asked who listens; 0 is not yet open
}

// New is the supervisor of a filter, by the descriptor that it came with.
func New(listener int) *Supervisor {
	return &Supervisor{listener: listener, listening: map[uint64]bool{}}
}

// notification is struct seccomp_notif, reply is struct seccomp_notif_resp
// (linux/seccomp.h).
type (
	notification struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		_          uint64
		arguments  [6]uint64
	}
	reply struct {
		id    uint64
		_     int64
		error int32
		flags uint32
	}
)

// Next hears one question and answers it, and reports whether the caller is to go
// on. It calls relieve before what may take long: whatever that starts has the
// supervisor from then on, and Next returns false.
func (s *Supervisor) Next(relieve func()) bool {
	var q notification
	switch ioctl(s.listener, notifyReceive, unsafe.Pointer(&q)) {
	case 0:
	case syscall.EINTR, syscall.ENOENT:
		return true // who asked is dead
	default:
		return false // and nobody has an answer any more
	}
	relieved := false
	r := reply{id: q.id}
	switch q.number {
	case syscall.SYS_LISTEN:
		if errno := s.note(&q); errno != 0 {
			r.error = -int32(errno)
		} else {
			r.flags = notifyContinue
		}
	case syscall.SYS_CONNECT:
		r.error = -int32(s.connect(&q, func() { relieved = true; relieve() }))
	default:
		r.error = -int32(syscall.ENOSYS)
	}
	ioctl(s.listener, notifySend, unsafe.Pointer(&r)) // who is dead needs no answer
	return !relieved
}

// note remembers the caller's socket, if it is a Unix one.
func (s *Supervisor) note(q *notification) syscall.Errno {
	fd, errno := s.take(q)
	if errno != 0 {
		return 0 // the kernel says what is wrong with it; if it does listen, nobody here finds it
	}
	defer syscall.Close(fd)
	if domain, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, soDomain); err != nil || domain != syscall.AF_UNIX {
		return 0
	}
	if len(s.listening) >= maxListening {
		return syscall.ENOBUFS
	}
	var cookie uint64
	length := uint32(unsafe.Sizeof(cookie))
	_, _, errno = syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.SOL_SOCKET, soCookie,
		uintptr(unsafe.Pointer(&cookie)), uintptr(unsafe.Pointer(&length)), 0)
	if errno == 0 {
		s.listening[cookie] = true
	}
	return 0
}

// connect does what the caller wants, or says why not.
func (s *Supervisor) connect(q *notification, relieve func()) syscall.Errno {
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
	if !s.waits(q) {
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
	if flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0); errno != 0 || flags&syscall.O_NONBLOCK == 0 {
		relieve()
	}
	if len(address) == 0 {
		address = append(address, 0)[:0] // for its place
	}
	_, _, errno = syscall.Syscall(syscall.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

// waits reports whether the caller still waits for its answer: if it does, its ids
// are those of the question.
func (s *Supervisor) waits(q *notification) bool {
	return ioctl(s.listener, notifyValid, unsafe.Pointer(&q.id)) == 0
}

// take is the caller's socket.
func (s *Supervisor) take(q *notification) (int, syscall.Errno) {
	process, errno := openProcess(q.pid)
	if errno != 0 {
		return -1, errno
	}
	defer syscall.Close(process)
	fd, _, errno := syscall.RawSyscall(sysPidfdGetfd, uintptr(process), uintptr(uint32(q.arguments[0])), 0)
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
func copyAddress(q *notification) ([]byte, syscall.Errno) {
	const longest = 128 // struct sockaddr_storage
	length := uint32(q.arguments[2])
	if length > longest {
		return nil, syscall.EINVAL
	}
	if length == 0 {
		return nil, 0
	}
	address := make([]byte, length)
	type vector struct{ base, length uintptr }
	here := vector{uintptr(unsafe.Pointer(&address[0])), uintptr(length)}
	there := vector{uintptr(q.arguments[1]), uintptr(length)}
	n, _, errno := syscall.RawSyscall6(sysVMRead, uintptr(q.pid), uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
	if errno == 0 && n != uintptr(length) {
		errno = syscall.EFAULT
	}
	return address, errno
}
