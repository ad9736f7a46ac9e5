package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
)

// maxCompleted bounds the records that a shell is offered.
const maxCompleted = 100

// newest gives the last records for the shell. What cannot be read completes nothing.
func (a *app) newest(cmd *cobra.Command, filter ledger.Filter) []ledger.Entry {
	var found ledger.Result
	_ = a.ask(cmd.Context(), func(q *question) (err error) {
		filter.Newest, filter.Limit = true, maxCompleted
		found, err = q.records.Query(cmd.Context(), filter)
		return err
	})
	return found.Entries
}

// completeRecord offers the ids of the last records, as long as people read them, or in full where more was typed.
func (a *app) completeRecord(wanted func(ledger.Entry) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, e := range a.newest(cmd, ledger.Filter{}) {
			id := nameOf(e)
			if len(typed) <= len(shortID(id)) {
				id = shortID(id)
			}
			if wanted(e) && strings.HasPrefix(id, typed) && !slices.Contains(args, id) {
				ids = append(ids, id+"\t"+clipped(brief.Line(e), maxCompletion))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeSession offers the sessions of the last records.
func (a *app) completeSession(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, e := range a.newest(cmd, ledger.Filter{}) {
		if e.Session != "" && !slices.Contains(ids, printable(e.Session)) {
			ids = append(ids, printable(e.Session))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeIntentFlag offers the intents' ids as a flag's value, whatever arguments there are.
func (a *app) completeIntentFlag(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.completeIntent(cmd, nil, typed)
}

// completeFlag offers fixed values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
