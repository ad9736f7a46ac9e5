package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

func (a *app) newApprovalsApproveCommand() *cobra.Command {
	var forIntent, yes bool
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "approve ID",
		Short: "Let a call pass, once or until its intent ends",
		Long: `Show a request, ask, and let it pass: once, exactly as shown, or with --for-intent whatever the same check stops at
the same path (or the same command line) until the intent ends. Every other check still holds.`,
		Example: "  orchestra-mcp approvals approve apr_k3x7q2\n  orchestra-mcp approvals approve apr_k3x7q2 --for-intent",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeApproval,
	}, a.inInbox(func(ctx context.Context, b *inbox, args []string) error {
		return b.approve(ctx, args[0], forIntent, yes)
	}))
	cmd.Flags().BoolVar(&forIntent, "for-intent", false, "approve the same check at the same path until the intent ends")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve without showing and asking")
	return cmd
}

func (b *inbox) approve(ctx context.Context, text string, forIntent, yes bool) error {
	r, err := b.request(text)
	if err != nil {
		return err
	}
	decision, question := approval.Once, "Approve this once?"
	if forIntent {
		decision, question = approval.ForIntent, "Approve this until "+printable.Text(r.IntentID)+" ends?"
	}
	if !yes && b.inTerminal && !b.json {
		b.printRequest(r)
	}
	if err := b.agreed(yes, "approve", "the request with approvals show", question,
		"Not approved; it still waits. To refuse it, run orchestra-mcp approvals deny "+r.ID); err != nil {
		return err
	}
	return b.print(b.decide(ctx, r, approval.Answer{Decision: decision}))
}

// outcome is what an answer or a withdrawal did: the document of `approvals approve`, `deny` and `revoke` with --json.
type outcome struct {
	ID       string   `json:"id"`
	Decision string   `json:"decision"` // approve_once, approve_for_intent, deny or revoked
	Grants   []string `json:"grants"`   // ids of the grants that stand by it
	// ExpiresAt is when the answer no longer counts, null for a grant, a denial and a withdrawal.
	ExpiresAt *time.Time `json:"expires_at"`
	text      string
}

// print prints what was done, if it was.
func (b *inbox) print(done outcome, err error) error {
	if err == nil {
		b.answer(done, func() { b.Println(done.text) })
	}
	return err
}

// decide gives an answer, and says what it does.
func (b *inbox) decide(ctx context.Context, r approval.Request, answer approval.Answer) (outcome, error) {
	if changed := b.changedMeanwhile(r); answer.Decision == approval.Once && len(changed) > 0 {
		return outcome{}, foundf("%s has changed since the agent asked, so to approve %s once would let nothing pass: the agent has to make its call again, and you will be asked about what it would do now",
			changed[0], r.ID)
	}
	answer.By, answer.Via = operatorName(), approval.Inbox
	given, grants, err := b.store.Answer(r.ID, answer)
	switch {
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrUnknown):
		return outcome{}, foundf("%s", b.whyNot(r.ID))
	case errors.Is(err, approval.ErrNotGrantable):
		return outcome{}, mistakef("%s can be approved once only, not for the intent: %s", r.ID, onlyOnce(r))
	case err != nil:
		return outcome{}, fmt.Errorf("answer %s: %w", r.ID, err)
	}
	if err := b.recordAnswer(ctx, r, given, grants); err != nil {
		return outcome{}, err
	}
	if given.Decision == approval.Once && ask.ForNobody(r) {
		return b.apply(ctx, r)
	}
	return b.outcome(given, grants), nil
}

// apply does what was approved, since the agent that asked may be gone.
func (b *inbox) apply(ctx context.Context, r approval.Request) (done outcome, err error) {
	err = b.withServer(func(srv *server.Server) error {
		text, err := srv.CarryOut(ctx, r)
		done = outcome{ID: r.ID, Decision: string(approval.Once), Grants: []string{}, text: fmt.Sprintf("Approved %s, and done: %s", r.ID, text)}
		return err
	})
	if err != nil {
		return outcome{}, foundf("%s is approved, but could not be carried out: %w; the agent has to ask again", r.ID, err)
	}
	return done, nil
}

// recordAnswer writes an answer down; one that cannot be recorded does not count.
func (b *inbox) recordAnswer(ctx context.Context, r approval.Request, given approval.Answer, grants []approval.Grant) error {
	detail, ids := map[string]any{}, records(grants, grantID)
	if len(ids) > 0 {
		detail["grants"] = ids
	}
	err := b.record(ctx, inboxRecord(r, ask.AnswerDecision(r, given), detail))
	if err == nil {
		return nil
	}
	takenBack := b.store.Void(r.ID)
	for _, id := range ids {
		takenBack = errors.Join(takenBack, b.store.Revoke(id))
	}
	if takenBack != nil {
		return fmt.Errorf("the answer to %s stands, but could not be recorded (%w), nor taken back: %v", r.ID, err, takenBack)
	}
	return fmt.Errorf("the answer to %s could not be recorded, so it does not count, and the agent has to ask again: %w", r.ID, err)
}

// onlyOnce says why a request cannot be approved for its intent; "" if it can.
func onlyOnce(r approval.Request) string {
	switch {
	case r.OnceWhy != "":
		return printable.Text(r.OnceWhy)
	case r.IntentID == "":
		return "it belongs to no intent"
	case r.Once:
		return "it must be looked at each time"
	}
	return ""
}

// outcome says what an answer does, also in a line.
func (b *inbox) outcome(given approval.Answer, grants []approval.Grant) outcome {
	done := outcome{ID: given.ID, Decision: string(given.Decision), Grants: records(grants, grantID)}
	switch given.Decision {
	case approval.Deny:
		done.text = "Denied " + given.ID + "; the agent is told."
	case approval.ForIntent:
		done.text = "Approved " + given.ID + " until the intent ends."
		for _, g := range grants {
			done.text += fmt.Sprintf(" %s lets %s pass at %s.", g.ID, printable.Text(g.ErrorType), printer.Cell(grantSubject(g), maxSubject))
		}
	default:
		done.ExpiresAt = &given.ExpiresAt
		done.text = fmt.Sprintf("Approved %s, once, until %s (%s). A call that still waits goes on by itself; else the agent has to call resume_approval, or the same again.",
			given.ID, given.ExpiresAt.Local().Format("15:04"), printable.Age(given.ExpiresAt.Sub(b.now())))
	}
	return done
}

func (a *app) newApprovalsDenyCommand() *cobra.Command {
	var reason string
	cmd := a.operatorCommand(&cobra.Command{
		Use:     "deny ID",
		Short:   "Refuse a request; the agent is told your reason",
		Example: "  orchestra-mcp approvals deny apr_k3x7q2 --reason \"use the existing parser\"",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeApproval,
	}, func(ctx context.Context, args []string) error {
		if n := utf8.RuneCountInString(reason); n > approval.MaxReason {
			return usageErrorf("--reason has %d characters; at most %d can be kept", n, approval.MaxReason)
		}
		return a.withInbox(ctx, func(b *inbox) error {
			r, err := b.request(args[0])
			if err != nil {
				return err
			}
			return b.print(b.decide(ctx, r, approval.Answer{Decision: approval.Deny, Reason: reason}))
		})
	})
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT` that reaches the agent as yours")
	return cmd
}

func (a *app) newApprovalsRevokeCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "revoke ID",
		Short: "Withdraw a grant, or an answer that was not used yet",
		Long: `Withdraw a grant (grt_…): from now on the same call is asked about again. The id of a request (apr_…) withdraws its
answer, as long as no call has used it; a denial too.`,
		Example: "  orchestra-mcp approvals revoke grt_k3x7q2",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeGrant,
	}, a.inInbox(func(ctx context.Context, b *inbox, args []string) error { return b.print(b.revoke(ctx, args[0])) }))
}

func (b *inbox) revoke(ctx context.Context, text string) (outcome, error) {
	s, err := b.standing()
	if err != nil {
		return outcome{}, err
	}
	id, err := find(text, slices.Concat(records(s.grants, grantID), records(s.answered, answeredID)))
	if err != nil {
		return outcome{}, err
	}
	about := b.revoked(id, s.grants)
	err = b.store.Revoke(id)
	if errors.Is(err, approval.ErrUnknown) {
		return outcome{}, foundf("there is no grant %s that stands, and no answer of that id that waits to be used: it was revoked, used, or has ended with its intent", id)
	}
	if err != nil {
		return outcome{}, fmt.Errorf("revoke %s: %w", id, err)
	}
	decision := ask.Decision(about, ask.Revoked)
	decision.Principal = operatorName()
	if err := b.record(ctx, inboxRecord(about, decision, nil)); err != nil {
		return outcome{}, fmt.Errorf("%s is revoked, but that could not be recorded: %w", id, err)
	}
	return outcome{ID: id, Decision: "revoked", Grants: []string{}, text: "Revoked " + id + "; the same call is asked about again."}, nil
}

// revoked is what a grant or an answer was about, as a request.
func (b *inbox) revoked(id string, grants []approval.Grant) approval.Request {
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
	r, err := b.store.Get(id)
	if err != nil {
		r.ID = id
	}
	return r
}

// completeGrant offers the ids of the grants, and of the answers that no call has used.
func (a *app) completeGrant(cmd *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		_ = a.withInbox(cmd.Context(), func(b *inbox) error {
			s, err := b.standing()
			for _, g := range s.grants {
				ids = append(ids, fmt.Sprintf("%s\t%s", g.ID, printer.Cell(grantSubject(g), maxCompletion)))
			}
			for _, one := range s.answered {
				ids = append(ids, fmt.Sprintf("%s\t%s: %s", one.Request.ID, decisionText[one.Answer.Decision], printer.Cell(one.Request.Subject(), maxCompletion)))
			}
			return err
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
