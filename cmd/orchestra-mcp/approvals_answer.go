package main

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
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
	return b.print(b.Answer(ctx, r, approval.Answer{Decision: decision}))
}

// print prints what was done, if it was.
func (b *inbox) print(done operator.Outcome, err error) error {
	if err == nil {
		b.answer(done, func() { b.Println(done.Text) })
	}
	return asExit(err)
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
			return b.print(b.Answer(ctx, r, approval.Answer{Decision: approval.Deny, Reason: reason}))
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

func (b *inbox) revoke(ctx context.Context, text string) (operator.Outcome, error) {
	s, err := b.Standing()
	if err != nil {
		return operator.Outcome{}, err
	}
	id, err := find(text, slices.Concat(records(s.Grants, grantID), records(s.Answered, answeredID)))
	if err != nil {
		return operator.Outcome{}, err
	}
	return b.Revoke(ctx, id)
}

// completeGrant offers the ids of the grants, and of the answers that no call has used.
func (a *app) completeGrant(cmd *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		_ = a.withInbox(cmd.Context(), func(b *inbox) error {
			s, err := b.Standing()
			for _, g := range s.Grants {
				ids = append(ids, fmt.Sprintf("%s\t%s", g.ID, printer.Cell(operator.GrantSubject(g), maxCompletion)))
			}
			for _, one := range s.Answered {
				ids = append(ids, fmt.Sprintf("%s\t%s: %s", one.Request.ID, operator.DecisionText(one.Answer.Decision), printer.Cell(one.Request.Subject(), maxCompletion)))
			}
			return err
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
