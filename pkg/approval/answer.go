package approval

import "time"

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
	// By is who answered, such as a user name; Via is Inbox or Elicitation.
	By  string `json:"by,omitempty"`
	Via string `json:"via"`

	// Grants are the ids of what a ForIntent leaves; filled in by the store.
	Grants []string `json:"grants,omitempty"`

	// AnsweredAt and ExpiresAt are filled in by the store.
	AnsweredAt time.Time `json:"answered_at"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// Grant lets calls pass that one check stops at one path, or for one command line, while an intent lives.
type Grant struct {
	ID        string `json:"id"`
	Request   string `json:"request"` // the request that it answers
	Principal string `json:"principal,omitempty"`
	IntentID  string `json:"intent_id"`

	Hook      string `json:"hook"`
	Rule      string `json:"rule,omitempty"`
	ErrorType string `json:"error_type"`

	// Path is as resolved. A command has Line and Cwd instead.
	Path string `json:"path,omitempty"`
	Line string `json:"line,omitempty"`
	Cwd  string `json:"cwd,omitempty"`

	By        string    `json:"by,omitempty"`
	Via       string    `json:"via"`
	CreatedAt time.Time `json:"created_at"`
}

// grantsOf are what a yes for the intent gives: one grant for each check at each of its paths, or for each command.
func grantsOf(r Request, a Answer) []Grant {
	var grants []Grant
	for _, c := range r.Checks {
		g := Grant{
			Request: r.ID, Principal: r.Principal, IntentID: r.IntentID, Hook: c.Hook, Rule: c.Rule, ErrorType: c.ErrorType,
			By: a.By, Via: a.Via, CreatedAt: a.AnsweredAt,
		}
		for _, subject := range r.subjects(c) {
			g.Path, g.Line, g.Cwd = subject.Path, subject.Line, subject.Cwd
			grants = append(grants, g)
		}
	}
	return grants
}

// subject is what a check is about.
type subject struct{ Path, Line, Cwd string }

// subjects are the paths of a check; where it names none, the command, or every path that the call changes.
func (r Request) subjects(c Check) []subject {
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
		g.Hook == c.Hook && g.Rule == c.Rule && g.ErrorType == c.ErrorType &&
		subject{g.Path, g.Line, g.Cwd} == s
}
