package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
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

// inbox is the store of a workspace's requests, as a command uses it.
type inbox struct {
	*app
	root  *os.Root
	store *approval.Store
	// expired are the requests that the store removed in this process, and that are not recorded yet.
	mu      sync.Mutex
	expired []approval.Request
	// report tells what went wrong beside the command's own work.
	report func(string)
}

// withInbox opens the store for a body.
func (a *app) withInbox(ctx context.Context, body func(*inbox) error) error {
	return a.withWorkspace(func(root *os.Root) error {
		loaded, err := a.loadSettings(root.Name(), nil)
		if err != nil {
			return err
		}
		b := &inbox{app: a, root: root, report: func(text string) { a.warn("%s", text) }}
		b.store = approval.Open(root, approval.Options{
			UserDir: settings.UserDir(a.environ()), Lifetime: loaded.Settings.Approvals.Lifetime, Clock: a.now,
			Expired: b.expire,
		})
		if !b.store.Shared() {
			return approval.ErrNoUserDir
		}
		defer b.recordExpired(ctx)
		return body(b)
	})
}

// inInbox is the body of a command that needs the store open.
func (a *app) inInbox(do func(ctx context.Context, b *inbox, args []string) error) body {
	return func(ctx context.Context, args []string) error {
		return a.withInbox(ctx, func(b *inbox) error { return do(ctx, b, args) })
	}
}

func (b *inbox) expire(r approval.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expired = append(b.expired, r)
}

// standing is all that waits, was answered and not used, or was granted.
type standing struct {
	pending  []approval.Request
	answered []approval.Answered
	grants   []approval.Grant
}

func (b *inbox) standing() (s standing, err error) {
	var errs [3]error
	s.pending, errs[0] = b.store.Pending()
	s.answered, errs[1] = b.store.Answered()
	s.grants, errs[2] = b.store.Grants()
	return s, errors.Join(errs[:]...)
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
	s, err := b.standing()
	if err != nil {
		return approval.Request{}, err
	}
	id, err := find(text, slices.Concat(records(s.pending, func(r approval.Request) string { return r.ID }), records(s.answered, answeredID)))
	if err != nil {
		return approval.Request{}, err
	}
	r, err := b.store.Get(id)
	if errors.Is(err, approval.ErrUnknown) {
		return r, foundf("%s", b.whyNot(id))
	}
	return r, err
}

// whyNot says what became of a request that cannot be answered.
func (b *inbox) whyNot(id string) string {
	switch answer, err := b.store.AnswerOf(id); {
	case err == nil:
		return fmt.Sprintf("%s was answered already: %s", id, answerText(answer))
	case b.store.Spent(id):
		return fmt.Sprintf("%s was approved and has been used, or it was taken back; there is nothing to answer", id)
	}
	return fmt.Sprintf("no request %s waits: it has expired, or it is of another workspace or user", id)
}

var decisionText = map[approval.Decision]string{
	approval.Once: "approved once", approval.ForIntent: "approved for the intent", approval.Deny: "denied",
}

// answerText tells an answer in a few words.
func answerText(answer approval.Answer) string {
	text := decisionText[answer.Decision]
	if answer.By != "" {
		text += " by " + printable.Text(answer.By)
	}
	text += fmt.Sprintf(" at %s, by %s", answer.AnsweredAt.Local().Format("15:04:05"), printable.Text(answer.Via))
	if answer.Reason != "" {
		text += ": " + printable.Text(answer.Reason)
	}
	return text
}

// operatorName is who answers, as the system knows them.
func operatorName() string {
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}

// record appends decisions about requests to the ledger, as a server does; it returns when they are on disk.
func (b *inbox) record(ctx context.Context, records ...record.Record) error {
	return b.withServer(func(srv *server.Server) error {
		for _, r := range records {
			if _, err := srv.Ledger().Append(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// inboxRecord is the record of a decision that was taken at the command line. detail says more than its fields can.
func inboxRecord(r approval.Request, d record.Decision, detail map[string]any) record.Record {
	record := ask.Record(r, d, approval.Inbox)
	maps.Copy(record.Detail, detail)
	return record
}

// recordExpired writes down what this process found expired. It is no error of the command that found it.
func (b *inbox) recordExpired(ctx context.Context) {
	b.mu.Lock()
	expired := b.expired
	b.expired = nil
	b.mu.Unlock()
	if len(expired) == 0 {
		return
	}
	var records []record.Record
	for _, r := range expired {
		expiry := inboxRecord(r, ask.Decision(r, ask.Expired), nil)
		expiry.Contributor = record.Contributor{} // nobody did it
		records = append(records, expiry)
	}
	if err := b.record(ctx, records...); err != nil {
		b.report(fmt.Sprintf("%s expired, but could not be recorded: %v", printer.Count(len(records), "request"), err))
	}
}

// completeApproval offers the ids of what waits.
func (a *app) completeApproval(cmd *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		_ = a.withInbox(cmd.Context(), func(b *inbox) error {
			pending, err := b.store.Pending()
			for _, r := range pending {
				ids = append(ids, r.ID+"\t"+printable.Clip(approval.ViewOf(r).Title, maxCompletion))
			}
			return err
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
