package review

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// maxMarkdown keeps the text below what GitHub takes for a comment (65,536 characters).
const maxMarkdown = 60_000

// markdown is GitHub-flavoured Markdown that is being written. Whatever comes from the repository stands in code spans,
// where no mention, link, reference or HTML is read, or percent-encoded in the address of a link; and never in a table,
// where a code span does not protect a pipe.
type markdown struct {
	strings.Builder
	*Report
	blobs string // begins the address of a file at HEAD; empty for none
	full  bool
}

// WriteMarkdown writes the report for a comment on a pull request: the verdict, the few things to look at first, and the rest
// folded. blobs begins the address of a file at HEAD, as "https://github.com/OWNER/NAME/blob/COMMIT/"; without it there are
// no links.
func (r *Report) WriteMarkdown(w io.Writer, blobs string) error {
	m := markdown{Report: r, blobs: blobs}
	m.summary()
	m.first()
	m.findings()
	m.untraced()
	m.intents()
	m.proven()
	m.notProven()
	_, err := io.WriteString(w, m.String())
	return err
}

// link is a place in the repository, with a link if HEAD has the file.
func (m *markdown) link(where, file string, line, end int) string {
	there := slices.ContainsFunc(m.Files, func(f File) bool { return f.Path == file && f.Status != "deleted" })
	if m.blobs == "" || !there {
		return code(where)
	}
	var address strings.Builder
	address.WriteString(m.blobs)
	for _, c := range []byte(file) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._/", c) >= 0 {
			address.WriteByte(c)
		} else {
			fmt.Fprintf(&address, "%%%02X", c)
		}
	}
	if line > 0 {
		fmt.Fprintf(&address, "#L%d", line)
	}
	if end > line {
		fmt.Fprintf(&address, "-L%d", end)
	}
	return "[" + code(where) + "](" + address.String() + ")"
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
func (m *markdown) item(format string, args ...any) {
	if m.full {
		return
	}
	line := "- " + fmt.Sprintf(format, args...) + "\n"
	if m.full = m.Len()+len(line) > maxMarkdown-500; m.full {
		line = "- … the rest does not fit here: run `orchestra-mcp gate` for all of it\n"
	}
	m.WriteString(line)
}

// folded writes a list that opens by a click. The items are written by list.
func (m *markdown) folded(title string, list func()) {
	if m.full {
		return
	}
	fmt.Fprintf(m, "\n<details><summary>%s</summary>\n\n", title)
	list()
	m.WriteString("\n</details>\n")
}

func (r *Report) verdict() string {
	if r.Passed {
		return "passed"
	}
	return "failed"
}

func (m *markdown) summary() {
	fmt.Fprintf(m, "## orchestra-mcp gate: %s\n\n**%s of %s traced**, %s, %s.\n", m.verdict(), FormatPercent(m.Percent),
		plural(m.Lines.Changed(), "changed line"), m.counted(Error), m.counted(Warning))
}

// counted gives the number of findings of a severity, with the checks that made them.
func (r *Report) counted(severity Severity) string {
	text := plural(r.Count("", severity), string(severity))
	var checks []string
	for _, info := range Checks() {
		if r.Count(info.Check, severity) > 0 {
			checks = append(checks, string(info.Check))
		}
	}
	if len(checks) == 0 {
		return text
	}
	return text + " (" + strings.Join(checks, ", ") + ")"
}

// maxFirst bounds what is not folded: as much as is read in a minute.
const maxFirst = 6

// first lists what a reviewer should look at: errors, warnings, then the files with most lines that nothing explains.
func (m *markdown) first() {
	shown := 0
	begin := func() {
		if shown++; shown == 1 {
			m.WriteString("\n### Look at this first\n\n")
		}
	}
	for i := range m.Findings {
		if f := &m.Findings[i]; f.Severity != Note && shown < maxFirst {
			begin()
			m.finding(f)
		}
	}
	for _, f := range m.byUntraced() {
		if shown == maxFirst {
			break
		}
		begin()
		m.untracedFile(f)
	}
	if shown == 0 {
		m.WriteString("\nThere is nothing to look at.\n")
	}
}

func (m *markdown) finding(f *Finding) {
	m.item("%s **%s** %s: %s %s", f.Severity, f.Check, m.link(f.Where(), f.File, f.Line, f.End), code(f.Message), f.Advice)
}

func (m *markdown) findings() {
	n := m.Count("", Error) + m.Count("", Warning)
	if n <= maxFirst {
		return // they stand above
	}
	m.folded(fmt.Sprintf("All %d errors and warnings", n), func() {
		for i := range m.Findings {
			if f := &m.Findings[i]; f.Severity != Note {
				m.finding(f)
			}
		}
	})
}

func (m *markdown) intents() {
	if len(m.Intents) == 0 {
		return
	}
	title := fmt.Sprintf("What was done: %s in %s", plural(m.Records, "new record"), plural(m.Commits, "commit"))
	m.folded(title, func() {
		for i := range m.Intents {
			m.intent(&m.Intents[i])
		}
	})
}

func (m *markdown) intent(in *Intent) {
	id, origin, name := code(in.ID), "", ""
	if in.ID == "" {
		id = "no intent"
	}
	switch in.Origin {
	case "head":
		origin = ", **declared in this range**"
	case "unknown":
		origin = ", **not declared**"
	}
	if in.Name != "" {
		name = " " + code(in.Name)
	}
	m.item("%s%s%s: %s on %s, %d of the lines at HEAD, %s", id, name, origin, plural(in.Records, "record"),
		plural(in.Paths, "path"), in.Lines, plural(in.Refused, "refused call"))
}

// proven lists what a reviewer may pass over: compared now, whatever the records say, and explained by them.
func (m *markdown) proven() {
	var files []*File
	for i := range m.Files {
		if f := &m.Files[i]; f.Evidence == mutation.Proven {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return
	}
	m.folded("Proven to keep what the code does: "+plural(len(files), "file"), func() {
		for _, f := range files {
			m.item("%s", m.link(f.Path, f.Path, 0, 0))
		}
	})
}

// untracedLines is how many changed lines nothing explains.
func (f *File) untracedLines() int { return f.Lines.Changed() - f.Lines.Traced }

// byUntraced gives the files with changed lines that nothing explains, those with most of them first.
func (r *Report) byUntraced() (files []*File) {
	for i := range r.Files {
		if f := &r.Files[i]; f.untracedLines() > 0 {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b *File) int { return b.untracedLines() - a.untracedLines() })
	return files
}

func (m *markdown) untraced() {
	files := m.byUntraced()
	if len(files) == 0 {
		return
	}
	title := fmt.Sprintf("Not explained by any record: %s in %s", plural(m.Lines.Changed()-m.Lines.Traced, "line"), plural(len(files), "file"))
	m.folded(title, func() {
		for _, f := range files {
			m.untracedFile(f)
		}
	})
}

func (m *markdown) untracedFile(f *File) {
	line, end := 0, 0
	if len(f.Untraced) > 0 {
		line, end = f.Untraced[0].Start, f.Untraced[0].End
	}
	m.item("%s (%s): %d of %d changed lines have no record%s", m.link(f.Path, f.Path, line, end), f.Status, f.untracedLines(), f.Lines.Changed(), f.ranges())
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

func (m *markdown) notProven() {
	if len(m.Unproven) == 0 {
		return
	}
	m.folded("What this does not prove", func() {
		for _, sentence := range m.Unproven {
			m.item("%s", code(sentence))
		}
	})
}
