package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// undoAnswer is the document of `undo --json`. Files are those that can be taken back, conflicts those that cannot.
type undoAnswer struct {
	IntentID  string          `json:"intent_id"`
	Records   []string        `json:"records"`
	Already   []undo.Undone   `json:"already"`
	Files     []undoFile      `json:"files"`
	Conflicts []undo.Conflict `json:"conflicts"`
	UnderWay  []undo.Touch    `json:"under_way"`
	RecordID  string          `json:"record_id"`
	Warnings  []string        `json:"warnings"`
}

type undoFile struct {
	Operation   string   `json:"operation"`
	Path        string   `json:"path"`
	From        string   `json:"from,omitempty"`
	ContentHash string   `json:"content_hash"`
	Mode        string   `json:"mode,omitzero"` // after the undo, where that sets it
	Merged      bool     `json:"merged"`
	Notes       []string `json:"notes"`
	Records     []string `json:"records"`
	Diff        string   `json:"diff"`
}

func newUndoAnswer(p *undo.Plan) undoAnswer {
	answer := undoAnswer{
		IntentID: p.IntentID, Records: orEmpty(p.Records), Already: append([]undo.Undone{}, p.Already...),
		Files: []undoFile{}, Conflicts: slices.Concat([]undo.Conflict{}, p.Conflicts, p.Left), UnderWay: append([]undo.Touch{}, p.UnderWay...),
		Warnings: []string{},
	}
	for _, f := range p.Files {
		mode := ""
		if f.After.Mode != f.Before.Mode {
			mode = string(f.After.Mode)
		}
		answer.Files = append(answer.Files, undoFile{
			f.Op.Verb(), f.Path, f.From, f.After.Hash, mode, f.Merged, orEmpty(f.Notes), orEmpty(f.Records), undoDiff(f),
		})
	}
	return answer
}

// undoDiff is the change as a unified diff, or a line about what has no lines.
func undoDiff(f undo.File) string {
	before, err := workspace.Decode(f.Before.Bytes)
	after, other := workspace.Decode(f.After.Bytes)
	if err != nil || other != nil {
		if f.Before.Hash == f.After.Hash {
			return ""
		}
		return fmt.Sprintf("binary: %d bytes now, %d then\n", len(f.Before.Bytes), len(f.After.Bytes))
	}
	from, to := f.Path, f.Path
	switch f.Op {
	case change.Created:
		from = "/dev/null"
	case change.Deleted:
		to = "/dev/null"
	case change.Moved:
		from = f.From
	}
	old, fresh := before.String, after.String
	if plainCRLF(before) && plainCRLF(after) {
		old, fresh = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(fresh, "\r\n", "\n")
	}
	return edit.Unified(from, to, old, fresh, 3)
}

// plainCRLF: the text has no other line endings, so that showing them tells nothing.
func plainCRLF(t workspace.Text) bool {
	return t.LineEnding == workspace.CRLF || t.LineEnding == workspace.NoLineEnding
}

// printPlan shows a plan to a person.
func (a *app) printPlan(p *undo.Plan, answer undoAnswer) {
	for _, u := range p.Already {
		fmt.Fprintf(a.out, "%s is undone already, by %s.\n", shortID(u.Record), shortID(u.By))
	}
	for _, c := range answer.Conflicts {
		a.printConflict(c)
	}
	for _, call := range p.UnderWay {
		fmt.Fprintf(a.out, "%s (%s) has not ended: what it changes is not recorded yet, and is not taken back.\n", shortID(call.Record), printable(call.Call))
	}
	if len(p.Conflicts) > 0 {
		fmt.Fprintln(a.out, "Nothing was changed.")
		if len(p.Files) > 0 {
			fmt.Fprintf(a.out, "Add --partial to take back the rest, which is %s.\n", numberOf(len(p.Files), "file"))
		}
		return
	}
	for _, f := range answer.Files {
		a.printUndoFile(f)
	}
	switch {
	case len(p.Files) > 0 && len(p.Left) > 0:
		fmt.Fprintf(a.out, "This takes back a part of %s of %s: %s, and leaves %s.\n", numberOf(len(p.Records), "record"),
			printable(orNone(p.IntentID)), numberOf(len(p.Files), "file"), numberOf(len(p.Left), "file"))
	case len(p.Files) > 0:
		fmt.Fprintf(a.out, "This takes back %s of %s in %s.\n", numberOf(len(p.Records), "record"), printable(orNone(p.IntentID)), numberOf(len(p.Files), "file"))
	case len(p.Left) > 0:
		fmt.Fprintln(a.out, "Nothing was changed.")
	case len(p.Records) > 0:
		fmt.Fprintln(a.out, "Nothing to undo: the files are as they were before.")
	case len(p.Already) == 0:
		fmt.Fprintf(a.out, "Nothing to undo: no change of %s still stands.\n", printable(p.IntentID))
	}
}

func numberOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orNone(intentID string) string {
	if intentID == "" {
		return "no intent"
	}
	return intentID
}

const (
	styleRemoved = "31"
	stylePlace   = "36"
)

func (a *app) printUndoFile(f undoFile) {
	what := f.Operation + " " + printable(f.Path)
	if f.From != "" {
		what = fmt.Sprintf("%s %s to %s", f.Operation, printable(f.From), printable(f.Path))
	}
	if f.Merged {
		what += " (keeping what was changed since)"
	}
	if f.Mode != "" {
		what += ", mode " + f.Mode
	}
	fmt.Fprintln(a.out, a.styled(styleBold, what))
	for _, note := range f.Notes {
		fmt.Fprintln(a.out, "  "+printable(note))
	}
	for line := range strings.Lines(f.Diff) {
		a.printDiffLine(strings.TrimSuffix(line, "\n"))
	}
	fmt.Fprintln(a.out)
}

func (a *app) printDiffLine(line string) {
	text := printableLine(line)
	switch {
	case strings.HasPrefix(line, "@@"):
		text = a.styled(stylePlace, text)
	case strings.HasPrefix(line, "+"):
		text = a.styled(styleGreen, text)
	case strings.HasPrefix(line, "-"):
		text = a.styled(styleRemoved, text)
	}
	fmt.Fprintln(a.out, text)
}

func (a *app) printConflict(c undo.Conflict) {
	fmt.Fprintf(a.out, "%s record %s cannot be taken back: %s\n", a.styled(styleBold, printable(c.Path)+":"), shortID(c.Record), printable(c.Reason))
	for _, p := range c.Places {
		a.printPlace(c, p)
	}
	for _, s := range c.Since {
		fmt.Fprintf(a.out, "  since then: record %s (%s)\n", shortID(s.Record), printable(orNone(s.IntentID)+", "+s.Call))
	}
	if len(c.Since) == 0 && len(c.Places) > 0 {
		fmt.Fprintln(a.out, "  since then: somebody outside the ledger")
	}
	fmt.Fprintln(a.out)
}

func (a *app) printPlace(c undo.Conflict, p undo.Place) {
	where := "  "
	if p.Line > 0 {
		where = fmt.Sprintf("  line %d", p.Line)
		switch {
		case p.By != nil:
			where += fmt.Sprintf(", of record %s", shortID(p.By.Record))
		case len(p.Now) > 0 && len(c.Since) > 0:
			where += ", of somebody outside the ledger, or not to be told"
		}
	}
	fmt.Fprintln(a.out, a.styled(stylePlace, where))
	for _, line := range p.Now {
		fmt.Fprintf(a.out, "    now:    %s\n", printableLine(line))
	}
	for _, line := range p.Wanted {
		fmt.Fprintf(a.out, "    wanted: %s\n", printableLine(line))
	}
}
