package mcpbridge

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
)

// Admitted reads a message as a transport does and returns what its method
// would get of it, what the tool handler would get, and whether it was refused.
func Admitted(raw []byte) (params, arguments json.RawMessage, method string, ok bool) {
	s := &Server{tools: map[string]Tool{"echo": {}}}
	p := newPeer()
	p.initialize(Client{}, false, "2025-11-25")
	m, failure := parseMessage(raw)
	if failure != nil || m.kind != requestMessage {
		return nil, nil, "", false
	}
	declared, failure := readMeta(m.params)
	if failure != nil {
		return nil, nil, "", false
	}
	r, failure := s.admit(m, declared, p, "")
	if failure != nil {
		return nil, nil, "", false
	}
	if r.call != nil {
		arguments = r.call.call.Arguments
	}
	return r.params, arguments, m.method, true
}

// ConnTable is the table of connections of a server that may have max.
type ConnTable struct{ table *connTable }

func NewConnTable(max int) ConnTable { return ConnTable{newConnTable(max)} }

// Open has a connection come in.
func (t ConnTable) Open(conn net.Conn) { t.table.watch(conn, http.StateNew) }

// Show has a request on it show a token, and end.
func (t ConnTable) Show(conn net.Conn) {
	t.table.watch(conn, http.StateActive)
	t.table.know(withConn(context.Background(), conn))
	t.table.watch(conn, http.StateIdle)
}
