package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Inbox is step 10 in its first form: a question is recorded, and the call is
// refused with the id of the request. Nobody is asked in line.
type Inbox struct{ requests *approval.Store }

// NewInbox records questions in requests.
func NewInbox(requests *approval.Store) *Inbox { return &Inbox{requests} }

var _ hooks.Asker = (*Inbox)(nil)

// CanAsk implements hooks.Asker: without a way to ask in line only questions
// that may wait in the inbox can be put.
func (i *Inbox) CanAsk(_ *hooks.Call, q hooks.Question) bool { return q.Policy == hooks.PolicyAsk }

// NotRequested is the refusal where a request to the operator could not be
// recorded.
func NotRequested(reason string, err error) *refusal.Refusal {
	code := refusal.InternalError
	if errors.Is(err, approval.ErrFull) {
		code = refusal.Busy
	}
	text := strings.TrimSpace(fmt.Sprintf("%s The request to the operator could not be recorded: %v.", reason, err))
	return refusal.New(code, text).WithHint(refusal.HintAskUser).
		Suggest("Ask the user to look at the requests that are pending, and at the server's log.")
}

// Ask implements hooks.Asker. It always refuses.
func (i *Inbox) Ask(_ context.Context, call *hooks.Call, questions []hooks.Question) *refusal.Refusal {
	call.Leave()
	first := questions[0].Refusal
	r := approval.Request{
		Kind: approval.Call, Tool: call.Tool, IntentID: call.RecordedIntent(), Client: call.Caller.ClientName,
		Checks: []approval.Check{{Hook: questions[0].Hook, ErrorType: string(first.Code()), Reason: first.Reason(), Paths: mutated(call)}},
	}
	stored, _, err := i.requests.Put(r)
	if err != nil {
		return NotRequested(first.Reason(), err)
	}
	return refusal.New(refusal.ApprovalRequired, first.Reason()).
		With("approval_id", stored.ID).With("expires_at", stored.ExpiresAt).With("paths", mutated(call)).
		Suggest("The request is recorded as %s. Ask the user: this version cannot take an answer, so the operator makes the change by hand, or lifts the rule that stopped it.", stored.ID)
}
