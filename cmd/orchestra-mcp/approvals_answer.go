package main

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
)

func (a *app) newApprovalsApproveCommand() *cobra.Command {
	var forIntent, yes bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Let a call pass, once or until its intent ends",
		Long: "Show a request, ask, and let it pass: once, exactly as shown, or with --for-intent whatever the same check stops at\n" +
			"the same path (or the same command line) until the intent ends. Every other check still holds.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeApproval,
	}
	cmd.Flags().BoolVar(&forIntent, "for-intent", false, "approve the same check at the same path until the intent ends")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve without showing and asking")
	asJSON = addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, args []string) error {
		if *asJSON && !yes {
			return usageErrorf("approve --json does not ask: add --yes if you have looked at the request with approvals show")
		}
		decision := approval.Once
		if forIntent {
			decision = approval.ForIntent
		}
		return a.withInbox(cmd.Context(), func(b *inbox) error { return b.approve(cmd.Context(), args[0], decision, yes, *asJSON) })
	})
	return cmd
}

func (b *inbox) approve(ctx context.Context, text string, decision approval.Decision, yes, asJSON bool) error {
	if !yes && !b.inTerminal {
		return usageErrorf("approve shows the request and asks, and the input is not a terminal: add --yes if you have looked at it with approvals show")
	}
	r, err := b.request(text)
	if err != nil {
		return err
	}
	if !yes {
		if err := b.printRequest(r); err != nil {
			return err
		}
		question := "Approve this once?"
		if decision == approval.ForIntent {
			question = "Approve this until " + printable(r.IntentID) + " ends?"
		}
		if !b.confirm(question) {
			fmt.Fprintln(b.out, "Not approved; it still waits. To refuse it, run orchestra-mcp approvals deny", r.ID)
			return foundSomething()
		}
	}
	done, err := b.answer(ctx, r, approval.Answer{Decision: decision})
	if err != nil {
		return err
	}
	return b.tell(done, asJSON)
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

func (b *inbox) tell(done outcome, asJSON bool) error {
	if asJSON {
		return printJSON(b.out, done)
	}
	_, err := fmt.Fprintln(b.out, done.text)
	return err
}

// answer gives an answer, and says what it does.
func (b *inbox) answer(ctx context.Context, r approval.Request, answer approval.Answer) (outcome, error) {
	if changed := b.changedMeanwhile(r); answer.Decision == approval.Once && len(changed) > 0 {
		return outcome{}, foundf("%s has changed since the agent asked, so to approve %s once would let nothing pass: the agent has to make its call again, and you will be asked about what it would do now",
			printable(changed[0]), r.ID)
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
		return b.carryOut(ctx, r)
	}
	return b.outcome(given, grants), nil
}

// carryOut does what was approved, since the agent that asked may be gone.
func (b *inbox) carryOut(ctx context.Context, r approval.Request) (outcome, error) {
	srv, err := b.openServer()
	if err != nil {
		return outcome{}, err
	}
	done, err := srv.CarryOut(ctx, r)
	if err = errors.Join(err, srv.Close()); err != nil {
		return outcome{}, foundf("%s is approved, but could not be carried out: %w; the agent has to ask again", r.ID, err)
	}
	return outcome{
		ID: r.ID, Decision: string(approval.Once), Grants: []string{}, text: fmt.Sprintf("Approved %s, and done: %s", r.ID, done),
	}, nil
}

// recordAnswer writes an answer down; one that cannot be recorded does not count.
func (b *inbox) recordAnswer(ctx context.Context, r approval.Request, given approval.Answer, grants []approval.Grant) error {
	detail := map[string]any{}
	var ids []string
	for _, g := range grants {
		ids = append(ids, g.ID)
	}
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
		return printable(r.OnceWhy)
	case r.IntentID == "":
		return "it belongs to no intent"
	case r.Once:
		return "it must be looked at each time"
	}
	return ""
}

// outcome says what an answer does, also in a line.
func (b *inbox) outcome(given approval.Answer, grants []approval.Grant) outcome {
	done := outcome{ID: given.ID, Decision: string(given.Decision), Grants: []string{}}
	switch given.Decision {
	case approval.Deny:
		done.text = "Denied " + given.ID + "; the agent is told."
		return done
	case approval.ForIntent:
		done.text = "Approved " + given.ID + " until the intent ends."
		for _, g := range grants {
			done.Grants = append(done.Grants, g.ID)
			done.text += fmt.Sprintf(" %s lets %s pass at %s.", g.ID, printable(g.ErrorType), tableCell(grantSubject(g), maxSubject))
		}
		return done
	}
	done.ExpiresAt = &given.ExpiresAt
	done.text = fmt.Sprintf("Approved %s, once, %s. A call that still waits goes on by itself; else the agent has to call resume_approval, or the same again.",
		given.ID, b.until(given.ExpiresAt))
	return done
}

func (a *app) newApprovalsDenyCommand() *cobra.Command {
	var reason string
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse a request; the agent is told your reason",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: a.completeApproval,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT` that reaches the agent as yours")
	asJSON = addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, args []string) error {
		if n := utf8.RuneCountInString(reason); n > approval.MaxReason {
			return usageErrorf("--reason has %d characters; at most %d can be kept", n, approval.MaxReason)
		}
		return a.withInbox(cmd.Context(), func(b *inbox) error {
			r, err := b.request(args[0])
			if err != nil {
				return err
			}
			done, err := b.answer(cmd.Context(), r, approval.Answer{Decision: approval.Deny, Reason: reason})
			if err != nil {
				return err
			}
			return b.tell(done, *asJSON)
		})
	})
	return cmd
}

func (a *app) newApprovalsRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Withdraw a grant, or an answer that was not used yet",
		Long: "Withdraw a grant (grt_…): from now on the same call is asked about again. The id of a request (apr_…) withdraws its\n" +
			"answer, as long as no call has used it; a denial too.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeGrant,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, args []string) error {
		return a.withInbox(cmd.Context(), func(b *inbox) error {
			done, err := b.revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return b.tell(done, *asJSON)
		})
	})
	return cmd
}

func (b *inbox) revoke(ctx context.Context, text string) (outcome, error) {
	grants, err := b.store.Grants()
	if err != nil {
		return outcome{}, err
	}
	answered, err := b.store.Answered()
	if err != nil {
		return outcome{}, err
	}
	ids := make([]string, 0, len(grants)+len(answered))
	for _, g := range grants {
		ids = append(ids, g.ID)
	}
	for _, one := range answered {
		ids = append(ids, one.Request.ID)
	}
	id, err := find(text, ids)
	if err != nil {
		return outcome{}, err
	}
	about := b.revoked(id, grants)
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
		check := approval.Check{Hook: g.Hook, Rule: g.Rule, ErrorType: g.ErrorType}
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
func (a *app) completeGrant(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) == 0 {
		_ = a.withInbox(cmd.Context(), func(b *inbox) error {
			grants, err := b.store.Grants()
			for _, g := range grants {
				ids = append(ids, g.ID+"\t"+tableCell(grantSubject(g), maxCompletion))
			}
			answered, errAnswered := b.store.Answered()
			for _, one := range answered {
				ids = append(ids, one.Request.ID+"\t"+decisionText[one.Answer.Decision]+": "+tableCell(one.Request.Subject(), maxCompletion))
			}
			return errors.Join(err, errAnswered)
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
