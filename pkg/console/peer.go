package console

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// fromCommand is the key of what tells whether a connection is a command's.
type fromCommand struct{}

// withPeer has the requests of a connection share what is found out about its other end: it takes a look at all processes.
func (c *Console) withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, fromCommand{}, sync.OnceValue(func() bool { return c.isCommands(conn) }))
}

// byPerson refuses requests of processes that a governed command has started, as far as the system tells whose a connection
// is. A command that has come by both secrets reads nothing either.
func (c *Console) byPerson(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if isCommands, known := r.Context().Value(fromCommand{}).(func() bool); !known || isCommands() {
			http.Error(w, "forbidden: this is for the operator, and the program that asks was started by a command of a governed server, "+
				"or hides that; open the link in a browser that you have started yourself", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// isCommands tells whether the other end of a connection is a process that a governed command has started, or hides that.
func (c *Console) isCommands(conn net.Conn) bool {
	if c.Governed == nil {
		return false
	}
	pids, err := processesOf(addressOf(conn.RemoteAddr()), addressOf(conn.LocalAddr()))
	if err == nil && !slices.ContainsFunc(pids, c.Governed) {
		return false
	}
	c.Logger.Warn().Err(err).Stringer("from", conn.RemoteAddr()).Msg("a program was refused that a governed command has started, or that hides itself")
	return true
}

// addressOf is the zero address, which is nobody's, where it is not one of TCP.
func addressOf(a net.Addr) netip.AddrPort {
	if tcp, is := a.(*net.TCPAddr); is {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}
