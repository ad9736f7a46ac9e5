package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
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
		pendingRecord: newPendingRecord(r), Kind: whyOf(r), Client: r.Client, Name: r.Name, Reason: r.Reason, Paths: orEmpty(r.Paths),
		Checks: orEmpty(r.Checks), Effects: orEmpty(r.Effects), Diffs: orEmpty(r.Diffs), Changed: orEmpty(b.changedMeanwhile(r)),
		Answers: records(approval.FullViewOf(r).Answers, func(a approval.AnswerView) answerRecord { return answerRecord{a.Decision, a.Means} }),
	}
	if answer, err := b.store.AnswerOf(r.ID); err == nil {
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
	if answer, err := b.store.AnswerOf(r.ID); err == nil {
		b.Println(b.Amber("It was answered: " + answerText(answer) + "."))
	}
	for _, path := range b.changedMeanwhile(r) {
		b.Println(b.Amber(path + " has changed since: to approve this once would let nothing pass."))
	}
	b.Println()
}

// changedMeanwhile are the paths whose content is not what it was when the agent asked, and the intent if it is another
// by now. The server looks again, and lets nothing pass then; this is to tell the operator before they answer.
func (b *inbox) changedMeanwhile(r approval.Request) []string {
	var changed []string
	for _, e := range r.Effects {
		if e.Path == "" || e.Line != "" || e.Kind == "select" || e.Kind == "read" && e.Before == "" {
			continue
		}
		if now, known := hashNow(b.root, e.Path); known && now != e.Before && !slices.Contains(changed, e.Path) {
			changed = append(changed, e.Path)
		}
	}
	if b.intentChanged(r) {
		changed = append(changed, "the intent "+r.IntentID)
	}
	return changed
}

// intentChanged: the intent says something else than when the agent asked, or is gone. What cannot be read is not known.
func (b *inbox) intentChanged(r approval.Request) bool {
	if r.IntentVersion == "" {
		return false
	}
	set, err := intent.Open(b.root).Load()
	if err != nil {
		return false
	}
	in, found := set.Get(r.IntentID)
	return !found || in.Version() != r.IntentVersion
}

// hashNow is the hash of a file as it is, "" if there is none. What cannot be read is not known.
func hashNow(root *os.Root, path string) (hash string, known bool) {
	file, _, err := durable.OpenRegularIn(root, path, os.O_RDONLY)
	if err != nil {
		return "", errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", false
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), true
}
