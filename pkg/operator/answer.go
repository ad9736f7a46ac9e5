package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// Outcome is what an answer or a withdrawal did: the document of `approvals approve`, `deny` and `revoke` with --json.
type Outcome struct {
	ID       string   `json:"id"`
	Decision string   `json:"decision"` // approve_once, approve_for_intent, deny or revoked
	Grants   []string `json:"grants"`   // ids of the grants that stand by it
	// ExpiresAt is when the answer no longer counts, null for a grant, a denial and a withdrawal.
	ExpiresAt *time.Time `json:"expires_at"`
	// Text says it in a sentence that is safe to print.
	Text string `json:"-"`
}

// ErrOnlyOnce: the request can be approved once only.
var ErrOnlyOnce = errors.New("only once")

// Answer gives an answer, of which the decision and the reason are set, and says what it does. It counts once it is
// recorded. Errors: *Past where there is nothing to answer any more, or nothing would pass by it; ErrOnlyOnce.
func (b *Inbox) Answer(ctx context.Context, r approval.Request, answer approval.Answer) (Outcome, error) {
	if changed := b.Changed(r); answer.Decision == approval.Once && len(changed) > 0 {
		return Outcome{}, &Past{fmt.Sprintf("%s has changed since the agent asked, so to approve %s once would let nothing pass: the agent has to make its call again, and you will be asked about what it would do now",
			printable.Text(changed[0]), r.ID)}
	}
	answer.By, answer.Via = Name(), b.Via
	given, grants, err := b.Store.Answer(r.ID, answer)
	switch {
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrUnknown):
		return Outcome{}, b.past(r.ID)
	case errors.Is(err, approval.ErrNotGrantable):
		return Outcome{}, fmt.Errorf("%s can be approved %w, not for the intent: %s", r.ID, ErrOnlyOnce, OnlyOnce(r))
	case err != nil:
		return Outcome{}, fmt.Errorf("answer %s: %w", r.ID, err)
	}
	if err := b.recordAnswer(ctx, r, given, grants); err != nil {
		return Outcome{}, err
	}
	if given.Decision == approval.Once && ask.ForNobody(r) {
		return b.carryOut(ctx, r)
	}
	return b.outcome(given, grants), nil
}

// carryOut does what was approved, since the agent that asked may be gone.
func (b *Inbox) carryOut(ctx context.Context, r approval.Request) (done Outcome, err error) {
	err = b.WithServer(func(srv *server.Server) error {
		text, err := srv.CarryOut(ctx, r)
		done = Outcome{ID: r.ID, Decision: string(approval.Once), Grants: []string{}, Text: fmt.Sprintf("Approved %s, and done: %s", r.ID, printable.Text(text))}
		return err
	})
	if err != nil {
		return Outcome{}, &Past{fmt.Sprintf("%s is approved, but could not be carried out: %s; the agent has to ask again", r.ID, printable.Text(err.Error()))}
	}
	return done, nil
}

// recordAnswer writes an answer down; one that cannot be recorded does not count.
func (b *Inbox) recordAnswer(ctx context.Context, r approval.Request, given approval.Answer, grants []approval.Grant) error {
	detail, ids := map[string]any{}, grantIDs(grants)
	if len(ids) > 0 {
		detail["grants"] = ids
	}
	if given.Edit != nil {
		detail["edited"] = true // what was made of the call stands in its own record
	}
	err := b.record(ctx, b.recordOf(r, ask.AnswerDecision(r, given), detail))
	if err == nil {
		return nil
	}
	takenBack := b.Store.Void(r.ID)
	for _, id := range ids {
		takenBack = errors.Join(takenBack, b.Store.Revoke(id))
	}
	if takenBack != nil {
		return fmt.Errorf("the answer to %s stands, but could not be recorded (%w), nor taken back: %v", r.ID, err, takenBack)
	}
	return fmt.Errorf("the answer to %s could not be recorded, so it does not count, and the agent has to ask again: %w", r.ID, err)
}

func grantIDs(grants []approval.Grant) []string {
	ids := make([]string, 0, len(grants))
	for _, g := range grants {
		ids = append(ids, g.ID)
	}
	return ids
}

// outcome says what an answer does, also in a line.
func (b *Inbox) outcome(given approval.Answer, grants []approval.Grant) Outcome {
	done := Outcome{ID: given.ID, Decision: string(given.Decision), Grants: grantIDs(grants)}
	switch given.Decision {
	case approval.Deny:
		done.Text = "Denied " + given.ID + "; the agent is told."
	case approval.ForIntent:
		done.Text = "Approved " + given.ID + " until the intent ends."
		for _, g := range grants {
			done.Text += fmt.Sprintf(" %s lets %s pass at %s.", g.ID, printable.Text(g.ErrorType), printable.Text(printable.Clip(GrantSubject(g), maxSubject)))
		}
	default:
		done.ExpiresAt = &given.ExpiresAt
		edited := ""
		if given.Edit != nil {
			edited = ", as you edited it"
		}
		done.Text = fmt.Sprintf("Approved %s%s, once, until %s (%s). A call that still waits goes on by itself; else the agent has to call resume_approval, or the same again.",
			given.ID, edited, given.ExpiresAt.Local().Format("15:04"), printable.Age(given.ExpiresAt.Sub(b.Now())))
	}
	return done
}

// maxSubject bounds a command line or a path in a sentence, in characters.
const maxSubject = 60

// Revoke withdraws a grant, or an answer that no call has used, by its id. *Past: there is none.
func (b *Inbox) Revoke(ctx context.Context, id string) (Outcome, error) {
	grants, err := b.Store.Grants()
	if err != nil {
		return Outcome{}, err
	}
	about := b.about(id, grants)
	err = b.Store.Revoke(id)
	if errors.Is(err, approval.ErrUnknown) {
		return Outcome{}, &Past{fmt.Sprintf("there is no grant %s that stands, and no answer of that id that waits to be used: it was revoked, used, or has ended with its intent", printable.Text(printable.Clip(id, 100)))}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("revoke %s: %w", id, err)
	}
	decision := ask.Decision(about, ask.Revoked)
	decision.Principal = Name()
	if err := b.record(ctx, b.recordOf(about, decision, nil)); err != nil {
		return Outcome{}, fmt.Errorf("%s is revoked, but that could not be recorded: %w", id, err)
	}
	return Outcome{ID: id, Decision: ask.Revoked, Grants: []string{}, Text: "Revoked " + id + "; the same call is asked about again."}, nil
}

// about is what a grant or an answer was about, as a request.
func (b *Inbox) about(id string, grants []approval.Grant) approval.Request {
	for _, g := range grants {
		if g.ID != id {
			continue
		}
		check := approval.Check{Hook: g.Hook, ErrorType: g.ErrorType}
		if g.Path != "" {
			check.Paths = []string{g.Path}
		}
		return approval.Request{ID: id, IntentID: g.IntentID, Checks: []approval.Check{check}}
	}
	r, err := b.Store.Get(id)
	if err != nil {
		r.ID = id
	}
	return r
}
