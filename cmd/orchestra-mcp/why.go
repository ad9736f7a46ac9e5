package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	MutationClass string           `json:"mutation_class"`
	ModelID       string           `json:"model_id"`
	Call          string           `json:"call"`
	Session       string           `json:"session"`
	Path          string           `json:"path"`
	Line          int              `json:"line"`
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
		answer := newWhyAnswer(path, found, a.intentNames())
		if asJSON {
			return found.Problems, printJSON(a.out, answer)
		}
		return found.Problems, a.printWhy(answer)
	})
}

// intentNames gives what the intents are called now; where their file cannot be read they have no names.
func (a *app) intentNames() map[string]string {
	names := map[string]string{}
	_ = a.withIntents(func(store *intent.Store) error {
		set, err := store.Load()
		if err != nil {
			return err
		}
		for _, in := range set.All() {
			names[in.ID] = in.Name
		}
		return nil
	})
	return names
}

func newWhyAnswer(path string, found blame.Explanation, names map[string]string) whyAnswer {
	answer := whyAnswer{blameLine: newBlameLine(found.Line), Path: path, Story: []whyRecord{}}
	for _, t := range found.Story {
		r := t.Record
		answer.Story = append(answer.Story, whyRecord{
			RecordID: r.ID, Timestamp: r.Time.UTC().Format(time.RFC3339Nano), IntentID: r.IntentID, IntentName: names[r.IntentID],
			MutationClass: r.MutationClass, ModelID: r.Contributor.ModelID, Call: r.Call, Session: r.Session,
			Path: t.Path, Line: t.Line, Confidence: t.Confidence,
		})
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
	for _, r := range answer.Story {
		fmt.Fprintf(a.out, "\n%s  %s  %s\n", printable(r.RecordID), r.Timestamp, r.Confidence)
		rows := [][2]string{
			{"intent", strings.TrimSpace(r.IntentID + "  " + r.IntentName)}, {"class", r.MutationClass}, {"tool", r.Call},
			{"model", r.ModelID}, {"session", r.Session}, {"there", fmt.Sprintf("%s:%d", r.Path, r.Line)},
		}
		for _, row := range rows {
			if row[1] != "" {
				fmt.Fprintf(a.out, "  %-8s %s\n", row[0], printable(row[1]))
			}
		}
	}
	if c := answer.Commit; c != nil {
		_, err := fmt.Fprintf(a.out, "\ncommit %s  %s  %s\n  %s\n  %s:%d\n", c.ID, c.Time, printable(c.Author), printable(c.Summary),
			printable(c.Path), c.Line)
		return err
	}
	return nil
}
