package session

import (
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

// Caller is who makes a call, as the transport knows it.
type Caller struct {
	// Connection identifies a protocol session of the initialize era, or the stdio process of one. It
	// is "" for a request of revision 2026-07-28, which has no state without a handle.
	Connection string
	// Principal is who the transport authenticated; "" where it authenticates nobody.
	Principal string
	// Role is what that may do; "" where it authenticates nobody.
	Role auth.Role
	// ClientName and ClientVersion are the client's own word.
	ClientName, ClientVersion string
	// ModelID is the model that the client runs, by its own word; "" where it is not known.
	ModelID string
	// ModelSource says where that was told.
	ModelSource ModelSource
	// Lasting: the connection outlives this process, as the session of a client does that makes its calls through hooks. What it
	// works under is kept beside the sessions. It is for callers that no client can pretend to be.
	Lasting bool

	pinned *[]selected // what a call without a handle can mean, as of its place in the order; set by Turn.Caller
}

// connectionID tells protocol sessions of different principals apart, also under one connection id.
type connectionID struct{ connection, principal string }

func (c Caller) connectionID() connectionID { return connectionID{c.Connection, c.Principal} }
func (c Caller) connected() bool            { return c.Connection != "" }

func (id connectionID) orderName() string { return id.connection + "\x00" + id.principal }

// unownedKey puts calls in order that work on what the connection saw before it selected anything.
func (id connectionID) unownedKey() string { return "unowned:" + id.orderName() }

// ModelSource says where a client told its model.
type ModelSource string

// The sources of a model, from the surest to the least sure: what a call says of itself, the agent's own argument when it
// selected, what the client says of itself when it connects, and the environment that it gave to the server.
const (
	ModelOfMeta        ModelSource = "_meta"
	ModelOfArgument    ModelSource = "argument"
	ModelOfClient      ModelSource = "client_info"
	ModelOfEnvironment ModelSource = "environment"
)

// surer: what a source says stands against what the other said before.
func (s ModelSource) surer(other ModelSource) bool {
	return s == ModelOfMeta || s == ModelOfArgument || other == "" || other == s || other == ModelOfEnvironment
}

// connection is what was selected, and seen before that, on one connection of the initialize era.
type connection struct {
	selections []selected // in order of selection; replaced, never changed in place
	unowned    *Views     // seen while nothing was selected: belongs to the next selection
	used       int64
	joined     string // the lasting connection that works under what is selected here; "" for none
}

// selected is one selection made on a connection. The handle is kept in memory only, for the agent
// that selects the same intent again, or that has to be told what to pass.
type selected struct {
	key    digest
	handle string
}

// selections are those that a call without a handle can mean.
func (s *Store) selections(c Caller) []selected {
	if c.pinned != nil {
		return *c.pinned
	}
	switch {
	case !c.connected():
		return nil
	case c.Lasting:
		return s.linked(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := s.connections[c.connectionID()]
	if conn == nil {
		return nil
	}
	conn.used = s.Clock().UnixNano()
	return conn.selections
}

// Untracked is what a connection has seen while nothing is selected on it, for calls that the operator
// lets through without an intent. It is nil, which has seen nothing, for a request without connection.
func (s *Store) Untracked(c Caller) *Views {
	if !c.connected() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := s.connection(c.connectionID())
	if conn.unowned == nil {
		conn.unowned = newViews(maxUnownedFiles, s.Clock, nil)
	}
	return conn.unowned
}

// attach makes a selection one of the connection's, the latest, and gives it what the connection saw while it had none.
func (s *Store) attach(c Caller, sess *Session, handle string) {
	if !c.connected() {
		return
	}
	s.mu.Lock()
	conn := s.connection(c.connectionID())
	others := slices.DeleteFunc(slices.Clone(conn.selections), func(sel selected) bool { return sel.key == sess.key })
	if excess := len(others) - (maxSelections - 1); excess > 0 {
		others = others[excess:]
	}
	conn.selections = append(others, selected{sess.key, handle})
	unowned := conn.unowned
	conn.unowned = nil // a read that is still under way must not count for the selection after this one
	joined := conn.joined
	s.mu.Unlock()
	if c.Lasting {
		joined = c.connectionID().mark()
	}
	if joined != "" {
		s.link(joined, sess, !c.Lasting)
	}
	if unowned != nil && unowned.len() > 0 {
		sess.merge(unowned.take())
		s.background.dirty(sess)
	}
}

// connection returns the state of a connection, and makes it; it needs the store's lock. A principal
// with too many loses the longest unused.
func (s *Store) connection(id connectionID) *connection {
	conn := s.connections[id]
	if conn == nil {
		makeRoom(s.connections, maxConnections, func(other connectionID, conn *connection) (int64, bool) {
			return conn.used, other.principal == id.principal
		})
		conn = &connection{}
		s.connections[id] = conn
	}
	conn.used = s.Clock().UnixNano()
	return conn
}

// Disconnect forgets what belongs to a connection. Its handles live on.
func (s *Store) Disconnect(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.connections, func(id connectionID, _ *connection) bool { return id.connection == name })
}
