package hooks

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Request is a tool call as a transport hands it over.
type Request struct {
	Tool      string
	Arguments Arguments
	Caller    session.Caller
	// Progress reports to the client; nil means that nobody listens.
	Progress func(message string, done, total float64)
	// Fragile says that the call ends when its client loses the response, and nothing can bring the result back.
	Fragile bool
	// Operator says that an operator at the command line makes the call, and not an agent. No transport sets it.
	Operator bool
	// ByClient says that the client makes the call by itself, with a tool of its own, and asks whether it may. No transport sets it.
	ByClient bool
	// Leave gives up the call's place in the order of its session, for the
	// time that an operator takes to answer; nil where there is no order.
	Leave func()
	// Ways are how the operator can be asked.
	Ways Ways

	edited *Edited
}

// Call is one tool call as hooks see it. Hooks read it; only the engine and the gate's own intent step write it.
type Call struct {
	// ID is a UUID, new for every call.
	ID    string
	Tool  string
	Class Class

	Caller session.Caller
	// Fragile: see Request.
	Fragile bool
	// Operator: the call is the operator's own, see Request.
	Operator bool
	// ByClient: see Request.
	ByClient bool
	// Edited: the operator has put this call in the place of another; nil for a call that is made as it was asked for.
	Edited *Edited
	// Handle is the session argument as given.
	Handle string
	// IntentID is the intent_id argument as given; it never selects.
	IntentID string
	// Declared is the mutation_class argument, or the session's.
	Declared mutation.Class

	// Session is nil where none was found; SessionErr says why.
	Session    *session.Session
	SessionErr error
	// Views is what counts as seen by this call: the session's, or the
	// connection's where the workspace is untracked. A nil one has seen nothing.
	Views *session.Views
	// Intents is the snapshot of active_intents.yaml and .intentignore that
	// this call is judged by; nil where there is none or it does not parse.
	Intents *intent.Set
	// Ignore holds the .intentignore rules. It is there also where Intents is
	// not: read tools go on then, and must keep secrets.
	Ignore *intent.Ignore
	// Intent is set by the gate's intent step; nil before it and for calls that need none.
	Intent *intent.Intent
	// Untracked is set when the workspace has no intents and the operator lets calls through all the same.
	Untracked bool

	Effects Effects
	// Notes are what hooks that allowed had to say.
	Notes []string

	// Arguments are the call's, as sent.
	Arguments json.RawMessage
	Ways      Ways

	// Known is the verdict on what the call changes where that was found before; nil: its contents are compared.
	Known *mutation.Verdict

	asked    []string
	approval string
	elicits  bool // somebody was found to ask in line, or has answered before

	progress func(string, float64, float64)
	leave    func()
	judged   *judged
	request  Request
	watch    Watch
	outcome  *Outcome
	// workspace has the files that changes are judged among; nil for none.
	workspace *workspace.Workspace
	limits    mutation.Limits
}

// Model is the model that makes the call, as far as anybody said, and where they said so: the call itself, else the
// selection, else the client.
func (c *Call) Model() (id string, source session.ModelSource) {
	if c.Caller.ModelSource != session.ModelOfMeta && c.Session != nil && c.Session.ModelID() != "" {
		return c.Session.ModelID(), c.Session.ModelSource()
	}
	return c.Caller.ModelID, c.Caller.ModelSource
}

// Inner is the request of another call that this one makes on its way: the
// same caller makes it, and it is judged and recorded like any other.
func (c *Call) Inner(tool string, arguments Arguments) Request {
	r := c.request
	r.Tool, r.Arguments, r.edited = tool, arguments, nil
	// This call waits for its end.
	r.Fragile = false
	// A question in the client's result would be one about its own call.
	r.Ways.Return, r.Ways.Resumed = false, nil
	return r
}

// Detached is the call for what goes on behind its result (Engine.Continue): judged as it was, with nobody who listens.
func (c *Call) Detached() *Call {
	d := *c
	d.progress, d.leave = nil, nil
	return &d
}

// Leave lets later calls of the session go on while this one is put to the
// operator; they are judged on the state that they find.
func (c *Call) Leave() {
	if c.leave != nil {
		c.leave()
	}
}

// Release drops the contents of the effects, of a call that waits and will be judged anew, or not at all.
func (c *Call) Release() {
	for _, f := range c.Effects.Files {
		f.Before.Bytes, f.After.Bytes = nil, nil
	}
	c.judged = nil
	if c.Edited != nil {
		c.Edited.asked = nil
	}
}

// ApprovedBy notes the approval that lets this one call through. It is for an Asker's Pass.
func (c *Call) ApprovedBy(id string) { c.approval = id }

// Asked are the checks that an answer let through, and the approval, if it was for this one call.
func (c *Call) Asked() (checks []string, approval string) { return c.asked, c.approval }

// CanElicit reports whether its client can be asked in line, or what would be asked there was answered before.
func (c *Call) CanElicit() bool {
	return c.elicits || c.Ways.Elicit != nil || c.Ways.Return || c.Ways.Asks
}

// UntrackedIntent is the intent id that records carry in a workspace without intents, where the operator lets calls through.
const UntrackedIntent = "UNTRACKED"

// RecordedIntent is the intent id for the ledger: the selected intent's, or
// UntrackedIntent; "" for a call that never had one.
func (c *Call) RecordedIntent() string {
	switch {
	case c.Intent != nil:
		return c.Intent.ID
	case c.Untracked:
		return UntrackedIntent
	case c.Session != nil:
		return c.Session.IntentID()
	}
	return ""
}

// Progress reports to the client, if it listens.
func (c *Call) Progress(message string, done, total float64) {
	if c.progress != nil {
		c.progress(message, done, total)
	}
}

// Ways are how the operator can be reached while a call is made. A transport offers what its client declared; the zero
// value is a client that cannot be asked.
type Ways struct {
	// Elicit shows a form in the client and waits for what its user does with it; nil where the client cannot be asked so.
	Elicit func(ctx context.Context, f Form) (Reply, error)
	// Return: the client takes a question as the result of its call, and makes
	// the same call again with the answer (revision 2026-07-28).
	Return bool
	// Asks: the client asks its user by itself about what a hook says of the call.
	Asks bool
	// Elsewhere: the client could show a form, and may not answer for the operator. What would be asked there goes to the inbox.
	Elsewhere bool
	// Resumed is the answer that the call brings along; nil if it has none.
	Resumed *Resumed
	// Aside runs wait, which waits for a person, while the call's place among those that run is free for others. With
	// an error it has not run: too many wait already. Nil where there are no places.
	Aside func(wait func()) error
}

// Form is a question to the operator with a fixed set of answers.
type Form struct {
	// Message has no character that acts on a terminal.
	Message string
	// ForIntent: the answer "for this intent" can be given.
	ForIntent bool
}

// Reply is what the user of a client did with a form.
type Reply struct {
	// Decision is approve_once, approve_for_intent or deny; "" where the form was put away without a choice.
	Decision string
	Reason   string
}

// Resumed is what a client sent of an earlier question. None of it is verified: the client can have made it up.
type Resumed struct {
	// State is what InLine.State was, by the client's word.
	State string
	// Read reads the answer as one to f.
	Read func(f Form) (Reply, error)
}

// InLine is the error of a call that is to be put to the client's user through the call's result.
type InLine struct {
	Form Form
	// State comes back with the answer.
	State string
}

func (*InLine) Error() string { return "the operator has to be asked through the call's result" }
