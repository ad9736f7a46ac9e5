package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

const (
	maxCompleted  = 100 // records that a shell is offered
	maxCompletion = 80  // characters of a description that a shell shows
)

// newest gives the last records for the shell. What cannot be read completes nothing.
func (a *app) newest(cmd *cobra.Command, filter record.Filter) []record.Entry {
	var found ledger.Result
	_ = a.ask(cmd.Context(), nil, func(q *question) (err error) {
		filter.Newest, filter.Limit = true, maxCompleted
		found, err = q.Ledger.Query(cmd.Context(), filter)
		return err
	})
	return found.Entries
}

// completeRecord offers the ids of the last records, as long as people read them, or in full where more was typed.
func (a *app) completeRecord(wanted func(record.Entry) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, e := range a.newest(cmd, record.Filter{}) {
			id := operator.NameOf(e)
			if len(typed) <= len(brief.ShortID(id)) {
				id = brief.ShortID(id)
			}
			if wanted(e) && strings.HasPrefix(id, typed) && !slices.Contains(args, id) {
				ids = append(ids, id+"\t"+printable.Clip(brief.Line(e), maxCompletion))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeSession offers the sessions of the last records.
func (a *app) completeSession(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, e := range a.newest(cmd, record.Filter{}) {
		if e.Session != "" && !slices.Contains(ids, printable.Text(e.Session)) {
			ids = append(ids, printable.Text(e.Session))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeIntent offers the intents' ids as an argument, which is the first. What cannot be read completes nothing.
func (a *app) completeIntent(cmd *cobra.Command, args []string, typed string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeIntentFlag(cmd, args, typed)
}

// completeIntentFlag offers them as a flag's value, whatever arguments there are.
func (a *app) completeIntentFlag(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
	_ = a.withIntentSet(func(set *intent.Set) error {
		for _, in := range set.All() {
			ids = append(ids, in.ID+"\t"+printable.Text(in.Name))
		}
		return nil
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag offers fixed values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
