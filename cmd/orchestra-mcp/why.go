package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// whyAnswer is the document of `why --json`.
type whyAnswer struct {
	blameLine
	Path   string      `json:"path"`
	Story  []whyRecord `json:"story"`
	Commit *whyCommit  `json:"commit,omitempty"`
}

type whyRecord struct {
	RecordID      string           `json:"record_id"`
	Timestamp     string           `json:"timestamp"`
	IntentID      string           `json:"intent_id"`
	IntentName    string           `json:"intent_name"`
	Description   string           `json:"intent_description"` // its first line
	MutationClass string           `json:"mutation_class"`
	Class         *record.Class    `json:"class,omitempty"`
	Contributor   string           `json:"contributor"`
	ModelID       string           `json:"model_id"`
	Call          string           `json:"call"`
	Session       string           `json:"session"`
	Path          string           `json:"path"`
	Line          int              `json:"line"`
	Text          *string          `json:"text"` // of the line right after the record; null if not known
	Confidence    blame.Confidence `json:"confidence"`
}

type whyCommit struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Author  string `json:"author"`
	Time    string `json:"time"`
	Summary string `json:"summary"`
}

func (a *app) newWhyCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:     "why FILE:LINE",
		Short:   "Tell the story of one line, newest record first",
		Example: "  orchestra-mcp why src/main.go:42",
		Args:    cobra.ExactArgs(1),
	}, a.why)
}

func (a *app) why(ctx context.Context, args []string) error {
	place := args[0]
	colon := strings.LastIndexByte(place, ':')
	if colon < 1 {
		return usageErrorf("why %s: give a file and a line, as in src/main.go:42", place)
	}
	number, err := strconv.Atoi(place[colon+1:])
	if err != nil || number < 1 {
		return usageErrorf("why %s: %q is no line number; lines count from 1", place, place[colon+1:])
	}
	return a.askBlame(ctx, place[:colon], func(w blame.Workspace, path string) ([]ledger.Problem, error) {
		found, err := w.Line(ctx, path, number)
		if err == nil {
			answer := newWhyAnswer(path, found, a.intentsByID())
			a.answer(answer, func() { a.printWhy(answer) })
		}
		return found.Problems, err
	})
}

// intentsByID gives the intents as they are called now; where their file cannot be read there are none.
func (a *app) intentsByID() map[string]intent.Intent {
	byID := map[string]intent.Intent{}
	_ = a.withIntentSet(func(set *intent.Set) error {
		for _, in := range set.All() {
			byID[in.ID] = *in
		}
		return nil
	})
	return byID
}

// intentNames gives what the intents are called now.
func (a *app) intentNames() map[string]string {
	names := map[string]string{}
	for id, in := range a.intentsByID() {
		names[id] = in.Name
	}
	return names
}

func newWhyAnswer(path string, found blame.Explanation, intents map[string]intent.Intent) whyAnswer {
	answer := whyAnswer{blameLine: newBlameLine(found.Line), Path: path, Story: []whyRecord{}}
	for _, t := range found.Story {
		r := t.Record
		in := intents[r.IntentID]
		description, _, _ := strings.Cut(strings.TrimSpace(in.Description), "\n")
		if scaffold.IsPlaceholder(in.Description) {
			description = "(nobody has said yet what this work is for)"
		}
		record := whyRecord{
			RecordID: r.ID, Timestamp: r.Time.UTC().Format(time.RFC3339Nano), IntentID: r.IntentID, IntentName: in.Name,
			Description: description, MutationClass: r.MutationClass, Class: r.Class, Contributor: r.Contributor.Type,
			ModelID: r.Contributor.ModelID, Call: r.Call, Session: r.Session, Path: t.Path, Line: t.Line, Confidence: t.Confidence,
		}
		if t.HasText {
			record.Text = &t.Text
		}
		answer.Story = append(answer.Story, record)
	}
	if c := found.Line.Commit; c != nil {
		answer.Commit = &whyCommit{c.ID, c.Path, c.Line, c.Author, c.Time.Format(time.RFC3339), c.Summary}
	}
	return answer
}

func (a *app) printWhy(answer whyAnswer) {
	a.Printf("%s\n  %s\n", a.Bold(fmt.Sprintf("%s:%d", answer.Path, answer.Line)), printer.Line(answer.Text))
	if len(answer.Story) == 0 {
		a.Printf("\nuntracked: no record of the ledger explains this line.\n")
	} else {
		a.printWhyNewest(answer.Story[0])
		a.printWhyOlder(answer.Story[1:])
	}
	if c := answer.Commit; c != nil {
		a.Printf("\ncommit %s  %s  %s\n  %s\n  %s:%d\n", c.ID, c.Time, c.Author, c.Summary, c.Path, c.Line)
	}
}

// printWhyNewest tells all of the record that wrote the line.
func (a *app) printWhyNewest(r whyRecord) {
	class := r.MutationClass
	if c := r.Class; c != nil && c.Evidence != "" {
		class += " (" + c.Evidence
		if c.Declared != "" && c.Declared != r.MutationClass {
			class += ", declared " + c.Declared
		}
		class += ")"
	}
	a.Println()
	for _, row := range [][2]string{
		{"intent", strings.TrimSpace(r.IntentID + "  " + r.IntentName)}, {"", r.Description}, {"when", r.Timestamp},
		{"model", r.ModelID}, {"tool", r.Call}, {"class", class}, {"session", r.Session},
		{"there", fmt.Sprintf("%s:%d", r.Path, r.Line)}, {"how sure", string(r.Confidence)}, {"record", brief.ShortID(r.RecordID)},
	} {
		a.Field("  ", row[0], row[1])
	}
}

// whyOlder is how many older records fit on the screen.
const whyOlder = 8

// printWhyOlder tells in a line each what stood in the line's place before.
func (a *app) printWhyOlder(older []whyRecord) {
	if len(older) == 0 {
		return
	}
	a.Printf("\nin its place before:\n")
	for _, r := range older[:min(len(older), whyOlder)] {
		text := printer.Raw("(the text is not kept)")
		if r.Text != nil {
			text = "| " + printer.Line(*r.Text)
		}
		a.Printf("  %s %s %-8s %s %s\n", r.Timestamp[:len(time.DateOnly)], brief.ShortID(r.RecordID), r.IntentID, r.Call, text)
	}
	if more := len(older) - whyOlder; more > 0 {
		a.Printf("  and %d older records; --json has them\n", more)
	}
}
