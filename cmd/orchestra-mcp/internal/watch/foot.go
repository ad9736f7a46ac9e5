package watch

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// foot is what stands at the bottom: what is going on or asked, and the keys. It takes more rows where its text is
// long, at most the given number.
func (m Model) foot(width, most int) []row {
	var lines []Line
	switch m.mode {
	case confirming:
		lines = append(m.question(), Line{"y yes · any other key no", Heading})
	case giving:
		lines = []Line{{"Deny " + m.current.what() + ". Why? The agent is told. " + "Enter denies · Esc goes back", Heading}, {"> " + m.input + "_", Plain}}
	default:
		lines = append(m.notes(), Line{m.keys(), Plain})
	}
	out := rows(lines, width)
	if most = max(2, most); len(out) > most { // the last row has the keys, or the end of what is typed
		out = append(out[:most-1:most-1], out[len(out)-1])
	}
	return out
}

// notes say what the operator has to know now.
func (m Model) notes() []Line {
	var lines []Line
	if m.loadErr != nil {
		lines = append(lines, Line{"The requests cannot be read: " + m.loadErr.Error(), Warning})
	}
	if m.gone {
		lines = append(lines, Line{"No longer there: " + m.whyGone(), Warning})
	}
	if m.note != "" {
		style := Plain
		if m.failure {
			style = Warning
		}
		lines = append(lines, Line{m.note, style})
	}
	return lines
}

// keys are those that mean something for what is on the screen.
func (m Model) keys() string {
	switch {
	case !m.shown || m.gone:
		return "? help · q quit"
	case m.current.Grant:
		return "r revoke · ? help · q quit"
	case m.current.OnlyOnce != "":
		return "a once · d deny · ? help · q quit"
	}
	return "a once · i for intent · d deny · ? help · q quit"
}

// question is what a second key confirms.
func (m Model) question() []Line {
	what := m.current.what()
	text := "Approve " + what + ", this once?"
	switch m.choice {
	case ForIntent:
		text = "Approve " + what + ", and whatever the same check stops there, until " + m.current.IntentID + " ends?"
	case Revoke:
		text = "Revoke " + what + "?"
	}
	lines := []Line{{text, Heading}}
	if unseen := len(m.body) - m.seen; unseen > 0 {
		lines = append(lines, Line{fmt.Sprintf("You have not seen its last %d rows.", unseen), Warning})
	}
	return lines
}

// maxWhat bounds a subject in a question; the body has all of it.
const maxWhat = 200

// what names an item in a question.
func (i Item) what() string {
	return fmt.Sprintf("%s %s (%s)", i.Tool, printable.Text(cut(i.Subject, maxWhat)), i.ID)
}

//go:embed help.txt
var help string

// helpLines are a heading and what the keys do.
func helpLines() (lines []Line) {
	for line := range strings.Lines(help) {
		lines = append(lines, Line{Text: strings.TrimSuffix(line, "\n")})
	}
	lines[0].Style = Heading
	return lines
}
