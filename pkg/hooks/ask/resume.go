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

// Resume finds the request that a caller wants to go on with, and waits for its answer if it has none. Only who asked
// can: the same principal, in the same session.
func (s *Service) Resume(ctx context.Context, call *hooks.Call, id string) (approval.Request, error) {
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
	q := &question{service: s, call: call, request: r}
	a, err := s.Store.AnswerOf(id)
	if errors.Is(err, approval.ErrPending) && s.Store.Shared() {
		a, err = q.await(ctx)
	}
	switch {
	case err == nil && a.Decision == approval.Deny:
		return r, rejected(a)
	case err == nil:
		return r, nil
	case errors.Is(err, context.Canceled):
		return r, refusal.New(refusal.Cancelled, "The call was cancelled while it waited for the operator; nothing was changed.")
	case errors.Is(err, approval.ErrPending), errors.Is(err, context.DeadlineExceeded):
		return r, required(fmt.Sprintf("The operator has not answered %s yet.", r.ID), r, s.Store.Shared())
	case errors.Is(err, approval.ErrUnknown):
		return r, s.unknown(id)
	}
	return r, err
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
