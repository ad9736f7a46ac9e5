package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
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
	Class         *ledger.Class    `json:"class,omitempty"`
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

func (a *app) why(ctx context.Context, place string, asJSON bool) error {
	colon := strings.LastIndexByte(place, ':')
	if colon < 1 {
		return usageErrorf("why %s: give a file and a line, as in src/main.go:42", printable(place))
	}
	number, err := strconv.Atoi(place[colon+1:])
	if err != nil || number < 1 {
		return usageErrorf("why %s: %q is no line number; lines count from 1", printable(place), place[colon+1:])
	}
	return a.askBlame(ctx, place[:colon], func(w blame.Workspace, path string) ([]ledger.Problem, error) {
		found, err := w.Line(ctx, path, number)
		if err != nil {
			return found.Problems, err
		}
		answer := newWhyAnswer(path, found, a.intentsByID())
		if asJSON {
			return found.Problems, printJSON(a.out, answer)
		}
		return found.Problems, a.printWhy(answer)
	})
}

// intentsByID gives the intents as they are called now; where their file cannot be read there are none.
func (a *app) intentsByID() map[string]intent.Intent {
	byID := map[string]intent.Intent{}
	_ = a.withIntents(func(store *intent.Store) error {
		set, err := store.Load()
		if err != nil {
			return err
		}
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

func (a *app) printWhy(answer whyAnswer) error {
	fmt.Fprintf(a.out, "%s\n  %s\n", a.styled(styleBold, fmt.Sprintf("%s:%d", printable(answer.Path), answer.Line)), printableLine(answer.Text))
	if len(answer.Story) == 0 {
		fmt.Fprintln(a.out, "\nuntracked: no record of the ledger explains this line.")
	}
	if len(answer.Story) > 0 {
		a.printWhyNewest(answer.Story[0])
		a.printWhyOlder(answer.Story[1:])
	}
	if c := answer.Commit; c != nil {
		_, err := fmt.Fprintf(a.out, "\ncommit %s  %s  %s\n  %s\n  %s:%d\n", c.ID, c.Time, printable(c.Author), printable(c.Summary),
			printable(c.Path), c.Line)
		return err
	}
	return nil
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
	fmt.Fprintln(a.out)
	for _, row := range [][2]string{
		{"intent", strings.TrimSpace(r.IntentID + "  " + r.IntentName)}, {"", r.Description}, {"when", r.Timestamp},
		{"model", r.ModelID}, {"tool", r.Call}, {"class", class}, {"session", r.Session},
		{"there", fmt.Sprintf("%s:%d", r.Path, r.Line)}, {"how sure", string(r.Confidence)}, {"record", shortID(r.RecordID)},
	} {
		if row[1] != "" {
			fmt.Fprintf(a.out, "  %-9s %s\n", row[0], printable(row[1]))
		}
	}
}

// whyOlder is how many older records fit on the screen.
const whyOlder = 8

// printWhyOlder tells in a line each what stood in the line's place before.
func (a *app) printWhyOlder(older []whyRecord) {
	if len(older) == 0 {
		return
	}
	fmt.Fprintln(a.out, "\nin its place before:")
	for _, r := range older[:min(len(older), whyOlder)] {
		text := "(the text is not kept)"
		if r.Text != nil {
			text = "| " + printableLine(*r.Text)
		}
		fmt.Fprintf(a.out, "  %s %s %-8s %s %s\n", r.Timestamp[:len(time.DateOnly)], shortID(r.RecordID), printable(r.IntentID), printable(r.Call), text)
	}
	if more := len(older) - whyOlder; more > 0 {
		fmt.Fprintf(a.out, "  and %d older records; --json has them\n", more)
	}
}
