package sandbox

import "golang.org/x/sys/unix"

// denySockets keeps the calling thread, and what it starts, from making a socket of any family: without a network
// namespace nothing else keeps UDP and Unix sockets in. Connected pairs stay, because shells and tools talk to their
// own children by them.
func denySockets() error {
	p := native()
	p.deny(answer(unix.ENOSYS), ring()...) // it makes sockets too
	p.deny(answer(unix.EPERM), unix.SYS_SOCKET)
	p.only(unix.SYS_SOCKETPAIR, connected())
	filter, err := p.assemble()
	if err == nil {
		_, err = putFilter(filter, 0)
	}
	return err
}

// trySockets does it to a thread that is thrown away.
func trySockets() bool {
	return onThread(func() bool {
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = denySockets()
		}
		fd, made := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if made == nil {
			unix.Close(fd)
		}
		return err == nil && made == unix.EPERM
	})
}
