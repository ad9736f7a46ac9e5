package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// Inbox has what agents ask for in a workspace, what was answered and is not used yet, and what was granted.
type Inbox struct {
	*Workspace
	Store *approval.Store
	// expired are the requests that the store removed in this process, and that are not recorded yet.
	mu      sync.Mutex
	expired []approval.Request
}

// Inbox opens the requests of the workspace. approval.ErrNoUserDir: no other process can see what is asked.
func (w *Workspace) Inbox() (*Inbox, error) {
	loaded, err := w.Settings()
	if err != nil {
		return nil, err
	}
	b := &Inbox{Workspace: w}
	b.Store = approval.Open(w.Root, approval.Options{
		UserDir: w.UserDir(), Lifetime: loaded.Settings.Approvals.Lifetime, Clock: w.Now, Expired: b.expire,
	})
	if !b.Store.Shared() {
		return nil, approval.ErrNoUserDir
	}
	return b, nil
}

func (b *Inbox) expire(r approval.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expired = append(b.expired, r)
}

// Standing is all that waits, was answered and not used, or was granted.
type Standing struct {
	Pending  []approval.Request
	Answered []approval.Answered
	Grants   []approval.Grant
}

// Standing looks at all of it.
func (b *Inbox) Standing() (s Standing, err error) {
	var errs [3]error
	s.Pending, errs[0] = b.Store.Pending()
	s.Answered, errs[1] = b.Store.Answered()
	s.Grants, errs[2] = b.Store.Grants()
	return s, errors.Join(errs[:]...)
}

// Request gives a request that waits, or whose answer does. An error that is a *Past says what became of it.
func (b *Inbox) Request(id string) (approval.Request, error) {
	r, err := b.Store.Get(id)
	if errors.Is(err, approval.ErrUnknown) {
		return r, b.past(id)
	}
	return r, err
}

// Past is an error about something that could have been answered or revoked once, or that changed meanwhile. Its text is
// safe to print.
type Past struct{ text string }

func (p *Past) Error() string { return p.text }

// past says what became of a request that cannot be answered.
func (b *Inbox) past(id string) error {
	id = printable.Clip(id, 100)
	switch answer, err := b.Store.AnswerOf(id); {
	case err == nil:
		return &Past{fmt.Sprintf("%s was answered already: %s", id, AnswerText(answer))}
	case b.Store.Spent(id):
		return &Past{fmt.Sprintf("%s was approved and has been used, or it was taken back; there is nothing to answer", id)}
	}
	return &Past{fmt.Sprintf("no request %s waits: it has expired, or it is of another workspace or user", printable.Text(id))}
}

// DecisionText says in words what was decided.
func DecisionText(d approval.Decision) string {
	switch d {
	case approval.Once:
		return "approved once"
	case approval.ForIntent:
		return "approved for the intent"
	}
	return "denied"
}

// AnswerText tells an answer in a few words.
func AnswerText(answer approval.Answer) string {
	text := DecisionText(answer.Decision)
	if answer.By != "" {
		text += " by " + printable.Text(answer.By)
	}
	text += fmt.Sprintf(" at %s, by %s", answer.AnsweredAt.Local().Format("15:04:05"), printable.Text(answer.Via))
	if answer.Reason != "" {
		text += ": " + printable.Text(answer.Reason)
	}
	return text
}

// WhyOf is in a few words what stopped a call, or what is asked for besides calls. Requests with the same one are of a kind.
func WhyOf(r approval.Request) string {
	switch {
	case r.Tool == "propose_intent":
		return "new intent"
	case r.Tool == "request_scope_expansion":
		return "wider scope"
	}
	if more := len(r.Checks) - 1; more > 0 {
		return fmt.Sprintf("%s +%d", r.ErrorType(), more)
	}
	return r.ErrorType()
}

// GrantSubject is what a grant lets pass at: a command line, a call of another server, or a path.
func GrantSubject(g approval.Grant) string { return cmp.Or(g.Line, g.Call, g.Path) }

// OnlyOnce says why a request cannot be approved for its intent; "" if it can.
func OnlyOnce(r approval.Request) string {
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

// record appends decisions about requests to the ledger, as a server does; it returns when they are on disk.
func (b *Inbox) record(ctx context.Context, records ...record.Record) error {
	return b.WithServer(func(srv *server.Server) error {
		for _, r := range records {
			if _, err := srv.Ledger().Append(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordOf is the record of a decision that was taken here. detail says more than its fields can.
func (b *Inbox) recordOf(r approval.Request, d record.Decision, detail map[string]any) record.Record {
	made := ask.Record(r, d, b.Via)
	maps.Copy(made.Detail, detail)
	return made
}

// RecordExpired writes down which requests this process found expired, and removed.
func (b *Inbox) RecordExpired(ctx context.Context) error {
	b.mu.Lock()
	expired := b.expired
	b.expired = nil
	b.mu.Unlock()
	if len(expired) == 0 {
		return nil
	}
	var records []record.Record
	for _, r := range expired {
		expiry := b.recordOf(r, ask.Decision(r, ask.Expired), nil)
		expiry.Contributor = record.Contributor{} // nobody did it
		records = append(records, expiry)
	}
	if err := b.record(ctx, records...); err != nil {
		return fmt.Errorf("%d requests expired, but that could not be recorded: %w", len(records), err)
	}
	return nil
}
