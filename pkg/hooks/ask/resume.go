package ask

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Resume finds the request that a caller wants to go on with, and its answer, for which it waits if there is none. Only who
// asked can: the same principal, in the same session.
func (s *Service) Resume(ctx context.Context, call *hooks.Call, id string) (approval.Request, approval.Answer, error) {
	r, err := s.resumable(call, id)
	if err != nil {
		return r, approval.Answer{}, err
	}
	a, err := s.Store.AnswerOf(id)
	if errors.Is(err, approval.ErrPending) && s.Store.Shared() {
		a, err = (&question{service: s, call: call, request: r}).await(ctx)
	}
	switch {
	case err == nil && a.Decision == approval.Deny:
		return r, a, rejected(a)
	case err == nil && a.Edit != nil && s.Store.Spent(id) && !ForNobody(r):
		return r, a, s.unknown(id)
	case errors.Is(err, context.Canceled):
		return r, a, refusal.New(refusal.Cancelled, "The call was cancelled while it waited for the operator; nothing was changed.")
	case errors.Is(err, approval.ErrPending), errors.Is(err, context.DeadlineExceeded):
		return r, a, required(fmt.Sprintf("The operator has not answered %s yet.", r.ID), r, s.Store.Shared())
	case errors.Is(err, approval.ErrUnknown):
		return r, a, s.unknown(id)
	}
	return r, a, err
}

// resumable finds a request that the caller may go on with.
func (s *Service) resumable(call *hooks.Call, id string) (approval.Request, error) {
	r, err := s.Store.Get(id)
	if err == nil && r.Principal != approval.PrincipalMark(call.Caller.Principal) {
		err = approval.ErrUnknown
	}
	switch {
	case errors.Is(err, approval.ErrUnknown):
		return r, s.unknown(id)
	case err != nil:
		return r, err
	case r.Session != "" && (call.Session == nil || call.Session.PublicID() != r.Session):
		return r, refusal.Newf(refusal.FileNotFound, "The request %s was made in another session.", r.ID).WithHint(refusal.HintFixArguments).
			Suggest("Pass the `session` of the call that asked, or make the call again.")
	}
	return r, nil
}

func (q *question) await(ctx context.Context) (approval.Answer, error) {
	q.call.Leave()
	ctx, cancel := context.WithTimeout(ctx, q.service.Wait)
	defer cancel()
	defer q.tell(ctx)()
	a, err := q.wait(ctx)
	switch {
	case err != nil:
		return approval.Answer{}, err
	case a == nil:
		return approval.Answer{}, approval.ErrPending
	}
	return *a, nil
}

// unknown tells a request that was used from one that never was.
func (s *Service) unknown(id string) *refusal.Refusal {
	text := fmt.Sprintf("There is no pending request %q; it may have expired.", printable.Clip(id, 100))
	if s.Store.Spent(id) {
		text = fmt.Sprintf("The answer to %s was used already, or taken back; each lets one call pass, and a change of the intents that was approved has been made.", id)
	}
	return refusal.New(refusal.FileNotFound, text).WithHint(refusal.HintAskUser).
		Suggest("Make the call again that asked for the approval.")
}

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
	return storedWith(r.Arguments, "intent_id", r.IntentID)
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

// Lapse implements hooks.Asker: whoever waits may still use the answer.
func (a *approved) Lapse(string) {}

// CanAsk implements hooks.Asker.
func (a *approved) CanAsk(*hooks.Call, hooks.Question) bool { return true }

// Pass implements hooks.Asker.
func (a *approved) Pass(_ context.Context, call *hooks.Call, questions []hooks.Question) ([]string, bool, error) {
	if call.Edited != nil {
		unused := func(approval.Answer) (bool, error) { return true, nil }
		if notes, passed, err := a.edited(call, questions, unused); passed || err != nil {
			return notes, passed, err
		}
	}
	made := requestOf(call, questions)
	made.Principal = a.request.Principal
	if made.ComputeDigest() != a.request.Digest {
		return nil, false, nil
	}
	standing, err := a.Store.Standing(a.request.Digest)
	if err != nil || standing.Approved == nil {
		return nil, false, err
	}
	call.ApprovedBy(standing.Approved.ID)
	return []string{approvedOnce(*standing.Approved)}, true, nil
}

// Ask implements hooks.Asker.
func (a *approved) Ask(context.Context, *hooks.Call, []hooks.Question) (string, error) {
	return "", refusal.New(refusal.ApprovalRequired, "It is no longer what was approved: the intents have changed since.").
		With("approval_id", a.request.ID)
}
