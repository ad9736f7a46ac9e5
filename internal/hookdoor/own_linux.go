package hookdoor

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel which process is at the other end, and whether it is of this user.
func peerOf(c net.Conn) (pid int, own bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if own = err == nil && int(peer.Uid) == os.Getuid(); own {
			pid = int(peer.Pid)
		}
	})
	return pid, err == nil && own
}
