package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

func (a *app) newApprovalsListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what waits for an answer, and what you have answered and granted",
		Long: "List the requests that wait for an answer, oldest first, then your answers that no call has used yet, then the grants\n" +
			"that stand.\n\n" +
			"With --json the requests are a list of {id, tool, intent_id, error_type, path, command, created_at, expires_at}; with\n" +
			"--answered --json the answers are a list of the same and {decision, reason, by, via, answered_at}, where expires_at is\n" +
			"when the answer does; with --grants --json the grants are a list of {id, request_id, intent_id, error_type, check, rule,\n" +
			"path, command, cwd, by, via, created_at}.",
		Args: cobra.NoArgs,
	}
	grants := cmd.Flags().Bool("grants", false, "list the grants only")
	answered := cmd.Flags().Bool("answered", false, "list the unused answers only")
	cmd.MarkFlagsMutuallyExclusive("grants", "answered")
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		return a.withInbox(cmd.Context(), func(b *inbox) error { return b.list(!*grants && !*answered, *answered, *asJSON) })
	})
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
	return grantRecord{g.ID, g.Request, g.IntentID, g.ErrorType, g.Hook, g.Rule, g.Path, g.Line, g.Cwd, g.By, g.Via, g.CreatedAt}
}

// list lists all, or the answers only, or the grants only.
func (b *inbox) list(all, answeredOnly, asJSON bool) error {
	pending, err := b.store.Pending()
	if err != nil {
		return err
	}
	answered, err := b.store.Answered()
	if err != nil {
		return err
	}
	grants, err := b.store.Grants()
	if err == nil && len(pending)+len(answered)+len(grants) == 0 {
		err = requireWorkspace(b.root)
	}
	switch {
	case err != nil:
		return err
	case asJSON && all:
		return printJSON(b.out, records(pending, newPendingRecord))
	case asJSON && answeredOnly:
		return printJSON(b.out, records(answered, newAnsweredRecord))
	case asJSON:
		return printJSON(b.out, records(grants, newGrantRecord))
	case all:
		err = b.printPending(pending)
	}
	if answeredOnly || all && len(answered) > 0 {
		err = errors.Join(err, b.printAnswered(answered))
	}
	if !answeredOnly && (!all || len(grants) > 0) {
		err = errors.Join(err, b.printGrants(grants))
	}
	return err
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

func (b *inbox) printPending(pending []approval.Request) error {
	if len(pending) == 0 {
		_, err := fmt.Fprintln(b.out, b.styled(styleGreen, "Nothing waits for an answer."))
		return err
	}
	rows := [][]string{{"ID", "AGE", "TOOL", "INTENT", "WHY", "ABOUT", "EXPIRES IN"}}
	for _, r := range pending {
		rows = append(rows, []string{
			r.ID[:idLength], b.age(r.CreatedAt), tableCell(r.Tool, maxCell), tableCell(r.IntentID, maxCell),
			tableCell(whyOf(r), maxCell), tableCell(r.Subject(), maxSubject), watch.Age(r.ExpiresAt.Sub(b.now())),
		})
	}
	return printTable(b.out, rows)
}

func (b *inbox) printAnswered(answered []approval.Answered) error {
	if len(answered) == 0 {
		_, err := fmt.Fprintln(b.out, "No answer waits to be used.")
		return err
	}
	if _, err := fmt.Fprintln(b.out, "\nAnswered, and used by no call yet; orchestra-mcp approvals revoke takes an answer back:"); err != nil {
		return err
	}
	rows := [][]string{{"ID", "AGE", "TOOL", "INTENT", "ANSWER", "ABOUT", "HOLDS FOR"}}
	for _, one := range answered {
		r, answer := one.Request, one.Answer
		rows = append(rows, []string{
			r.ID[:idLength], b.age(answer.AnsweredAt), tableCell(r.Tool, maxCell), tableCell(r.IntentID, maxCell),
			decisionText[answer.Decision], tableCell(r.Subject(), maxSubject), watch.Age(answer.ExpiresAt.Sub(b.now())),
		})
	}
	return printTable(b.out, rows)
}

func (b *inbox) printGrants(grants []approval.Grant) error {
	if len(grants) == 0 {
		_, err := fmt.Fprintln(b.out, "No grant stands.")
		return err
	}
	if _, err := fmt.Fprintln(b.out, "\nGranted until the intent ends, or you run orchestra-mcp approvals revoke:"); err != nil {
		return err
	}
	rows := [][]string{{"GRANT", "AGE", "INTENT", "LETS PASS", "AT", "BY"}}
	for _, g := range grants {
		rows = append(rows, []string{
			g.ID[:idLength], b.age(g.CreatedAt), tableCell(g.IntentID, maxCell), tableCell(g.ErrorType, maxCell),
			tableCell(grantSubject(g), maxSubject), tableCell(g.By, maxCell),
		})
	}
	return printTable(b.out, rows)
}

// tableCell is a text made visible and bounded; both ends of what is too long are kept, for a path as for a command.
func tableCell(text string, n int) string {
	if text == "" {
		return "-"
	}
	shown := []rune(printable(text))
	if len(shown) <= n {
		return string(shown)
	}
	head := (n - 1) / 2
	return string(shown[:head]) + "…" + string(shown[len(shown)-(n-1-head):])
}

func (b *inbox) age(t time.Time) string { return watch.Age(b.now().Sub(t)) }

// whyOf is the code of what stopped a call, or what is asked for besides calls.
func whyOf(r approval.Request) string {
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

func grantSubject(g approval.Grant) string {
	if g.Line != "" {
		return g.Line
	}
	return g.Path
}
