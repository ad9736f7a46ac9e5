package gate

import (
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// initialized is step 2. It also loads the snapshot for the later steps; read
// tools go on without one.
func initialized(c *hooks.Call, intents Intents, p Policy) hooks.Decision {
	set, err := intents.Load()
	switch {
	case err == nil:
		c.Intents = set
		return hooks.Allow()
	case c.Class == hooks.Safe:
		return hooks.Allow()
	case errors.Is(err, intent.ErrNotInitialized):
		if p.AllowUninitialized {
			c.Untracked = true
			return hooks.Allow("no intents file: recorded as " + hooks.UntrackedIntent)
		}
		return hooks.Refuse(refusal.New(refusal.WorkspaceNotInitialized,
			"This workspace has no .orchestration/active_intents.yaml, so nothing may be changed in it."))
	}
	return hooks.Refuse(Unreadable(err))
}

// Unreadable is the refusal for an intents or ignore file that does not parse.
func Unreadable(err error) *refusal.Refusal {
	r := refusal.Newf(refusal.IntentsUnreadable, "The intents cannot be read: %v.", err)
	var at *intent.UnreadableError
	if errors.As(err, &at) {
		r = r.With("file", at.File).With("line", at.Line).With("column", at.Column)
	}
	return r
}

// selected is step 3.
func selected(c *hooks.Call, p Policy) hooks.Decision {
	if skips(c) || c.Untracked {
		return hooks.Allow()
	}
	if c.SessionErr != nil {
		return noSelection(c, p)
	}
	id := c.Session.IntentID()
	in, ok := c.Intents.Get(id)
	if !ok {
		return hooks.Refuse(refusal.Newf(refusal.MissingOrInvalidIntent,
			"The selected intent %s is no longer in active_intents.yaml.", id).With("available", Selectable(c.Intents)))
	}
	if c.IntentID != "" && c.IntentID != id {
		return hooks.Refuse(refusal.Newf(refusal.IntentMismatch,
			"The call names intent_id %q, but %s is selected.", c.IntentID, id).
			Suggest("Leave out `intent_id`, pass intent_id: %q, or call select_active_intent with intent_id: %q.", id, c.IntentID).
			With("selected", id).With("intent_id", c.IntentID))
	}
	if r := Usable(in, c.Intents); r != nil {
		return hooks.Refuse(r)
	}
	c.Intent = in
	if in.Scope().Unrestricted() {
		if p.ScopeRequired {
			return hooks.Refuse(refusal.Newf(refusal.ScopeViolation,
				"%s has no owned_scope, and the settings require one.", in.ID).With("intent_id", in.ID).With("owned_scope", []string{}))
		}
		return hooks.Allow(in.ID + " has no owned_scope: every path is in scope")
	}
	return hooks.Allow()
}

// Usable refuses an intent that cannot be worked under.
func Usable(in *intent.Intent, set *intent.Set) *refusal.Refusal {
	if in.Status == intent.Blocked || in.Status == intent.Done {
		return refusal.Newf(refusal.IntentNotActive, "%s (%s) is %s.", in.ID, in.Name, in.Status).
			With("intent_id", in.ID).With("status", string(in.Status)).With("available", Selectable(set))
	}
	if set.Ignore().IntentBlocked(in.ID) {
		return refusal.Newf(refusal.IntentIgnored, ".intentignore forbids every call under %s.", in.ID).
			With("intent_id", in.ID).With("available", Selectable(set))
	}
	return nil
}

// noSelection explains why a call has no session.
func noSelection(c *hooks.Call, p Policy) hooks.Decision {
	var ambiguous *session.AmbiguousError
	var mismatch *session.MismatchError
	switch {
	case errors.Is(c.SessionErr, session.ErrExpired):
		return hooks.Refuse(refusal.New(refusal.SessionExpired,
			"The session handle is unknown or has expired.").With("available", Selectable(c.Intents)))
	case errors.As(c.SessionErr, &ambiguous), errors.As(c.SessionErr, &mismatch):
		return hooks.Refuse(refusal.New(refusal.IntentMismatch, c.SessionErr.Error()))
	}
	r := refusal.New(refusal.MissingOrInvalidIntent,
		"No intent is selected: a declared intent is needed before anything may be changed.").
		With("available", Selectable(c.Intents))
	return hooks.Ask(p.MissingIntent, r)
}

// Selectable lists the ids and names of the intents that can be selected now.
func Selectable(set *intent.Set) []string {
	ids := []string{}
	if set == nil {
		return ids
	}
	for _, in := range set.All() {
		if CanSelect(in, set) {
			ids = append(ids, fmt.Sprintf("%s (%s)", in.ID, in.Name))
		}
	}
	return ids
}

// CanSelect reports whether an intent can be selected.
func CanSelect(in *intent.Intent, set *intent.Set) bool {
	return in.Status != intent.Blocked && in.Status != intent.Done && !set.Ignore().IntentBlocked(in.ID)
}
