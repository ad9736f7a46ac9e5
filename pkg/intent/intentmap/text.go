package intentmap

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

const (
	beginMarker = "<!-- orchestra-mcp intent map: begin (generated, edit outside the markers) -->"
	endMarker   = "<!-- orchestra-mcp intent map: end -->"
)

// parts are a file cut at its markers; the block includes them.
type parts struct {
	before, block, after string
	eol                  string
}

// split cuts the text at the markers. Without any, the block takes the place of the sections that have its form, or goes
// to the end, behind a blank line.
func split(text string) (parts, error) {
	p := parts{eol: "\n"}
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		p.eol = "\r\n"
	}
	var begins, ends []int // offsets: where the first marker starts, where the line of the second ends
	at, lineNumber, beginLine, endLine := 0, 0, 0, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		lineNumber++
		switch strings.TrimSpace(line) {
		case beginMarker:
			begins, beginLine = append(begins, at), lineNumber
		case endMarker:
			ends, endLine = append(ends, at+len(line)), lineNumber
		}
		at += len(line)
	}
	switch {
	case len(begins) == 0 && len(ends) == 0:
		p.before, p.block, p.after = cutSections(text)
		p.before += gapAfter(p.before, p.eol)
		if p.after != "" {
			p.after = p.eol + p.after
		}
		return p, nil
	case len(begins) != 1 || len(ends) != 1 || endLine < beginLine:
		return p, fmt.Errorf("%w (begin: %d times, last in line %d; end: %d times, last in line %d)", ErrMarkers,
			len(begins), beginLine, len(ends), endLine)
	}
	p.before, p.block, p.after = text[:begins[0]], text[begins[0]:ends[0]], text[ends[0]:]
	return p, nil
}

// cutSections cuts out the first sections that say nothing but what a block says.
func cutSections(text string) (before, sections, after string) {
	from, to, at, section := -1, 0, 0, 0
	inside := false
	for line := range strings.SplitAfterSeq(text, "\n") {
		trimmed := strings.TrimRight(line, "\r\n ")
		switch {
		case headingPattern().MatchString(trimmed):
			if from < 0 {
				from = at
			}
			inside, section = true, at
		case !inside, trimmed == "", filePattern().MatchString(trimmed), statePattern().MatchString(trimmed):
		case strings.HasPrefix(trimmed, "#"):
			return text[:from], text[from:at], text[at:]
		case section == from: // with prose in it: not one of ours
			from, inside = -1, false
		default:
			return text[:from], text[from:section], text[section:]
		}
		at += len(line)
		to = at
	}
	if from < 0 {
		return text, "", ""
	}
	return text[:from], text[from:to], text[to:]
}

// gapAfter returns what has to follow text so that a blank line precedes the block.
func gapAfter(text, eol string) string {
	switch {
	case text == "" || strings.HasSuffix(text, eol+eol):
		return ""
	case strings.HasSuffix(text, "\n"):
		return eol
	default:
		return eol + eol
	}
}

// render writes the block with its markers.
func render(entries []Entry, eol string) string {
	lines := []string{beginMarker}
	for i, e := range merge(entries) {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, heading(e), "")
		if state := stateLine(e); state != "" {
			lines = append(lines, state, "")
		}
		for _, f := range e.Files {
			if f.Changed.IsZero() {
				lines = append(lines, fmt.Sprintf("- `%s`", quotePath(f.Path)))
				continue
			}
			lines = append(lines, fmt.Sprintf("- `%s` (%s)", quotePath(f.Path), f.Changed.UTC().Format(time.DateOnly)))
		}
	}
	return strings.Join(append(lines, endMarker), eol) + eol
}

// heading writes an intent's line. What could end the line or open a comment or a tag is made harmless.
func heading(e Entry) string {
	name := strings.ReplaceAll(strings.Join(strings.FieldsFunc(e.Name, breaksLine), " "), "<", "&lt;")
	return strings.TrimRight("## "+e.IntentID+": "+name, " ")
}

func breaksLine(r rune) bool {
	return r < ' ' || r == ' ' || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}

// stateLine is the status and the date of the last change, as far as there are any.
func stateLine(e Entry) string {
	var last time.Time
	for _, f := range e.Files {
		if f.Changed.After(last) {
			last = f.Changed
		}
	}
	switch {
	case last.IsZero():
		return e.Status
	case e.Status == "":
		return "last change " + last.UTC().Format(time.DateOnly)
	}
	return e.Status + ", last change " + last.UTC().Format(time.DateOnly)
}

// quotePath keeps a path inside its code span and on its line.
func quotePath(path string) string {
	quoted := strconv.Quote(path)
	if quoted == `"`+path+`"` && !strings.ContainsAny(path, "`") && path != "" {
		return path
	}
	return strings.ReplaceAll(quoted, "`", `\x60`)
}

var (
	headingPattern = lazy.Regexp(`^## ([A-Za-z][A-Za-z0-9._-]*):(.*)$`)
	statePattern   = lazy.Regexp(`^(TODO|IN_PROGRESS|BLOCKED|DONE)(, last change \d{4}-\d{2}-\d{2})?$`)
	filePattern    = lazy.Regexp("^- `([^`]+)`(?: \\((\\d{4}-\\d{2}-\\d{2})\\))?$")
)

// parse reads a block back. Lines that render does not write are skipped.
func parse(block string) []Entry {
	var entries []Entry
	for line := range strings.SplitSeq(block, "\n") {
		line = strings.TrimRight(line, "\r ")
		if m := headingPattern().FindStringSubmatch(line); m != nil {
			name := strings.ReplaceAll(strings.TrimSpace(m[2]), "&lt;", "<")
			entries = append(entries, Entry{IntentID: m[1], Name: name})
			continue
		}
		if len(entries) == 0 {
			continue
		}
		if m := statePattern().FindStringSubmatch(line); m != nil {
			entries[len(entries)-1].Status = m[1]
			continue
		}
		m := filePattern().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		changed, err := time.Parse(time.DateOnly, m[2])
		if path, ok := unquotePath(m[1]); ok && (err == nil || m[2] == "") {
			last := &entries[len(entries)-1]
			last.Files = append(last.Files, File{Path: path, Changed: changed})
		}
	}
	return entries
}

func unquotePath(text string) (string, bool) {
	if !strings.HasPrefix(text, `"`) {
		return text, true
	}
	path, err := strconv.Unquote(text)
	return path, err == nil
}
