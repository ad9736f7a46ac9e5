package review

import (
	"fmt"
	"io"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// maxMarkdown keeps the text below what GitHub takes for a comment (65,536 characters).
const maxMarkdown = 60_000

// markdown is GitHub-flavoured Markdown that is being written. Whatever comes from the repository stands in code spans,
// where no mention, link, reference or HTML is read; and never in a table, where a code span does not protect a pipe.
type markdown struct {
	strings.Builder
	full bool
}

// WriteMarkdown writes the report for a pull request: what fails, what to look at, what was done, what can be passed over.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var m markdown
	m.summary(r)
	m.findings(r, Error, "Must be dealt with")
	m.findings(r, Warning, "Look at this")
	m.intents(r)
	m.proven(r)
	m.untraced(r)
	m.notProven(r)
	_, err := io.WriteString(w, m.String())
	return err
}

// code is a code span that holds just the text: its fence is longer than any run of backticks inside.
func code(text string) string {
	text = clipped(text, 300)
	longest, run := 0, 0
	for _, c := range text {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || strings.TrimSpace(text) != text || text == "" {
		text = " " + text + " "
	}
	return fence + text + fence
}

// item writes one line of a list, or nothing once the text is long enough.
func (m *markdown) item(format string, args ...any) bool {
	line := "- " + fmt.Sprintf(format, args...) + "\n"
	if m.full || m.Len()+len(line) > maxMarkdown-500 {
		if !m.full {
			m.WriteString("- … the rest does not fit here: run `orchestra-mcp gate` for all of it\n")
		}
		m.full = true
		return false
	}
	m.WriteString(line)
	return true
}

func (m *markdown) heading(text string) {
	if !m.full {
		fmt.Fprintf(m, "\n### %s\n\n", text)
	}
}

func (r *Report) verdict() string {
	if r.Passed {
		return "passed"
	}
	return "failed"
}

func (m *markdown) summary(r *Report) {
	fmt.Fprintf(m, "## orchestra-mcp gate: %s\n\n", r.verdict())
	fmt.Fprintf(m, "%s of %s traced, %s in %s. %s compared with its merge base %s.\n\n", FormatPercent(r.Percent),
		plural(r.Lines.Changed(), "changed line", "changed lines"), plural(r.Records, "new record", "new records"),
		plural(r.Commits, "commit", "commits"), code(short(r.Head)), code(short(r.MergeBase)))
	m.WriteString("| check | errors | warnings | notes |\n| --- | ---: | ---: | ---: |\n")
	for _, info := range Checks() {
		c := info.Check
		fmt.Fprintf(m, "| **%s**: %s | %d | %d | %d |\n", c, info.Title, r.Count(c, Error), r.Count(c, Warning), r.Count(c, Note))
	}
}

func (m *markdown) findings(r *Report, severity Severity, title string) {
	if r.Count("", severity) == 0 {
		return
	}
	m.heading(title)
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Severity != severity {
			continue
		}
		if !m.item("**%s** %s: %s %s", f.Check, code(f.Where()), code(f.Message), f.Advice) {
			return
		}
	}
}

func (m *markdown) intents(r *Report) {
	if len(r.Intents) == 0 {
		return
	}
	m.heading("What was done")
	for _, in := range r.Intents {
		id, origin := code(in.ID), ""
		if in.ID == "" {
			id = "no intent"
		}
		switch in.Origin {
		case "head":
			origin = ", **declared in this range**"
		case "unknown":
			origin = ", **not declared**"
		}
		name := ""
		if in.Name != "" {
			name = " " + code(in.Name)
		}
		if !m.item("%s%s%s: %s on %s, %s of the lines at HEAD, %s", id, name, origin, plural(in.Records, "record", "records"),
			plural(in.Paths, "path", "paths"), fmt.Sprint(in.Lines), plural(in.Refused, "refused call", "refused calls")) {
			return
		}
	}
}

// proven lists what a reviewer may pass over: compared now, whatever the records say, and explained by them.
func (m *markdown) proven(r *Report) {
	first := true
	for i := range r.Files {
		f := &r.Files[i]
		if f.Evidence != mutation.Proven {
			continue
		}
		if first {
			m.heading("Proven to keep what the code does")
			first = false
		}
		if !m.item("%s", code(f.Path)) {
			return
		}
	}
}

func (m *markdown) untraced(r *Report) {
	first := true
	for i := range r.Files {
		f := &r.Files[i]
		missing := f.Lines.Changed() - f.Lines.Traced
		if missing == 0 {
			continue
		}
		if first {
			m.heading("Not explained by any record")
			first = false
		}
		if !m.item("%s (%s): %d of %d changed lines%s", code(f.Path), f.Status, missing, f.Lines.Changed(), f.ranges()) {
			return
		}
	}
}

// ranges names the first untraced lines.
func (f *File) ranges() string {
	if f.Kind != "" {
		return ", " + f.Kind
	}
	var parts []string
	for i, lines := range f.Untraced {
		if i == maxRanges {
			parts = append(parts, "…")
			break
		}
		if lines.Start == lines.End {
			parts = append(parts, fmt.Sprint(lines.Start))
		} else {
			parts = append(parts, fmt.Sprintf("%d–%d", lines.Start, lines.End))
		}
	}
	text := ""
	if len(parts) > 0 {
		text = ": lines " + strings.Join(parts, ", ")
	}
	if f.Removed > 0 {
		text += fmt.Sprintf(", %d removed", f.Removed)
	}
	return text
}

func (m *markdown) notProven(r *Report) {
	if len(r.Unproven) == 0 {
		return
	}
	m.heading("What this does not prove")
	for _, sentence := range r.Unproven {
		if !m.item("%s", code(sentence)) {
			return
		}
	}
}
