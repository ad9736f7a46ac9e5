package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

func (a *app) newApprovalsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a request in full: the change, why it was stopped, and what each answer would allow",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: a.completeApproval,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.withInbox(cmd.Context(), func(b *inbox) error {
			r, err := b.request(args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(b.out, b.document(r))
			}
			return b.printRequest(r)
		})
	})
	return cmd
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
		pendingRecord: newPendingRecord(r), Kind: whyOf(r), Client: r.Client, Name: r.Name, Reason: r.Reason, Paths: orEmpty(r.Paths),
		Checks: append([]approval.Check{}, r.Checks...), Effects: append([]approval.Effect{}, r.Effects...),
		Diffs: append([]approval.FileDiff{}, r.Diffs...), Answers: []answerRecord{}, Changed: orEmpty(b.changedMeanwhile(r)),
	}
	for _, answer := range approval.FullViewOf(r).Answers {
		record.Answers = append(record.Answers, answerRecord{answer.Decision, answer.Means})
	}
	if answer, err := b.store.AnswerOf(r.ID); err == nil {
		record.Answered = &answer
	}
	return record
}

// printRequest shows all that there is to know, what matters most last: that is what stays on the screen.
func (b *inbox) printRequest(r approval.Request) error {
	view := approval.FullViewOf(r)
	for _, line := range view.Diff {
		fmt.Fprintln(b.out, b.diffStyled(line))
	}
	if view.DiffCut != "" {
		fmt.Fprintln(b.out, b.styled(styleAmber, view.DiffCut))
	}
	if len(view.Diff) > 0 {
		fmt.Fprintln(b.out)
	}
	fmt.Fprintln(b.out, b.styled(styleBold, view.Title))
	for _, row := range view.Rows {
		fmt.Fprintf(b.out, "  %-14s %s\n", row.Label, row.Text)
	}
	fmt.Fprintln(b.out)
	for _, answer := range view.Answers {
		fmt.Fprintf(b.out, "%s allows %s.\n", b.styled(styleBold, answer.Title), answer.Means)
	}
	if answer, err := b.store.AnswerOf(r.ID); err == nil {
		fmt.Fprintln(b.out, b.styled(styleAmber, "It was answered: "+answerText(answer)+"."))
	}
	for _, path := range b.changedMeanwhile(r) {
		fmt.Fprintln(b.out, b.styled(styleAmber, printable(path)+" has changed since: to approve this once would let nothing pass."))
	}
	_, err := fmt.Fprintln(b.out)
	return err
}

func (b *inbox) diffStyled(line approval.DiffLine) string {
	text := printableLine(line.Text)
	switch line.Kind {
	case '+':
		return b.styled(styleGreen, text)
	case '-':
		return b.styled(styleRemoved, text)
	case '@':
		return b.styled(stylePlace, text)
	case 'f':
		return b.styled(styleBold, text)
	}
	return text
}

// until says how long an answer can be used.
func (b *inbox) until(t time.Time) string {
	return fmt.Sprintf("until %s (%s)", t.Local().Format("15:04"), watch.Age(t.Sub(b.now())))
}
