package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

func (a *app) newApprovalsListCommand() *cobra.Command {
	var grants, answered bool
	cmd := a.command(&cobra.Command{
		Use:   "list",
		Short: "List what waits for an answer, and what you have answered and granted",
		Long: `List the requests that wait for an answer, oldest first, then your answers that no call has used yet, then the grants
that stand.

With --json the requests are a list of {id, tool, intent_id, error_type, path, command, created_at, expires_at}; with
--answered --json the answers are a list of the same and {decision, reason, by, via, answered_at}, where expires_at is
when the answer does; with --grants --json the grants are a list of {id, request_id, intent_id, error_type, check, rule,
path, command, cwd, by, via, created_at}.`,
	}, a.inInbox(func(_ context.Context, b *inbox, _ []string) error { return b.list(!grants && !answered, answered) }))
	cmd.Flags().BoolVar(&grants, "grants", false, "list the grants only")
	cmd.Flags().BoolVar(&answered, "answered", false, "list the unused answers only")
	cmd.MarkFlagsMutuallyExclusive("grants", "answered")
	return cmd
}

// pendingRecord is a request in `approvals list --json`.
type pendingRecord struct {
	ID        string    `json:"id"`
	Tool      string    `json:"tool"`
	IntentID  string    `json:"intent_id"`
	ErrorType string    `json:"error_type"`
	Path      string    `json:"path"`
	Command   string    `json:"command"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

func newPendingRecord(r approval.Request) pendingRecord {
	return pendingRecord{r.ID, r.Tool, r.IntentID, r.ErrorType(), r.Path(), r.CommandLine(), r.CreatedAt, r.ExpiresAt}
}

// answeredRecord is an unused answer in `approvals list --answered --json`.
type answeredRecord struct {
	pendingRecord
	Decision   approval.Decision `json:"decision"`
	Reason     string            `json:"reason"`
	By         string            `json:"by"`
	Via        string            `json:"via"`
	AnsweredAt time.Time         `json:"answered_at"`
}

func newAnsweredRecord(answered approval.Answered) answeredRecord {
	record, answer := newPendingRecord(answered.Request), answered.Answer
	record.ExpiresAt = answer.ExpiresAt
	return answeredRecord{record, answer.Decision, answer.Reason, answer.By, answer.Via, answer.AnsweredAt}
}

// grantRecord is a grant in `approvals list --grants --json`.
type grantRecord struct {
	ID        string    `json:"id"`
	RequestID string    `json:"request_id"`
	IntentID  string    `json:"intent_id"`
	ErrorType string    `json:"error_type"`
	Check     string    `json:"check"`
	Rule      string    `json:"rule"`
	Path      string    `json:"path"`
	Command   string    `json:"command"`
	Cwd       string    `json:"cwd"`
	By        string    `json:"by"`
	Via       string    `json:"via"`
	CreatedAt time.Time `json:"created_at"`
}

func newGrantRecord(g approval.Grant) grantRecord {
	return grantRecord{g.ID, g.Request, g.IntentID, g.ErrorType, g.Hook, "", g.Path, cmp.Or(g.Line, g.Call), g.Cwd, g.By, g.Via, g.CreatedAt}
}

// list lists all, or the answers only, or the grants only.
func (b *inbox) list(all, answeredOnly bool) error {
	s, err := b.Standing()
	if err == nil && len(s.Pending)+len(s.Answered)+len(s.Grants) == 0 {
		err = requireWorkspace(b.Root)
	}
	switch {
	case err != nil:
		return err
	case b.json && all:
		b.JSON(records(s.Pending, newPendingRecord))
	case b.json && answeredOnly:
		b.JSON(records(s.Answered, newAnsweredRecord))
	case b.json:
		b.JSON(records(s.Grants, newGrantRecord))
	case answeredOnly:
		b.printAnswered(s.Answered)
	case !all:
		b.printGrants(s.Grants)
	default:
		b.printPending(s.Pending)
		if len(s.Answered) > 0 {
			b.printAnswered(s.Answered)
		}
		if len(s.Grants) > 0 {
			b.printGrants(s.Grants)
		}
	}
	return nil
}

// records are never null in JSON.
func records[T, R any](list []T, record func(T) R) []R {
	made := make([]R, 0, len(list))
	for _, one := range list {
		made = append(made, record(one))
	}
	return made
}

const (
	// idLength is how much of an id a table shows: six random characters tell a thousand requests apart, nearly always.
	idLength = len("apr_") + 6
	// maxCell and maxSubject bound the cells of a table, in characters; show has all of it.
	maxCell    = 24
	maxSubject = 60
)

func (b *inbox) printPending(pending []approval.Request) {
	if len(pending) == 0 {
		b.Println(b.Green("Nothing waits for an answer."))
	}
	printer.Table(b.Printer, "ID|AGE|TOOL|INTENT|WHY|ABOUT|EXPIRES IN", pending, func(r approval.Request) []any {
		return []any{r.ID[:idLength], b.age(r.CreatedAt), printer.Cell(r.Tool, maxCell), printer.Cell(r.IntentID, maxCell),
			printer.Cell(operator.WhyOf(r), maxCell), printer.Cell(r.Subject(), maxSubject), b.left(r.ExpiresAt)}
	})
}

func (b *inbox) printAnswered(answered []approval.Answered) {
	if len(answered) == 0 {
		b.Println("No answer waits to be used.")
		return
	}
	b.Printf("\nAnswered, and used by no call yet; orchestra-mcp approvals revoke takes an answer back:\n")
	printer.Table(b.Printer, "ID|AGE|TOOL|INTENT|ANSWER|ABOUT|HOLDS FOR", answered, func(one approval.Answered) []any {
		r, answer := one.Request, one.Answer
		return []any{r.ID[:idLength], b.age(answer.AnsweredAt), printer.Cell(r.Tool, maxCell), printer.Cell(r.IntentID, maxCell),
			operator.DecisionText(answer.Decision), printer.Cell(r.Subject(), maxSubject), b.left(answer.ExpiresAt)}
	})
}

func (b *inbox) printGrants(grants []approval.Grant) {
	if len(grants) == 0 {
		b.Println("No grant stands.")
		return
	}
	b.Printf("\nGranted until the intent ends, or you run orchestra-mcp approvals revoke:\n")
	printer.Table(b.Printer, "GRANT|AGE|INTENT|LETS PASS|AT|BY", grants, func(g approval.Grant) []any {
		return []any{g.ID[:idLength], b.age(g.CreatedAt), printer.Cell(g.IntentID, maxCell), printer.Cell(g.ErrorType, maxCell),
			printer.Cell(operator.GrantSubject(g), maxSubject), printer.Cell(g.By, maxCell)}
	})
}

// age says how long ago a time was, and left how far off it is.
func (a *app) age(t time.Time) string  { return printable.Age(a.now().Sub(t)) }
func (a *app) left(t time.Time) string { return printable.Age(t.Sub(a.now())) }
