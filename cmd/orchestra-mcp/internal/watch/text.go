package watch

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

const (
	tabWidth = 8
	// maxCell bounds what is made visible of a text that is cut to a cell anyway.
	maxCell = 1024
)

// cell is a text in exactly width columns, made safe. What does not fit loses its middle: of a path and of a command
// both ends tell more.
func cell(text string, width int) string {
	if width <= 0 {
		return ""
	}
	text = printable.Text(cut(text, maxCell))
	if ansi.StringWidth(text) > width {
		text = middle(text, width)
	}
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// cut keeps both ends of a very long text.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := n/2, len(text)-n/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + "…" + text[tail:]
}

func middle(text string, width int) string {
	if width < 8 {
		return ansi.Truncate(text, width, "…")
	}
	head := (width - 1) / 2
	tail := width - 1 - head
	text = ansi.Truncate(text, head, "") + "…" + ansi.TruncateLeft(text, ansi.StringWidth(text)-tail, "")
	return ansi.Truncate(text, width, "") // where a wide character was cut through
}

// row is one row of the screen.
type row struct {
	text  string
	style Style
}

// The gutter tells a row that begins a line from one that goes on with it: without it, the rest of a long line could
// pass for an added or a removed line.
const (
	gutterNew  = " "
	gutterRest = "↪"
)

// rows lays lines out in a width, gutter included.
func rows(lines []Line, width int) []row {
	var out []row
	for _, line := range lines {
		gutter := gutterNew
		for part := range strings.SplitSeq(wrap(visible(line.Text), width-1), "\n") {
			out = append(out, row{gutter + part, line.Style})
			gutter = gutterRest
		}
	}
	return out
}

// visible makes a line safe, with tabs as far as the next stop.
func visible(text string) string {
	if !strings.Contains(text, "\t") {
		return printable.Text(text)
	}
	var out strings.Builder
	column := 0
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			n := tabWidth - column%tabWidth
			out.WriteString(strings.Repeat(" ", n))
			column += n
		}
		part = printable.Text(part)
		out.WriteString(part)
		column += ansi.StringWidth(part)
	}
	return out.String()
}

func wrap(text string, width int) string { return ansi.Hardwrap(text, max(1, width), true) }
