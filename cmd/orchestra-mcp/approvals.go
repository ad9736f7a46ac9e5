package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

func (a *app) newApprovalsCommand() *cobra.Command {
	return makeGroup(&cobra.Command{
		Use:   "approvals",
		Short: "See and answer what agents ask for",
		Long: `A call that needs your approval waits here until you answer it, from any terminal of yours on this machine.

ID is the id that the agent was given, or its beginning where that means one.`,
		Example: "  orchestra-mcp approvals watch\n  orchestra-mcp approvals show apr_k3x7q2\n  orchestra-mcp approvals approve apr_k3x7q2",
	}, a.newApprovalsListCommand(), a.newApprovalsShowCommand(), a.newApprovalsApproveCommand(),
		a.newApprovalsDenyCommand(), a.newApprovalsRevokeCommand(), a.newApprovalsWatchCommand())
}

// inbox is the operator's inbox of a workspace, as a command uses it.
type inbox struct {
	*app
	*operator.Inbox
	// report tells what went wrong beside the command's own work.
	report func(string)
}

// withInbox opens the inbox for a body.
func (a *app) withInbox(ctx context.Context, body func(*inbox) error) error {
	return a.withOperator(ctx, func(w *operator.Workspace) error {
		opened, err := w.Inbox()
		if err != nil {
			return err
		}
		b := &inbox{app: a, Inbox: opened, report: func(text string) { a.warn("%s", text) }}
		defer b.recordExpired(ctx)
		return body(b)
	})
}

// inInbox is the body of a command that needs the inbox open.
func (a *app) inInbox(do func(ctx context.Context, b *inbox, args []string) error) body {
	return func(ctx context.Context, args []string) error {
		return a.withInbox(ctx, func(b *inbox) error { return do(ctx, b, args) })
	}
}

func answeredID(one approval.Answered) string { return one.Request.ID }

func grantID(g approval.Grant) string { return g.ID }

// find returns the one id that is meant, among those given: the id itself or a beginning of it, also without what all
// ids of its kind begin with. An id that is complete is returned even if it is not among them: there may be more to say
// about it than that it is not there.
func find(text string, ids []string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", usageErrorf("the id is empty")
	}
	var found []string
	for _, id := range ids {
		switch _, bare, _ := strings.Cut(id, "_"); {
		case id == text || bare == text:
			return id, nil
		case strings.HasPrefix(id, text), strings.HasPrefix(bare, text):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", mistakef("%s is the beginning of %d ids: %s; give more of it", text, len(found), strings.Join(found, ", "))
	case approval.IsID(text):
		return text, nil
	}
	return "", foundf("nothing that waits or stands has an id that begins with %s; orchestra-mcp approvals list shows what does", text)
}

// request finds a request that waits, or whose answer does.
func (b *inbox) request(text string) (approval.Request, error) {
	s, err := b.Standing()
	if err != nil {
		return approval.Request{}, err
	}
	id, err := find(text, slices.Concat(records(s.Pending, func(r approval.Request) string { return r.ID }), records(s.Answered, answeredID)))
	if err != nil {
		return approval.Request{}, err
	}
	r, err := b.Request(id)
	return r, asExit(err)
}

// asExit gives an error of the inbox the exit code that it means.
func asExit(err error) error {
	past, is := errors.AsType[*operator.Past](err)
	switch {
	case is:
		return foundf("%w", past)
	case errors.Is(err, operator.ErrOnlyOnce):
		return mistakef("%w", err)
	}
	return err
}

// recordExpired writes down what this process found expired. It is no error of the command that found it.
func (b *inbox) recordExpired(ctx context.Context) {
	if err := b.RecordExpired(ctx); err != nil {
		b.report(err.Error())
	}
}

// completeApproval offers the ids of what waits.
func (a *app) completeApproval(cmd *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		_ = a.withInbox(cmd.Context(), func(b *inbox) error {
			pending, err := b.Store.Pending()
			for _, r := range pending {
				ids = append(ids, r.ID+"\t"+printable.Clip(approval.ViewOf(r).Title, maxCompletion))
			}
			return err
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
