package brain

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

var (
	heading = lazy.Regexp(`^## (Lesson Learned|Decision|Constraint)(?: \((\d{4}-\d{2}-\d{2})\))?\s*$`)
	field   = lazy.Regexp(`^\*\*(Intent|File|Category|Problems):\*\*\s*(.*?)\s*$`)
)

// Parse returns the entries of a brain in the order in which they stand there.
func Parse(text string) []Entry {
	var all []Entry
	var now *Entry
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := heading().FindStringSubmatch(line); m != nil {
			kind, _, _ := strings.Cut(strings.ToLower(m[1]), " ")
			all = append(all, Entry{Kind: Kind(kind), Date: m[2]})
			now = &all[len(all)-1]
			continue
		}
		if strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "# ") {
			now = nil
		}
		if now != nil && !now.take(line) {
			now.Text += line + "\n"
		}
	}
	for i := range all {
		all[i].Text = plain(all[i].Text)
	}
	return all
}

// take reads a line of a field. Fields stand above the text: a line like one in a text that people wrote is text.
func (e *Entry) take(line string) bool {
	m := field().FindStringSubmatch(line)
	if m == nil || strings.TrimSpace(e.Text) != "" {
		return false
	}
	switch m[1] {
	case "Intent":
		e.Intent = strings.Trim(m[2], "`")
	case "File":
		e.Path = unquotePath(m[2])
	case "Category":
		e.Category = strings.Trim(m[2], "`")
	case "Problems":
		if m[2] != "" { // on the same line, as other tools write it
			e.Text = m[2] + "\n"
		}
	}
	return true
}

// plain takes the one list item of an entry off its mark; a text in any other form stays as it is.
func plain(text string) string {
	text = strings.TrimSpace(text)
	first, rest, _ := strings.Cut(text, "\n")
	item, marked := strings.CutPrefix(first, "- ")
	if !marked {
		return text
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		inside, indented := strings.CutPrefix(line, "  ")
		if !indented && line != "" {
			return text // several items: a list that somebody wrote
		}
		item += "\n" + inside
	}
	return item
}
