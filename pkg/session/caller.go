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
	// ModelID is the model that the client runs, by its own word; "" where it is not known.
	ModelID string
	// ModelSource says where that was told.
	ModelSource ModelSource

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
