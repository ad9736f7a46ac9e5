package native

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// A call that the operator has to be asked about is put into the inbox, and denied with the approval's id: the same call passes
// when it is approved. Where the client asks its own user about what a hook says, that user can let it through as well: then
// that the call was made is all that tells of the yes, and it is recorded as inferred.

// inLine asks about what may be asked in line only as well: the client asks its user.
type inLine struct{ hooks.Asker }

func (a inLine) CanAsk(call *hooks.Call, q hooks.Question) bool {
	return q.Policy == hooks.PolicyElicit || a.Asker.CanAsk(call, q)
}

// lets lets a call pass about which the client asks, and keeps what it is asked about.
type lets struct {
	hooks.Asker
	asked    *[]asked
	approval string // the question that was put into the inbox
}

// asked is one question that the client put to its user.
type asked struct {
	Hook   string   `json:"hook"`
	Code   string   `json:"code"`
	Reason string   `json:"reason"`
	Paths  []string `json:"paths,omitempty"`
}

func (a lets) CanAsk(*hooks.Call, hooks.Question) bool { return true }

func (a lets) Pass(_ context.Context, call *hooks.Call, questions []hooks.Question) (notes []string, passed bool, err error) {
	for _, q := range questions {
		*a.asked = append(*a.asked, asked{q.Hook, string(q.Refusal.Code()), q.Refusal.Reason(), q.Paths})
	}
	call.ApprovedBy(a.approval)
	return []string{"the client asks its user; that the call was made is how it is known that the user said yes"}, true, nil
}

// asking is what the client asks its user about a call.
type asking struct {
	questions []asked
	why       *refusal.Refusal
}

// answer is what the hook says of a call that was let through.
func (a *asking) answer() clienthook.Answer {
	if len(a.questions) == 0 {
		return clienthook.Answer{} // the client's own permissions stand
	}
	return clienthook.Answer{Verdict: clienthook.Ask, Reason: Text(a.why)}
}

// canAsk: the client asks, and somebody answers.
func canAsk(e clienthook.Event) bool { return e.Attended && e.Client.CanAsk(e.Mode) }

// ask judges a call by run, and once more as one about which the client asks, where that is all that stands against it.
func (d *Desk) ask(e clienthook.Event, a *asking, run func(*hooks.Engine) *refusal.Refusal) *refusal.Refusal {
	if !canAsk(e) {
		return run(d.Engine)
	}
	r := run(d.Engine.WithAsker(inLine{d.Engine.Asker}))
	if r == nil || r.Code() != refusal.ApprovalRequired {
		return r
	}
	a.why = r
	approval, _ := r.Detail("approval_id").(string)
	return run(d.Engine.WithAsker(lets{d.Engine.Asker, &a.questions, approval}))
}

// approved records that the client's user let a call through.
func (d *Desk) approved(e clienthook.Event, questions []asked) {
	for _, q := range questions {
		rec := d.base(e)
		rec.Contributor = record.Contributor{Type: record.ContributorHuman}
		rec.Decision = &record.Decision{Outcome: "approved", ErrorType: q.Code, Hook: q.Hook, Reason: q.Reason, Paths: q.Paths}
		rec.Detail["way"], rec.Detail["inferred"] = fmt.Sprintf("asked by %s", e.Client), true
		d.append(rec)
	}
}
