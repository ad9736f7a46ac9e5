package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// initialized is step 2. It also loads the snapshot for the later steps; read tools go on without one.
func initialized(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	set, err := g.Intents.Load()
	switch {
	case err == nil:
		c.Intents, c.Ignore = set, set.Ignore()
		return hooks.Allow()
	case c.Class == hooks.Safe:
		// The rules that are clear hold, whatever is wrong with the rest. A file of which nothing can be read may hold
		// secret rules: then no file is shown.
		ignore, err := g.Intents.Ignore()
		var whole *intent.UnreadableError
		if errors.As(err, &whole) && whole.Line == 0 && len(c.Effects.Files) > 0 {
			return hooks.Refuse(Unreadable(err))
		}
		c.Ignore = ignore
		return hooks.Allow()
	case errors.Is(err, intent.ErrNotInitialized):
		if c.Ignore, err = g.Intents.Ignore(); err != nil {
			return hooks.Refuse(Unreadable(err))
		}
		if g.AllowUninitialized {
			c.Untracked = true
			return hooks.Allow()
		}
		return hooks.Refuse(refusal.New(refusal.WorkspaceNotInitialized,
			"This workspace has no .orchestration/active_intents.yaml, so nothing may be changed in it."))
	}
	return hooks.Refuse(Unreadable(err))
}

// Unreadable is the refusal for an intents or ignore file that does not parse.
func Unreadable(err error) *refusal.Refusal {
	if short := refusal.Exhausted(err); short != nil {
		return short
	}
	r := refusal.Newf(refusal.IntentsUnreadable, "The intents cannot be read: %v.", err)
	var at *intent.UnreadableError
	if errors.As(err, &at) {
		r = r.With("file", at.File).With("line", at.Line).With("column", at.Column)
	}
	return r
}

// selected is step 3.
func selected(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if c.Handle != "" && errors.Is(c.SessionErr, session.ErrExpired) {
		// Also for calls that need no intent: what a read delivers under a handle that is nobody's would count for nobody.
		return hooks.Refuse(NoSelection(c.SessionErr, c.Intents))
	}
	if skips(c) || c.Untracked {
		return hooks.Allow()
	}
	if c.SessionErr != nil {
		return noSelection(c, g.MissingIntent)
	}
	id := c.Session.IntentID()
	in, ok := c.Intents.Get(id)
	if !ok {
		return hooks.Refuse(refusal.Newf(refusal.MissingOrInvalidIntent,
			"The selected intent %s is no longer in active_intents.yaml.", id).With("available", Selectable(c.Intents)))
	}
	if r := Usable(in, c.Intents); r != nil {
		return hooks.Refuse(r)
	}
	c.Intent = in
	if in.Scope().Unrestricted() {
		if g.ScopeRequired {
			return hooks.Refuse(refusal.Newf(refusal.ScopeViolation,
				"%s has no owned_scope, and the settings require one.", in.ID).With("intent_id", in.ID).With("owned_scope", []string{}))
		}
		return hooks.Allow(in.ID + " has no owned_scope: every path is in scope")
	}
	return hooks.Allow()
}

// Usable refuses an intent that cannot be worked under.
func Usable(in *intent.Intent, set *intent.Set) *refusal.Refusal {
	if !in.Status.Selectable() {
		return refusal.Newf(refusal.IntentNotActive, "%s (%s) is %s.", in.ID, in.Name, in.Status).
			With("intent_id", in.ID).With("status", string(in.Status)).With("available", Selectable(set))
	}
	if set.Ignore().IntentBlocked(in.ID) {
		return refusal.Newf(refusal.IntentIgnored, ".intentignore forbids every call under %s.", in.ID).
			With("intent_id", in.ID).With("available", Selectable(set))
	}
	return nil
}

// noSelection explains why a call has no session. Only the plain lack of a selection may be put to the operator.
func noSelection(c *hooks.Call, missing hooks.Policy) hooks.Decision {
	r := NoSelection(c.SessionErr, c.Intents)
	if errors.Is(c.SessionErr, session.ErrNone) {
		return hooks.Ask(missing, r)
	}
	return hooks.Refuse(r)
}

// NoSelection is the refusal for an error of session.Store.Resolve.
func NoSelection(err error, set *intent.Set) *refusal.Refusal {
	var mismatch *session.MismatchError
	var ended *session.EndedError
	switch {
	case errors.Is(err, session.ErrExpired):
		return refusal.New(refusal.SessionExpired, "The session handle is unknown or has expired.").With("available", Selectable(set))
	case errors.As(err, &mismatch):
		r := refusal.Newf(refusal.IntentMismatch, "%s.", sentence(err)).Suggest("%s", mismatch.Remedy()).With("live", intentIDs(mismatch.Live))
		if mismatch.Given != "" {
			r = r.With("intent_id", mismatch.Given)
		}
		return r
	case errors.As(err, &ended):
		return refusal.Newf(refusal.IntentNotActive, "%s.", sentence(err)).With("intent_id", ended.IntentID).With("available", Selectable(set))
	case errors.Is(err, session.ErrNone):
		return refusal.New(refusal.MissingOrInvalidIntent,
			"No intent is selected: nothing may be changed before one is.").With("available", Selectable(set))
	}
	return refusal.From(err)
}

func intentIDs(live []session.Choice) []string {
	ids := []string{}
	for _, c := range live {
		ids = append(ids, c.IntentID)
	}
	return ids
}

// sentence makes an error's text begin like one.
func sentence(err error) string {
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:]
}

// Selectable lists the ids and names of the intents that can be selected now.
func Selectable(set *intent.Set) []string {
	ids := []string{}
	if set == nil {
		return ids
	}
	for _, in := range set.All() {
		if set.Selectable(in) {
			ids = append(ids, fmt.Sprintf("%s (%s)", in.ID, in.Name))
		}
	}
	return ids
}
