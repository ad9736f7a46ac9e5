package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

func (a *app) newApprovalsShowCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:     "show ID",
		Short:   "Show a request in full: the change, why it was stopped, and what each answer would allow",
		Example: "  orchestra-mcp approvals show apr_k3x7q2",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeApproval,
	}, a.inInbox(func(_ context.Context, b *inbox, args []string) error {
		r, err := b.request(args[0])
		if err == nil {
			b.answer(b.document(r), func() { b.printRequest(r) })
		}
		return err
	}))
}

// requestRecord is the document of `approvals show --json`.
type requestRecord struct {
	pendingRecord
	Kind    string              `json:"kind"`
	Client  string              `json:"client"`
	Name    string              `json:"name"`
	Reason  string              `json:"reason"`
	Paths   []string            `json:"paths"`
	Checks  []approval.Check    `json:"checks"`
	Effects []approval.Effect   `json:"effects"`
	Diffs   []approval.FileDiff `json:"diffs"`
	Answers []answerRecord      `json:"answers"`
	// Answered is the answer that was given, null while there is none.
	Answered *approval.Answer `json:"answered"`
	Changed  []string         `json:"changed_meanwhile"`
}

type answerRecord struct {
	Decision approval.Decision `json:"decision"`
	Allows   string            `json:"allows"`
}

func (b *inbox) document(r approval.Request) requestRecord {
	record := requestRecord{
		pendingRecord: newPendingRecord(r), Kind: operator.WhyOf(r), Client: r.Client, Name: r.Name, Reason: r.Reason, Paths: orEmpty(r.Paths),
		Checks: orEmpty(r.Checks), Effects: orEmpty(r.Effects), Diffs: orEmpty(r.Diffs), Changed: orEmpty(b.Changed(r)),
		Answers: records(approval.FullViewOf(r).Answers, func(a approval.AnswerView) answerRecord { return answerRecord{a.Decision, a.Means} }),
	}
	if answer, err := b.Store.AnswerOf(r.ID); err == nil {
		record.Answered = &answer
	}
	return record
}

// printRequest shows all that there is to know, what matters most last: that is what stays on the screen.
func (b *inbox) printRequest(r approval.Request) {
	view := approval.FullViewOf(r)
	for _, line := range view.Diff {
		if line.Kind == 'f' {
			b.Println(b.Bold(line.Text))
		} else {
			b.DiffLine(line.Text)
		}
	}
	if view.DiffCut != "" {
		b.Println(b.Amber(view.DiffCut))
	}
	if len(view.Diff) > 0 {
		b.Println()
	}
	b.Println(b.Bold(view.Title))
	for _, row := range view.Rows {
		b.Printf("  %-14s %s\n", row.Label, row.Text)
	}
	b.Println()
	for _, answer := range view.Answers {
		b.Printf("%s allows %s.\n", b.Bold(answer.Title), answer.Means)
	}
	if answer, err := b.Store.AnswerOf(r.ID); err == nil {
		b.Println(b.Amber("It was answered: " + operator.AnswerText(answer) + "."))
	}
	for _, path := range b.Changed(r) {
		b.Println(b.Amber(path + " has changed since: to approve this once would let nothing pass."))
	}
	b.Println()
}
