package brain

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// Kind is what an entry is.
type Kind string

// The kinds.
const (
	Lesson     Kind = "lesson"
	Decision   Kind = "decision"
	Constraint Kind = "constraint"
)

func (k Kind) heading() string {
	switch k {
	case Decision:
		return "Decision"
	case Constraint:
		return "Constraint"
	}
	return "Lesson Learned"
}

// Entry is one note.
type Entry struct {
	Kind Kind `json:"kind"`
	// Date is YYYY-MM-DD, or empty.
	Date   string `json:"date"`
	Intent string `json:"intent_id,omitempty"`
	// Path is relative to the workspace.
	Path     string `json:"path,omitempty"`
	Category string `json:"category,omitempty"`
	Text     string `json:"text"`
}

// Normal is the entry as it can be written: what would act on a terminal is visible, lines end in \n, and there are no
// empty lines around the text.
func (e Entry) Normal() Entry {
	if e.Kind != Decision && e.Kind != Constraint {
		e.Kind = Lesson
	}
	e.Intent, e.Category = word(e.Intent), word(e.Category)
	if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
		e.Date = ""
	}
	e.Path = strings.ToValidUTF8(e.Path, "\uFFFD")
	lines := strings.Split(ends.Replace(e.Text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRightFunc(printable.Text(strings.ReplaceAll(line, "\t", "    ")), unicode.IsSpace)
	}
	// The first line carries the list's mark, so blanks before it are no part of the text.
	e.Text = strings.TrimSpace(strings.Join(lines, "\n"))
	return e
}

var ends = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// word is a value on the line of a field.
func word(s string) string {
	return strings.Trim(printable.Text(s), "` ")
}

// format is the entry with its heading, without an empty line before it.
func (e Entry) format() string {
	var b strings.Builder
	b.WriteString("## " + e.Kind.heading())
	if e.Date != "" {
		b.WriteString(" (" + e.Date + ")")
	}
	b.WriteString("\n")
	for _, field := range []struct{ name, value string }{{"Intent", e.Intent}, {"File", quotePath(e.Path)}, {"Category", e.Category}} {
		if field.value != "" {
			b.WriteString("**" + field.name + ":** " + field.value + "\n")
		}
	}
	if e.Kind == Lesson && e.Path != "" {
		b.WriteString("**Problems:**\n")
	}
	for i, line := range strings.Split(e.Text, "\n") {
		switch {
		case i == 0:
			b.WriteString("- " + line)
		case line != "":
			b.WriteString("  " + line)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func quotePath(path string) string {
	switch {
	case path == "":
		return ""
	case strings.Contains(path, "`") || printable.Text(path) != path || strings.TrimSpace(path) != path || strings.HasPrefix(path, `"`):
		return strings.ReplaceAll(strconv.QuoteToASCII(path), "`", `\x60`)
	}
	return "`" + path + "`"
}

func unquotePath(value string) string {
	if path, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		return path
	}
	return strings.Trim(value, "`")
}
