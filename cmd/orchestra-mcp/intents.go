package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

func (a *app) newIntentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "intents",
		Short: "See, add and check the intents of the workspace",
		Long:  "The intents stand in .orchestration/active_intents.yaml. You can edit that file as well as use these commands.",
	}
	a.makeGroup(cmd)
	cmd.AddCommand(a.newIntentsListCommand(), a.newIntentsShowCommand(), a.newIntentsAddCommand(),
		a.newIntentsValidateCommand(), a.newIntentsScopeCommand(), a.newIntentsMapCommand())
	cmd.AddCommand(a.newStepCommands()...)
	return cmd
}

// withIntents opens the workspace's intents for the time of body.
func (a *app) withIntents(body func(*intent.Store) error) error {
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	return body(intent.Open(root))
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

func (a *app) newIntentsListCommand() *cobra.Command {
	var status string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the intents",
		Args:  cobra.NoArgs,
	}
	asJSON := addJSONFlag(cmd)
	cmd.Flags().StringVar(&status, "status", "", "only those of this `STATUS`: todo, in_progress, blocked or done")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		[]string{"todo", "in_progress", "blocked", "done"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = a.run(func(*cobra.Command, []string) error { return a.listIntents(status, *asJSON) })
	return cmd
}

func (a *app) listIntents(status string, asJSON bool) error {
	only, known := intent.ParseStatus(status)
	if status != "" && !known {
		return usageErrorf("--status %q is not a status: use todo, in_progress, blocked or done", status)
	}
	return a.withIntentSet(func(set *intent.Set) error {
		records, rows := []*intent.Intent{}, [][]string{{"ID", "STATUS", "NAME", "SCOPE"}}
		for _, in := range set.All() {
			if status == "" || in.Status == only {
				records = append(records, in)
				rows = append(rows, []string{in.ID, string(in.Status), in.Name, describeScope(in.OwnedScope)})
			}
		}
		if asJSON {
			return printJSON(a.out, records)
		}
		if len(records) == 0 {
			_, err := fmt.Fprintln(a.err, "No intents. Add one with orchestra-mcp intents add.")
			return err
		}
		return printTable(a.out, rows)
	})
}

func describeScope(globs []string) string {
	if len(globs) == 0 {
		return "(everything)"
	}
	return strings.Join(globs, " ")
}

func (a *app) newIntentsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "Show one intent with all that it says",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeIntent,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(_ *cobra.Command, args []string) error {
		return a.withIntentSet(func(set *intent.Set) error {
			in, ok := set.Get(args[0])
			if !ok {
				return unknownIntent(args[0], set)
			}
			if *asJSON {
				return printJSON(a.out, in)
			}
			return a.showIntent(in)
		})
	})
	return cmd
}

// unknownIntent names the intents that there are.
func unknownIntent(id string, set *intent.Set) error {
	var ids []string
	for _, in := range set.All() {
		ids = append(ids, in.ID)
	}
	return fmt.Errorf("%w: %q%s; there are: %s", intent.ErrUnknownIntent, id, didYouMean(nearest.Of(id, ids)), cmp.Or(strings.Join(ids, ", "), "none"))
}

func (a *app) showIntent(in *intent.Intent) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s  %s\n", a.styled(styleBold, in.ID), in.Status, printable(in.Name))
	for line := range strings.Lines(strings.TrimRight(in.Description, "\n")) {
		fmt.Fprintf(&text, "  %s\n", printable(strings.TrimRight(line, "\r\n")))
	}
	if in.Agent != "" {
		fmt.Fprintf(&text, "agent: %s\n", printable(in.Agent))
	}
	if !in.StartedAt.IsZero() {
		fmt.Fprintf(&text, "started: %s\n", in.StartedAt.Format(time.RFC3339))
	}
	if len(in.OwnedScope) == 0 {
		text.WriteString("scope: everything (no owned_scope)\n")
	}
	writeItems(&text, "scope", in.OwnedScope)
	writeItems(&text, "constraints", in.Constraints)
	writeItems(&text, "acceptance criteria", in.AcceptanceCriteria)
	writeItems(&text, "commands allowed", in.Commands.Allow)
	writeItems(&text, "commands put to you", in.Commands.Ask)
	writeItems(&text, "commands denied", in.Commands.Deny)
	if in.Commands.Network != "" {
		fmt.Fprintf(&text, "network: %s\n", printable(in.Commands.Network))
	}
	for _, rule := range in.Rules {
		fmt.Fprintf(&text, "rule %s: %s when %s\n", printable(rule.Name), rule.Action, printable(rule.When))
	}
	writeItems(&text, "must pass before it is done", in.Verify)
	_, err := fmt.Fprint(a.out, text.String())
	return err
}

func writeItems(text *strings.Builder, heading string, items []string) {
	if len(items) == 0 {
		return
	}
	text.WriteString(heading + ":\n")
	for _, item := range items {
		fmt.Fprintf(text, "  - %s\n", printable(item))
	}
}

// completeIntent offers the ids to the shell. What cannot be read completes nothing.
func (a *app) completeIntent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) == 0 {
		_ = a.withIntentSet(func(set *intent.Set) error {
			for _, in := range set.All() {
				ids = append(ids, in.ID+"\t"+printable(in.Name))
			}
			return nil
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// orEmpty makes a list that programs can go over without asking.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
