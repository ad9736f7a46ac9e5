//go:build !linux

package hookdoor

import "net"

// ownPeer leaves it to the directory, which is closed to others.
func ownPeer(net.Conn) bool { return true }
