package session

import (
	"errors"
	"fmt"
	"strings"
)

// What Resolve and Select can fail with. MismatchError and EndedError carry more.
var (
	// ErrExpired: the handle is unknown, its idle lifetime is over, its state cannot be read, or it
	// belongs to another principal. The four are not told apart, so that nobody can probe for handles.
	ErrExpired = errors.New("the session handle is unknown or has expired: call select_active_intent without session to get a new one")
	// ErrNone: the call gives no handle, and nothing is selected where it could be found without one.
	ErrNone = errors.New("no intent is selected: call select_active_intent first, and pass the session that it returns")
	// ErrNotSaved: the selection could not be written to disk, and was not made.
	ErrNotSaved = errors.New("the selection could not be saved")
)

// Choice is one live selection that a call could have meant.
type Choice struct {
	IntentID string
	// Handle is what the caller passes as session. It is for the agent that may use it, and for
	// nothing that is kept: no ledger record, no log.
	Handle string

	session *Session
}

// EndedError says that the session is known, but its intent is done or blocked.
type EndedError struct{ IntentID string }

func (e *EndedError) Error() string {
	return fmt.Sprintf("the selection of %s has ended, because the intent is done or blocked: select another intent", e.IntentID)
}

// MismatchError says that the call's intent_id is not what its session has selected; or, without Given, that several
// selections are live on the connection and the call names none of them, or more than one.
type MismatchError struct {
	Given    string  // the call's intent_id
	Selected *Choice // what the session has selected; nil if the call could mean several
	Live     []Choice
}

// Error names no handle; Remedy does.
func (e *MismatchError) Error() string {
	switch {
	case e.Given == "":
		return fmt.Sprintf("%d selections are live on this connection (%s), and the call does not say which it means", len(e.Live), intentIDs(e.Live))
	case e.Selected != nil:
		return fmt.Sprintf("the call names intent %s, but its session has selected %s", e.Given, e.Selected.IntentID)
	}
	return fmt.Sprintf("the call names intent %s, but what is selected on this connection is %s", e.Given, intentIDs(e.Live))
}

// Remedy is what the agent changes in its call. It has handles in it: never keep it.
func (e *MismatchError) Remedy() string {
	add := "one of these to the call: " + strings.Join(additions(e.Live), "; ") + "."
	if e.Given == "" {
		return "Add " + add
	}
	for _, c := range e.Live {
		if c.IntentID == e.Given && c.Handle != "" {
			return fmt.Sprintf("To work under %s, pass session %q.", e.Given, c.Handle)
		}
	}
	another := fmt.Sprintf("To work under %s, call select_active_intent with intent_id %q first", e.Given, e.Given)
	if e.Selected == nil {
		return another + ". Otherwise add " + add
	}
	if e.Selected.Handle != "" {
		another += fmt.Sprintf(" (and session %q to switch this session to it)", e.Selected.Handle)
	}
	return fmt.Sprintf("Pass intent_id %q to work under what is selected. %s.", e.Selected.IntentID, another)
}

func intentIDs(live []Choice) string {
	ids := make([]string, len(live))
	for i, c := range live {
		ids[i] = c.IntentID
	}
	return strings.Join(ids, ", ")
}

// additions names the argument that makes each choice unmistakable: its intent where that is enough.
func additions(live []Choice) []string {
	count := map[string]int{}
	for _, c := range live {
		count[c.IntentID]++
	}
	texts := make([]string, len(live))
	for i, c := range live {
		texts[i] = fmt.Sprintf("session %q for %s", c.Handle, c.IntentID)
		if count[c.IntentID] == 1 {
			texts[i] = fmt.Sprintf("intent_id %q or session %q", c.IntentID, c.Handle)
		}
	}
	return texts
}
