//go:build !linux

package hookdoor

import "net"

// peerOf leaves it to the directory, which is closed to others.
func peerOf(net.Conn) (pid int, own bool) { return 0, true }
