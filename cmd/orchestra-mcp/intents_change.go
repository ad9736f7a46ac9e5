package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// addFlags describe a new intent.
type addFlags struct {
	id, name, description, status  string
	scope, constraints, acceptance []string
	json                           *bool
}

func (a *app) newIntentsAddCommand() *cobra.Command {
	var flags addFlags
	cmd := &cobra.Command{
		Use:   "add [--name NAME --scope GLOB...]",
		Short: "Add an intent",
		Long: "Add an intent to .orchestration/active_intents.yaml. On a terminal, without --name, it asks for what the flags do\n" +
			"not give, and proposes the source directories that it finds; nothing is written before the last answer.",
		Example: "  orchestra-mcp intents add --name \"Build the weather API\" --scope \"src/api/**\" --scope src/weather.ts",
		Args:    cobra.NoArgs,
		RunE: a.operator(func(cmd *cobra.Command, _ []string) error {
			return a.addIntent(cmd.Context(), flags)
		}),
	}
	flags.json = addJSONFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.id, "id", "", "its `ID` (default: the next free one)")
	f.StringVar(&flags.name, "name", "", "a short `NAME`; without it you are asked, on a terminal")
	f.StringArrayVar(&flags.scope, "scope", nil, "a `GLOB` of paths that it owns; can be given several times")
	f.StringVar(&flags.description, "description", "", "what the agent is to do")
	f.StringVar(&flags.status, "status", "todo", "todo, in_progress or blocked")
	f.StringArrayVar(&flags.constraints, "constraint", nil, "a constraint that the agent is told; can be given several times")
	f.StringArrayVar(&flags.acceptance, "acceptance", nil, "an acceptance criterion; can be given several times")
	return cmd
}

func (a *app) addIntent(ctx context.Context, flags addFlags) error {
	if flags.name == "" && a.inTerminal && !*flags.json {
		if err := a.askIntent(&flags); err != nil {
			return err
		}
	}
	in, err := a.intentFrom(flags)
	if err != nil {
		return err
	}
	if err := a.withIntents(func(store *intent.Store) error { _, _, err := store.PlanAdd(in); return err }); err != nil {
		return fmt.Errorf("add the intent: %w", explainIntentError(err))
	}
	err = a.withServer(func(srv *server.Server) error {
		in.ID, err = srv.AddIntent(ctx, in)
		return err
	})
	if err != nil {
		return fmt.Errorf("add the intent: %w", err)
	}
	if len(in.OwnedScope) == 0 {
		fmt.Fprintf(a.err, "warning: %s has no scope, so an agent may change everything under it; give one with --scope\n", in.ID)
	}
	if err := a.tellIdle(in.OwnedScope); err != nil {
		return err
	}
	if *flags.json {
		return a.withIntentSet(func(set *intent.Set) error {
			added, ok := set.Get(in.ID)
			if !ok {
				return unknownIntent(in.ID, set)
			}
			return printJSON(a.out, added)
		})
	}
	_, err = fmt.Fprintf(a.out, "Added %s: %s (%s)\n", in.ID, printable(in.Name), in.Status)
	return err
}

func (a *app) tellIdle(globs []string) error {
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	a.warnIdle(root, globs)
	return nil
}

// askIntent asks for what the flags do not say. What they say wrong is told before anything is asked.
func (a *app) askIntent(flags *addFlags) error {
	named := *flags
	named.name = "to be asked"
	if _, err := a.intentFrom(named); err != nil {
		return err
	}
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := intent.Open(root).Load(); err != nil {
		return err
	}
	found, err := scaffold.Detect(root)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	ask := newQuestions(a.in, a.out)
	flags.name = ask.needed("Name")
	if len(flags.scope) == 0 {
		flags.scope = ask.globs("Paths, separated by spaces", found.Scope)
	}
	if flags.description == "" {
		flags.description = ask.line("What is to be done (may be empty)", "", nil)
	}
	if ask.err != nil {
		return fmt.Errorf("intents add: %w: nothing was written", ask.err)
	}
	return nil
}

func (a *app) intentFrom(flags addFlags) (intent.Intent, error) {
	status, ok := intent.ParseStatus(flags.status)
	switch {
	case strings.TrimSpace(flags.name) == "":
		return intent.Intent{}, usageErrorf("intents add: --name is missing")
	case flags.id != "" && !intent.ValidID(flags.id):
		return intent.Intent{}, usageErrorf("--id %q is not an id: a letter, then up to 63 letters, digits, dots, dashes or underscores", flags.id)
	case !ok || status == intent.Done:
		return intent.Intent{}, usageErrorf("--status %q: a new intent is todo, in_progress or blocked", flags.status)
	}
	if _, err := intent.CompileScope(flags.scope); err != nil {
		return intent.Intent{}, usageErrorf("--scope: %w", err)
	}
	in := intent.Intent{
		ID: flags.id, Name: flags.name, Status: status, Description: flags.description, OwnedScope: flags.scope,
		Constraints: flags.constraints, AcceptanceCriteria: flags.acceptance,
	}
	if status == intent.InProgress {
		in.StartedAt = a.now().UTC()
	}
	return in, nil
}

// explainIntentError makes what a person got wrong a matter of usage.
func explainIntentError(err error) error {
	if errors.Is(err, intent.ErrInvalid) || errors.Is(err, intent.ErrDuplicateID) {
		return usageErrorf("%w", err)
	}
	return err
}

func (a *app) newIntentsScopeCommand() *cobra.Command {
	var add []string
	cmd := &cobra.Command{
		Use:               "scope ID [--add GLOB...]",
		Short:             "Show the scope of an intent, or add to it",
		Example:           "  orchestra-mcp intents scope INT-001 --add \"docs/**\" README.md",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeIntent,
	}
	asJSON := addJSONFlag(cmd)
	cmd.Flags().StringArrayVar(&add, "add", nil, "a `GLOB` to add; more can follow")
	show := a.run(func(_ *cobra.Command, args []string) error { return a.showScope(args[0], *asJSON) })
	extend := a.operator(func(cmd *cobra.Command, args []string) error {
		return a.addScope(cmd.Context(), args[0], append(add, args[1:]...), *asJSON)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case cmd.Flags().Changed("add"):
			return extend(cmd, args)
		case len(args) > 1:
			return usageErrorf("intents scope: %q stands behind the id; use --add to add a glob", args[1])
		default:
			return show(cmd, args)
		}
	}
	return cmd
}

func (a *app) showScope(id string, asJSON bool) error {
	return a.withIntentSet(func(set *intent.Set) error { return a.printScope(set, id, asJSON) })
}

func (a *app) addScope(ctx context.Context, id string, globs []string, asJSON bool) error {
	if _, err := intent.CompileScope(globs); err != nil {
		return usageErrorf("--add: %w", err)
	}
	err := a.withIntents(func(store *intent.Store) error {
		_, err := store.PlanScope(id, globs)
		if errors.Is(err, intent.ErrUnknownIntent) {
			if known, loadErr := store.Load(); loadErr == nil {
				return unknownIntent(id, known)
			}
		}
		return explainIntentError(err)
	})
	if err == nil {
		err = a.withServer(func(srv *server.Server) error { return srv.AddScope(ctx, id, globs) })
	}
	if err != nil {
		return fmt.Errorf("add to the scope of %s: %w", printable(id), err)
	}
	if err := a.tellIdle(globs); err != nil {
		return err
	}
	return a.showScope(id, asJSON)
}

// printScope prints one glob a line, or everything for an intent without a scope.
func (a *app) printScope(set *intent.Set, id string, asJSON bool) error {
	in, ok := set.Get(id)
	if !ok {
		return unknownIntent(id, set)
	}
	if asJSON {
		return printJSON(a.out, struct {
			ID         string   `json:"id"`
			OwnedScope []string `json:"owned_scope"`
		}{in.ID, orEmpty(in.OwnedScope)})
	}
	if len(in.OwnedScope) == 0 {
		_, err := fmt.Fprintf(a.err, "%s has no owned_scope: every path is in its scope.\n", in.ID)
		return err
	}
	for _, glob := range in.OwnedScope {
		fmt.Fprintln(a.out, printable(glob))
	}
	return nil
}
