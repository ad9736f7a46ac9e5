package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

func (a *app) newIntentsCommand() *cobra.Command {
	group := makeGroup(&cobra.Command{
		Use:   "intents",
		Short: "See, add and check the intents of the workspace",
		Long:  "The intents stand in .orchestration/active_intents.yaml. You can edit that file as well as use these commands.",
	}, a.newIntentsListCommand(), a.newIntentsShowCommand(), a.newIntentsAddCommand(),
		a.newIntentsValidateCommand(), a.newIntentsScopeCommand(), a.newIntentsMapCommand())
	group.AddCommand(a.newStepCommands()...)
	return group
}

// withIntents opens the workspace's intents for the time of body.
func (a *app) withIntents(body func(*intent.Store) error) error {
	return a.withWorkspace(func(root *os.Root) error { return body(intent.Open(root)) })
}

// withIntentSet is withIntents for commands that only read.
func (a *app) withIntentSet(body func(*intent.Set) error) error {
	return a.withIntents(func(store *intent.Store) error {
		set, err := store.Load()
		if errors.Is(err, intent.ErrUnreadable) {
			return fmt.Errorf("%w; repair it and check with orchestra-mcp intents validate", err)
		}
		if err != nil {
			return err
		}
		return body(set)
	})
}

// withIntent is withIntentSet for commands about one.
func (a *app) withIntent(id string, body func(*intent.Intent) error) error {
	return a.withIntentSet(func(set *intent.Set) error {
		in, ok := set.Get(id)
		if !ok {
			return unknownIntent(id, set)
		}
		return body(in)
	})
}

func (a *app) newIntentsListCommand() *cobra.Command {
	var status string
	cmd := a.command(&cobra.Command{
		Use:   "list",
		Short: "List the intents",
	}, func(context.Context, []string) error { return a.listIntents(status) })
	cmd.Flags().StringVar(&status, "status", "", "only those of this `STATUS`: todo, in_progress, blocked or done")
	completeFlag(cmd, "status", "todo", "in_progress", "blocked", "done")
	return cmd
}

func (a *app) listIntents(status string) error {
	only, known := intent.ParseStatus(status)
	if status != "" && !known {
		return usageErrorf("--status %q is not a status: use todo, in_progress, blocked or done", status)
	}
	return a.withIntentSet(func(set *intent.Set) error {
		listed := []*intent.Intent{}
		for _, in := range set.All() {
			if status == "" || in.Status == only {
				listed = append(listed, in)
			}
		}
		if !a.json && len(listed) == 0 {
			a.tell("No intents. Add one with orchestra-mcp intents add.")
		}
		a.answer(listed, func() {
			printer.Table(a.Printer, "ID|STATUS|NAME|SCOPE", listed, func(in *intent.Intent) []any {
				return []any{in.ID, in.Status, in.Name, describeScope(in.OwnedScope)}
			})
		})
		return nil
	})
}

func describeScope(globs []string) string {
	if len(globs) == 0 {
		return "(everything)"
	}
	return strings.Join(globs, " ")
}

func (a *app) newIntentsShowCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:               "show ID",
		Short:             "Show one intent with all that it says",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeIntent,
	}, func(_ context.Context, args []string) error {
		return a.withIntent(args[0], func(in *intent.Intent) error {
			a.answer(in, func() { a.printIntent(in) })
			return nil
		})
	})
}

// unknownIntent names the intents that there are.
func unknownIntent(id string, set *intent.Set) error {
	ids := records(set.All(), func(in *intent.Intent) string { return in.ID })
	return fmt.Errorf("%w: %q%s; there are: %s", intent.ErrUnknownIntent, id, didYouMean(nearest.Of(id, ids)), cmp.Or(strings.Join(ids, ", "), "none"))
}

func (a *app) printIntent(in *intent.Intent) {
	a.Printf("%s  %s  %s\n", a.Bold(in.ID), in.Status, in.Name)
	for line := range strings.Lines(strings.TrimRight(in.Description, "\n")) {
		a.Printf("  %s\n", strings.TrimRight(line, "\r\n"))
	}
	if in.Agent != "" {
		a.Printf("agent: %s\n", in.Agent)
	}
	if !in.StartedAt.IsZero() {
		a.Printf("started: %s\n", in.StartedAt.Format(time.RFC3339))
	}
	if len(in.OwnedScope) == 0 {
		a.Println("scope: everything (no owned_scope)")
	}
	const bullet = "  - "
	a.List("scope:", bullet, in.OwnedScope)
	a.List("constraints:", bullet, in.Constraints)
	a.List("acceptance criteria:", bullet, in.AcceptanceCriteria)
	a.List("commands allowed:", bullet, in.Commands.Allow)
	a.List("commands put to you:", bullet, in.Commands.Ask)
	a.List("commands denied:", bullet, in.Commands.Deny)
	if in.Commands.Network != "" {
		a.Printf("network: %s\n", in.Commands.Network)
	}
	for _, rule := range in.Rules {
		a.Printf("rule %s: %s when %s\n", rule.Name, rule.Action, rule.When)
	}
	a.List("must pass before it is done:", bullet, in.Verify)
}

// orEmpty makes a list that programs can go over without asking.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
