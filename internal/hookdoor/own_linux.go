package hookdoor

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ownPeer asks the kernel whose process is at the other end.
func ownPeer(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	own := false
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = err == nil && int(peer.Uid) == os.Getuid()
	})
	return err == nil && own
}
