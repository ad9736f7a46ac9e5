package approval

import (
	"errors"
	"time"
)

// Decision is what the operator says.
type Decision string

// The decisions.
const (
	// Once lets one call with the request's digest pass, one time.
	Once Decision = "approve_once"
	// ForIntent lets calls pass that the same checks stop at the same paths, until the intent ends.
	ForIntent Decision = "approve_for_intent"
	// Deny refuses the call.
	Deny Decision = "deny"
)

// The ways in which an answer comes.
const (
	// Inbox: the operator's own command.
	Inbox = "inbox"
	// Console: the operator's page in a browser.
	Console = "console"
	// Elicitation: a form that the agent's client showed.
	Elicitation = "elicitation"
)

// Answer is what the operator answered to a request.
type Answer struct {
	// ID and Digest are the request's; the store fills them in.
	ID     string `json:"id"`
	Digest string `json:"digest"`

	Decision Decision `json:"decision"`
	// Reason is the operator's own, at most 1,000 characters; it reaches the agent.
	Reason string `json:"reason,omitempty"`
	// By is who answered, such as a user name; Via is Inbox, Console or Elicitation.
	By  string `json:"by,omitempty"`
	Via string `json:"via"`

	// Edit is the call that a Once lets pass in the place of the one that was asked for; nil where it passes as it is.
	Edit *Edit `json:"edit,omitempty"`

	// Grants are the ids of what a ForIntent leaves; filled in by the store.
	Grants []string `json:"grants,omitempty"`

	// AnsweredAt and ExpiresAt are filled in by the store.
	AnsweredAt time.Time `json:"answered_at"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// Grant lets calls pass that one check stops at one path, for one command line, or for one call of another server, while an
// intent lives.
type Grant struct {
	ID        string `json:"id"`
	Request   string `json:"request"` // the request that it answers
	Principal string `json:"principal,omitempty"`
	IntentID  string `json:"intent_id"`

	Hook      string `json:"hook"`
	ErrorType string `json:"error_type"`

	// Path is as resolved. A command has Line and Cwd instead.
	Path string `json:"path,omitempty"`
	Line string `json:"line,omitempty"`
	Cwd  string `json:"cwd,omitempty"`
	// Call is one of another server: its name, its tool, and the hashes of the tool's definition and of the arguments.
	Call string `json:"call,omitempty"`

	By        string    `json:"by,omitempty"`
	Via       string    `json:"via"`
	CreatedAt time.Time `json:"created_at"`
}

// grantsOf are what a yes for the intent gives: one grant for each check at each of its paths, or for each command or call of
// another server.
func grantsOf(r Request, a Answer) []Grant {
	var grants []Grant
	for _, c := range r.Checks {
		g := Grant{
			Request: r.ID, Principal: r.Principal, IntentID: r.IntentID, Hook: c.Hook, ErrorType: c.ErrorType,
			By: a.By, Via: a.Via, CreatedAt: a.AnsweredAt,
		}
		for _, subject := range r.subjects(c) {
			g.Path, g.Line, g.Cwd, g.Call = subject.Path, subject.Line, subject.Cwd, subject.Call
			grants = append(grants, g)
		}
	}
	return grants
}

// subject is what a check is about.
type subject struct{ Path, Line, Cwd, Call string }

// subjects are the paths of a check; where it names none, the command, or every path that the call changes. A call of another
// server is one whatever it is about: what it does with its arguments they do not say.
func (r Request) subjects(c Check) []subject {
	if u, is := r.upstream(); is {
		return []subject{{Call: u.Server + " " + u.Tool + " as " + u.Definition + " with " + u.Arguments}}
	}
	var found []subject
	for _, e := range r.Effects {
		if e.Line != "" && len(c.Paths) == 0 {
			found = append(found, subject{Line: e.Line, Cwd: e.Cwd})
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, p := range c.Paths {
		found = append(found, subject{Path: p})
	}
	if len(found) > 0 {
		return found
	}
	for _, e := range r.Effects {
		for _, p := range e.changed() {
			found = append(found, subject{Path: p})
		}
	}
	return found
}

func (g Grant) covers(r Request, c Check, s subject) bool {
	return g.Principal == r.Principal && g.IntentID == r.IntentID &&
		g.Hook == c.Hook && g.ErrorType == c.ErrorType &&
		subject{g.Path, g.Line, g.Cwd, g.Call} == s
}

// Errors that callers may test for.
var (
	// ErrUnknown: no such request or grant, or it expired, or it is not authentic.
	ErrUnknown = errors.New("no such request or grant; it may have expired")
	// ErrFull: too many requests are pending, or they are too large.
	ErrFull = errors.New("too many requests are pending; the operator has to answer some first")
	// ErrPending: the request has no answer yet.
	ErrPending = errors.New("the request has no answer yet")
	// ErrAnswered: the request has an answer already.
	ErrAnswered = errors.New("the request has been answered already")
	// ErrNotGrantable: the request can be approved once only.
	ErrNotGrantable = errors.New("this can be approved once only, not for the intent")
	// ErrState: a round-trip state that we did not make, or that is altered, expired or somebody else's.
	ErrState = errors.New("the state is not one that was given out to this caller, or it has expired")
	// ErrNoUserDir: there is no user directory, so no other process can see what this one asks.
	ErrNoUserDir = errors.New("there is no directory for the user's own settings; set HOME or XDG_CONFIG_HOME")
)
