package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// denySockets keeps the calling thread, and what it starts, from making a
// socket of any family: without a network namespace nothing else keeps UDP and
// Unix sockets in. Connected pairs stay, because shells and tools talk to their
// own children by them.
func denySockets() error {
	filter, err := socketFilter()
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter) / unix.SizeofSockFilter), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// trySockets does it to a thread that is thrown away.
func trySockets() bool {
	tried := make(chan bool)
	Go(func() {
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = denySockets()
		}
		fd, made := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if made == nil {
			unix.Close(fd)
		}
		tried <- err == nil && made == unix.EPERM
	})
	return <-tried
}

func socketFilter() ([]byte, error) {
	if auditArchitecture == 0 {
		return nil, errors.New("there is no filter of system calls for this architecture")
	}
	p := native()
	for _, number := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
		p.deny(number, answer(unix.ENOSYS)) // it makes sockets too
	}
	p.deny(unix.SYS_SOCKET, answer(unix.EPERM))
	p.only(unix.SYS_SOCKETPAIR, connected())
	p = append(p, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	return p.assemble()
}
