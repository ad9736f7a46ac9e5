package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

type undoFlags struct {
	intent               string
	yes, dryRun, partial bool
	json                 *bool
}

func (a *app) newUndoCommand() *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:   "undo RECORD... | --intent ID",
		Short: "Take recorded changes back",
		Long: "Take back what records changed, or all that still stands of an intent. What was changed since stays; where both\n" +
			"touch the same lines nothing is changed, and the exit code is 1. With --partial the files that can be taken back are,\n" +
			"and the others are named. The difference is shown first. The undo is a record of its own, and can be undone.",
		Example: "  orchestra-mcp undo 1f6b3c9a\n  orchestra-mcp undo --intent INT-001 --dry-run",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.intent, "intent", "", "take back all that still stands of the intent `ID`")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do it without asking")
	flags.BoolVar(&f.partial, "partial", false, "take back the files that can be, and leave those that cannot")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	f.json = addJSONFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("intent", a.completeIntentFlag)
	cmd.ValidArgsFunction = a.completeRecord(func(e ledger.Entry) bool { return len(e.Changes) > 0 })
	cmd.RunE = a.operator(func(cmd *cobra.Command, args []string) error { return a.undo(cmd.Context(), args, f) })
	return cmd
}

func (a *app) undo(ctx context.Context, records []string, f undoFlags) error {
	switch {
	case (len(records) == 0) == (f.intent == ""):
		return usageErrorf("undo: give either the ids of records (orchestra-mcp log shows them) or --intent ID")
	case *f.json && !f.yes && !f.dryRun:
		return usageErrorf("undo --json does not ask: add --yes to undo, or --dry-run to see what would be done")
	}
	if f.intent != "" {
		if err := a.ask(ctx, func(q *question) error { return q.knownIntent(ctx, f.intent) }); err != nil {
			return err
		}
	}
	return a.withServer(func(srv *server.Server) error {
		return a.undoWith(ctx, srv, undo.Request{Records: records, IntentID: f.intent}, f)
	})
}

// openServer opens the workspace as a server does, next to those that run. Only errors are logged: what a server
// warns of is not about this command.
func (a *app) openServer() (*server.Server, error) {
	dir, err := a.workspaceDir()
	if err != nil {
		return nil, err
	}
	loaded, err := a.loadSettings(dir, nil)
	if err != nil {
		return nil, err
	}
	srv, err := server.New(server.Options{
		Dir: dir, Settings: loaded.Settings, Version: buildinfo.Read().Version, Logger: a.logger(settings.LevelError),
		UserDir: settings.UserDir(a.environ()),
	})
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", dir, err)
	}
	return srv, nil
}

// withServer opens the workspace as a server does, for a body.
func (a *app) withServer(body func(*server.Server) error) error {
	srv, err := a.openServer()
	if err != nil {
		return err
	}
	return errors.Join(body(srv), srv.Close())
}

func (a *app) undoWith(ctx context.Context, srv *server.Server, r undo.Request, f undoFlags) error {
	plan, err := srv.PlanUndo(ctx, r)
	if isUndoUsage(err) {
		return mistakef("undo: %w", err)
	}
	if errors.Is(err, undo.ErrNotYet) {
		return &exitError{code: exitFound, err: fmt.Errorf("undo: %w", err)}
	}
	if err != nil {
		return err
	}
	if f.partial {
		plan = plan.Partial()
	}
	a.printUnread(plan.Unread)
	answer := newUndoAnswer(plan)
	if !*f.json {
		a.printPlan(plan, answer)
	}
	if done, err := a.agreed(plan, f); err != nil || done {
		return a.endUndo(answer, f, leaving(plan, err))
	}
	answer.RecordID, answer.Warnings, err = srv.Undo(ctx, plan)
	var refused *refusal.Refusal
	if errors.As(err, &refused) {
		err = fmt.Errorf("undo: %s %s", refused.Reason(), refused.Suggestion())
		if slices.Contains([]refusal.Code{refusal.StaleFile, refusal.Busy}, refused.Code()) {
			err = &exitError{code: exitFound, err: err}
		}
	}
	return a.endUndo(answer, f, leaving(plan, err))
}

// leaving makes the exit code say that files were left as they are.
func leaving(plan *undo.Plan, err error) error {
	if err == nil && len(plan.Left) > 0 {
		return foundSomething()
	}
	return err
}

func isUndoUsage(err error) bool {
	return errors.Is(err, undo.ErrNoRecord) || errors.Is(err, undo.ErrAmbiguous) || errors.Is(err, undo.ErrIntents)
}

// agreed asks where somebody has to. done says that the command is at its end.
func (a *app) agreed(plan *undo.Plan, f undoFlags) (done bool, err error) {
	switch {
	case len(plan.Conflicts) > 0:
		return true, foundSomething()
	case !plan.Ready() || f.dryRun:
		return true, nil
	case f.yes:
		return false, nil
	case !a.inTerminal:
		return true, usageErrorf("undo asks, and the input is not a terminal: add --yes if you have looked at what it does")
	case !a.confirm("Undo this?"):
		fmt.Fprintln(a.out, "Nothing was changed.")
		return true, foundSomething()
	}
	return false, nil
}

// endUndo tells the outcome.
func (a *app) endUndo(answer undoAnswer, f undoFlags, err error) error {
	if *f.json {
		return errors.Join(printJSON(a.out, answer), err)
	}
	for _, w := range answer.Warnings {
		fmt.Fprintf(a.err, "orchestra-mcp: %s\n", printable(w))
	}
	if answer.RecordID != "" {
		fmt.Fprintf(a.out, "Undone. Record %s\n", shortID(answer.RecordID))
	}
	return err
}
