package session

// Caller is who makes a call, as the transport knows it.
type Caller struct {
	// Connection identifies a protocol session of the initialize era, or the stdio process of one. It
	// is "" for a request of revision 2026-07-28, which has no state without a handle.
	Connection string
	// Principal is who the transport authenticated; "" where it authenticates nobody.
	Principal string
	// ClientName and ClientVersion are the client's own word.
	ClientName, ClientVersion string
	// ModelID is "" where it is not known.
	ModelID string

	pinned *pin // set by Turn.Caller
}

// pin is what a call without a handle can mean, as of its place in the order.
type pin struct{ selections []selected }

// connectionID tells protocol sessions of different principals apart, also under one connection id.
type connectionID struct{ connection, principal string }

func (c Caller) connectionID() connectionID { return connectionID{c.Connection, c.Principal} }
func (c Caller) connected() bool            { return c.Connection != "" }

func (id connectionID) orderName() string { return id.connection + "\x00" + id.principal }

// unownedKey puts calls in order that work on what the connection saw before it selected anything.
func (id connectionID) unownedKey() string { return "unowned:" + id.orderName() }
