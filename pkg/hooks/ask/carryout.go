package ask

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// ForNobody tells whether an approved request has its effect although nobody waits for it any more: what it would change
// are the intents, which belong to no session.
func ForNobody(r approval.Request) bool {
	return r.Tool == "request_scope_expansion" || r.Tool == "propose_intent"
}

// ArgumentsForNobody are the stored arguments of such a request, for a call that has no session: the intent that the
// session of the first call had is named.
func ArgumentsForNobody(r approval.Request) (hooks.Arguments, error) {
	if r.Tool != "request_scope_expansion" {
		return hooks.ReadArguments(r.Arguments), nil
	}
	return storedWith(r, "intent_id", r.IntentID)
}

// Approved lets pass the very call of a request that the operator has approved, and no other. It asks nobody.
//
// The answer is not used before the call takes effect, as that of an agent's own call is: an edit of the intents is made
// only on the file that the request was about, so it cannot be made twice.
func (s *Service) Approved(r approval.Request) hooks.Asker { return &approved{s, r} }

type approved struct {
	*Service
	request approval.Request
}

// CanAsk implements hooks.Asker.
func (a *approved) CanAsk(*hooks.Call, hooks.Question) bool { return true }

// Pass implements hooks.Asker.
func (a *approved) Pass(_ context.Context, call *hooks.Call, questions []hooks.Question) ([]string, bool, error) {
	made := requestOf(call, questions)
	made.Principal = a.request.Principal
	if made.ComputeDigest() != a.request.Digest {
		return nil, false, nil
	}
	standing, err := a.Store.Standing(a.request.Digest)
	if err != nil || standing.Approved == nil {
		return nil, false, err
	}
	return []string{approvedOnce(*standing.Approved)}, true, nil
}

// Ask implements hooks.Asker.
func (a *approved) Ask(context.Context, *hooks.Call, []hooks.Question) (string, error) {
	return "", refusal.New(refusal.ApprovalRequired, "It is no longer what was approved: the intents have changed since.")
}
