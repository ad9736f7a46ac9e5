package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type undoCommand struct {
	*app
	intent               string
	yes, dryRun, partial bool
}

func (a *app) newUndoCommand() *cobra.Command {
	c := undoCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "undo RECORD... | --intent ID",
		Short: "Take recorded changes back",
		Long: `Take back what records changed, or all that still stands of an intent. What was changed since stays; where both
touch the same lines nothing is changed, and the exit code is 1. With --partial the files that can be taken back are,
and the others are named. The difference is shown first. The undo is a record of its own, and can be undone.`,
		Example:           "  orchestra-mcp undo 1f6b3c9a\n  orchestra-mcp undo --intent INT-001 --dry-run",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeRecord(func(e record.Entry) bool { return len(e.Changes) > 0 }),
	}, c.run)
	flags := cmd.Flags()
	flags.StringVar(&c.intent, "intent", "", "take back all that still stands of the intent `ID`")
	flags.BoolVarP(&c.yes, "yes", "y", false, "do it without asking")
	flags.BoolVar(&c.partial, "partial", false, "take back the files that can be, and leave those that cannot")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only show what would be done")
	_ = cmd.RegisterFlagCompletionFunc("intent", a.completeIntentFlag)
	return cmd
}

func (c *undoCommand) run(ctx context.Context, records []string) error {
	switch {
	case (len(records) == 0) == (c.intent == ""):
		return usageErrorf("undo: give either the ids of records (orchestra-mcp log shows them) or --intent ID")
	case c.json && !c.yes && !c.dryRun:
		return usageErrorf("undo --json does not ask: add --yes to undo, or --dry-run to see what would be done")
	}
	if c.intent != "" {
		if err := c.ask(ctx, nil, func(q *question) error { return q.knownIntent(ctx, c.intent) }); err != nil {
			return err
		}
	}
	return c.withServer(ctx, func(srv *server.Server) error {
		return c.undo(ctx, srv, undo.Request{Records: records, IntentID: c.intent})
	})
}

func (c *undoCommand) undo(ctx context.Context, srv *server.Server, r undo.Request) error {
	plan, err := srv.PlanUndo(ctx, r)
	switch {
	case errors.Is(err, undo.ErrNoRecord) || errors.Is(err, undo.ErrAmbiguous) || errors.Is(err, undo.ErrIntents):
		return mistakef("undo: %w", err)
	case errors.Is(err, undo.ErrNotYet):
		return foundf("undo: %w", err)
	case err != nil:
		return err
	}
	if c.partial {
		plan = plan.Partial()
	}
	c.printUnread(plan.Unread)
	answer := newUndoAnswer(plan)
	if !c.json {
		c.printPlan(plan, answer)
	}
	switch {
	case len(plan.Conflicts) > 0:
		err = foundSomething()
	case plan.Ready() && !c.dryRun:
		if err = c.agreed(c.yes, "undo", "what it does", "Undo this?", "Nothing was changed."); err == nil {
			answer.RecordID, answer.Warnings, err = srv.Undo(ctx, plan)
		}
	}
	if refused, isRefusal := errors.AsType[*refusal.Refusal](err); isRefusal {
		err = fmt.Errorf("undo: %s %s", refused.Reason(), refused.Suggestion())
		if refused.Code() == refusal.StaleFile || refused.Code() == refusal.Busy {
			err = foundf("%w", err)
		}
	}
	c.answer(answer, func() {
		for _, w := range answer.Warnings {
			c.warn("%s", w)
		}
		if answer.RecordID != "" {
			c.Printf("Undone. Record %s\n", brief.ShortID(answer.RecordID))
		}
	})
	if err == nil && len(plan.Left) > 0 { // files were left as they are
		return foundSomething()
	}
	return err
}

// undoAnswer is the document of `undo --json`. Files are those that can be taken back, conflicts those that cannot.
type undoAnswer struct {
	IntentID  string          `json:"intent_id"`
	Records   []string        `json:"records"`
	Already   []undo.Undone   `json:"already"`
	Files     []undoFile      `json:"files"`
	Conflicts []undo.Conflict `json:"conflicts"`
	UnderWay  []undo.Touch    `json:"under_way"`
	RecordID  string          `json:"record_id"`
	Warnings  []string        `json:"warnings"`
}

type undoFile struct {
	Operation   string   `json:"operation"`
	Path        string   `json:"path"`
	From        string   `json:"from,omitempty"`
	ContentHash string   `json:"content_hash"`
	Mode        string   `json:"mode,omitzero"` // after the undo, where that sets it
	Merged      bool     `json:"merged"`
	Notes       []string `json:"notes"`
	Records     []string `json:"records"`
	Diff        string   `json:"diff"`
}

func newUndoAnswer(p *undo.Plan) undoAnswer {
	answer := undoAnswer{
		IntentID: p.IntentID, Records: orEmpty(p.Records), Already: orEmpty(p.Already),
		Files: []undoFile{}, Conflicts: slices.Concat([]undo.Conflict{}, p.Conflicts, p.Left), UnderWay: orEmpty(p.UnderWay),
		Warnings: []string{},
	}
	for _, f := range p.Files {
		mode := ""
		if f.After.Mode != f.Before.Mode {
			mode = string(f.After.Mode)
		}
		answer.Files = append(answer.Files, undoFile{
			f.Op.Verb(), f.Path, f.From, f.After.Hash, mode, f.Merged, orEmpty(f.Notes), orEmpty(f.Records), undoDiff(f),
		})
	}
	return answer
}

// undoDiff is the change as a unified diff, or a line about what has no lines.
func undoDiff(f undo.File) string {
	before, err := workspace.Decode(f.Before.Bytes)
	after, other := workspace.Decode(f.After.Bytes)
	if err != nil || other != nil {
		if f.Before.Hash == f.After.Hash {
			return ""
		}
		return fmt.Sprintf("binary: %d bytes now, %d then\n", len(f.Before.Bytes), len(f.After.Bytes))
	}
	from, to := f.Path, f.Path
	switch f.Op {
	case change.Created:
		from = "/dev/null"
	case change.Deleted:
		to = "/dev/null"
	case change.Moved:
		from = f.From
	}
	old, fresh := before.String, after.String
	if plainCRLF(before) && plainCRLF(after) {
		old, fresh = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(fresh, "\r\n", "\n")
	}
	return edit.Unified(from, to, old, fresh, 3)
}

// plainCRLF: the text has no other line endings, so that showing them tells nothing.
func plainCRLF(t workspace.Text) bool {
	return t.LineEnding == workspace.CRLF || t.LineEnding == workspace.NoLineEnding
}

// printPlan shows a plan to a person.
func (a *app) printPlan(p *undo.Plan, answer undoAnswer) {
	for _, u := range p.Already {
		a.Printf("%s is undone already, by %s.\n", brief.ShortID(u.Record), brief.ShortID(u.By))
	}
	for _, c := range answer.Conflicts {
		a.printConflict(c)
	}
	for _, call := range p.UnderWay {
		a.Printf("%s (%s) has not ended: what it changes is not recorded yet, and is not taken back.\n", brief.ShortID(call.Record), call.Call)
	}
	if len(p.Conflicts) > 0 {
		a.Println("Nothing was changed.")
		if len(p.Files) > 0 {
			a.Printf("Add --partial to take back the rest, which is %s.\n", printer.Count(len(p.Files), "file"))
		}
		return
	}
	for _, f := range answer.Files {
		a.printUndoFile(f)
	}
	switch {
	case len(p.Files) > 0 && len(p.Left) > 0:
		a.Printf("This takes back a part of %s of %s: %s, and leaves %s.\n", printer.Count(len(p.Records), "record"),
			orNone(p.IntentID), printer.Count(len(p.Files), "file"), printer.Count(len(p.Left), "file"))
	case len(p.Files) > 0:
		a.Printf("This takes back %s of %s in %s.\n", printer.Count(len(p.Records), "record"), orNone(p.IntentID), printer.Count(len(p.Files), "file"))
	case len(p.Left) > 0:
		a.Println("Nothing was changed.")
	case len(p.Records) > 0:
		a.Println("Nothing to undo: the files are as they were before.")
	case len(p.Already) == 0:
		a.Printf("Nothing to undo: no change of %s still stands.\n", p.IntentID)
	}
}

func orNone(intentID string) string { return cmp.Or(intentID, "no intent") }

func (a *app) printUndoFile(f undoFile) {
	what := f.Operation + " " + f.Path
	if f.From != "" {
		what = fmt.Sprintf("%s %s to %s", f.Operation, f.From, f.Path)
	}
	if f.Merged {
		what += " (keeping what was changed since)"
	}
	if f.Mode != "" {
		what += ", mode " + f.Mode
	}
	a.Println(a.Bold(what))
	a.List("", "  ", f.Notes)
	for line := range strings.Lines(f.Diff) {
		a.DiffLine(strings.TrimSuffix(line, "\n"))
	}
	a.Println()
}

func (a *app) printConflict(c undo.Conflict) {
	a.Printf("%s record %s cannot be taken back: %s\n", a.Bold(c.Path+":"), brief.ShortID(c.Record), c.Reason)
	for _, p := range c.Places {
		a.printPlace(c, p)
	}
	for _, s := range c.Since {
		a.Printf("  since then: record %s (%s)\n", brief.ShortID(s.Record), orNone(s.IntentID)+", "+s.Call)
	}
	if len(c.Since) == 0 && len(c.Places) > 0 {
		a.Println("  since then: somebody outside the ledger")
	}
	a.Println()
}

func (a *app) printPlace(c undo.Conflict, p undo.Place) {
	where := "  "
	if p.Line > 0 {
		where = fmt.Sprintf("  line %d", p.Line)
		switch {
		case p.By != nil:
			where += fmt.Sprintf(", of record %s", brief.ShortID(p.By.Record))
		case len(p.Now) > 0 && len(c.Since) > 0:
			where += ", of somebody outside the ledger, or not to be told"
		}
	}
	a.Println(a.Cyan(where))
	for _, line := range p.Now {
		a.Printf("    now:    %s\n", printer.Line(line))
	}
	for _, line := range p.Wanted {
		a.Printf("    wanted: %s\n", printer.Line(line))
	}
}
