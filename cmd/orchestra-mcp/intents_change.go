package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// addCommand has the flags that describe a new intent.
type addCommand struct {
	*app
	id, name, description, status  string
	scope, constraints, acceptance []string
}

func (a *app) newIntentsAddCommand() *cobra.Command {
	c := addCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "add [--name NAME --scope GLOB...]",
		Short: "Add an intent",
		Long: `Add an intent to .orchestration/active_intents.yaml. On a terminal, without --name, it asks for what the flags do
not give, and proposes the source directories that it finds; nothing is written before the last answer.`,
		Example: "  orchestra-mcp intents add --name \"Build the weather API\" --scope \"src/api/**\" --scope src/weather.ts",
	}, c.run)
	f := cmd.Flags()
	f.StringVar(&c.id, "id", "", "its `ID` (default: the next free one)")
	f.StringVar(&c.name, "name", "", "a short `NAME`; without it you are asked, on a terminal")
	f.StringArrayVar(&c.scope, "scope", nil, "a `GLOB` of paths that it owns; can be given several times")
	f.StringVar(&c.description, "description", "", "what the agent is to do")
	f.StringVar(&c.status, "status", "todo", "todo, in_progress or blocked")
	f.StringArrayVar(&c.constraints, "constraint", nil, "a constraint that the agent is told; can be given several times")
	f.StringArrayVar(&c.acceptance, "acceptance", nil, "an acceptance criterion; can be given several times")
	return cmd
}

func (c *addCommand) run(ctx context.Context, _ []string) error {
	if c.name == "" && c.inTerminal && !c.json {
		if err := c.askIntent(); err != nil {
			return err
		}
	}
	in, err := c.intent()
	if err != nil {
		return err
	}
	err = c.withIntents(func(store *intent.Store) error {
		_, _, err := store.PlanAdd(in)
		return explainIntentError(err)
	})
	if err == nil {
		err = c.withServer(ctx, func(srv *server.Server) error {
			in.ID, err = srv.AddIntent(ctx, in)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("add the intent: %w", err)
	}
	if len(in.OwnedScope) == 0 {
		c.tell("warning: %s has no scope, so an agent may change everything under it; give one with --scope", in.ID)
	}
	if err := c.warnIdle(in.OwnedScope); err != nil {
		return err
	}
	if c.json {
		return c.withIntent(in.ID, func(added *intent.Intent) error {
			c.JSON(added)
			return nil
		})
	}
	c.Printf("Added %s: %s (%s)\n", in.ID, in.Name, in.Status)
	return nil
}

// askIntent asks for what the flags do not say. What they say wrong is told before anything is asked.
func (c *addCommand) askIntent() error {
	named := *c
	named.name = "to be asked"
	if _, err := named.intent(); err != nil {
		return err
	}
	return c.withWorkspace(func(root *os.Root) error {
		if _, err := intent.Open(root).Load(); err != nil {
			return err
		}
		found, err := scaffold.Detect(root)
		if err != nil {
			return fmt.Errorf("look at the workspace: %w", err)
		}
		ask := c.newQuestions()
		c.name = ask.needed("Name")
		if len(c.scope) == 0 {
			c.scope = ask.globs("Paths, separated by spaces", found.Scope)
		}
		if c.description == "" {
			c.description = ask.line("What is to be done (may be empty)", "", nil)
		}
		if ask.err != nil {
			return fmt.Errorf("intents add: %w: nothing was written", ask.err)
		}
		return nil
	})
}

func (c *addCommand) intent() (intent.Intent, error) {
	status, ok := intent.ParseStatus(c.status)
	switch {
	case strings.TrimSpace(c.name) == "":
		return intent.Intent{}, usageErrorf("intents add: --name is missing")
	case c.id != "" && !intent.ValidID(c.id):
		return intent.Intent{}, usageErrorf("--id %q is not an id: a letter, then up to 63 letters, digits, dots, dashes or underscores", c.id)
	case !ok || status == intent.Done:
		return intent.Intent{}, usageErrorf("--status %q: a new intent is todo, in_progress or blocked", c.status)
	}
	if _, err := intent.CompileScope(c.scope); err != nil {
		return intent.Intent{}, usageErrorf("--scope: %w", err)
	}
	in := intent.Intent{
		ID: c.id, Name: c.name, Status: status, Description: c.description, OwnedScope: c.scope,
		Constraints: c.constraints, AcceptanceCriteria: c.acceptance,
	}
	if status == intent.InProgress {
		in.StartedAt = c.now().UTC()
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
	cmd.Flags().StringArrayVar(&add, "add", nil, "a `GLOB` to add; more can follow")
	extend := a.operator(func(ctx context.Context, args []string) error {
		return a.addScope(ctx, args[0], append(add, args[1:]...))
	})
	return a.command(cmd, func(ctx context.Context, args []string) error {
		switch {
		case cmd.Flags().Changed("add"):
			return extend(ctx, args)
		case len(args) > 1:
			return usageErrorf("intents scope: %q stands behind the id; use --add to add a glob", args[1])
		default:
			return a.printScope(args[0])
		}
	})
}

func (a *app) addScope(ctx context.Context, id string, globs []string) error {
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
		err = a.withServer(ctx, func(srv *server.Server) error { return srv.AddScope(ctx, id, globs) })
	}
	if err != nil {
		return fmt.Errorf("add to the scope of %s: %w", printable.Text(id), err)
	}
	if err := a.warnIdle(globs); err != nil {
		return err
	}
	return a.printScope(id)
}

// printScope prints one glob a line, or everything for an intent without a scope.
func (a *app) printScope(id string) error {
	return a.withIntent(id, func(in *intent.Intent) error {
		if !a.json && len(in.OwnedScope) == 0 {
			a.tell("%s has no owned_scope: every path is in its scope.", in.ID)
		}
		a.answer(struct {
			ID         string   `json:"id"`
			OwnedScope []string `json:"owned_scope"`
		}{in.ID, orEmpty(in.OwnedScope)}, func() { a.List("", "", in.OwnedScope) })
		return nil
	})
}
