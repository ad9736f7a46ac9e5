package edit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// hunk is one hunk of a unified diff.
type hunk struct {
	diffLine int         // 1-based line of its header
	start    int         // old start line of its header; 0 if it has no numbers
	trusted  bool        // its numbers agree with its lines
	lines    []PatchLine // with the terminators that they have in the file
	old, new int         // how many of the lines are of each side
	bare     int         // how many at the end are empty and without their mark
}

var (
	hunkHeader = lazy.Regexp(`^@@ +-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))?(?: +@@.*)?$`)
	bareHeader = lazy.Regexp(`^@@(?:$|[ \t])`)
)

// isUnified reports whether a hunk header comes before any block marker.
func isUnified(lines []string) bool {
	for _, line := range lines {
		if bareHeader().MatchString(line) {
			return true
		}
		if isBlockMarker(line) {
			return false
		}
	}
	return false
}

// unifiedParser reads the unified diff of one file. A strict one believes the counts of the hunk headers; a lenient one
// takes every hunk as far as its lines go and counts itself.
type unifiedParser struct {
	lines   []string // with terminators
	at      int
	lenient bool
	files   int
	hunks   []hunk
	notes   []string
}

func parseUnified(lines []string, lenient bool) (*unifiedParser, *SyntaxError) {
	p := &unifiedParser{lines: lines, lenient: lenient}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if len(p.hunks) == 0 {
		return nil, &SyntaxError{Reason: "the unified diff has no hunk"}
	}
	return p, nil
}

func (p *unifiedParser) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{Line: p.at + 1, Reason: fmt.Sprintf(format, args...)}
}

func (p *unifiedParser) line(i int) string {
	if i >= len(p.lines) {
		return ""
	}
	return strings.TrimRight(p.lines[i], "\r\n")
}

// next reads a header line or a whole hunk.
func (p *unifiedParser) next() *SyntaxError {
	line := p.line(p.at)
	switch {
	case bareHeader().MatchString(line):
		return p.hunk(line)
	case strings.HasPrefix(line, "--- ") && strings.HasPrefix(p.line(p.at+1), "+++ "):
		if err := p.file(line, p.line(p.at+1)); err != nil {
			return err
		}
		p.at++
	case strings.HasPrefix(line, "diff --git ") && len(p.hunks) > 0:
		return p.fail("%s", severalFiles)
	case len(p.hunks) > 0 && line == "-- ":
		p.at = len(p.lines) // the signature of a mailed patch
		return nil
	case len(p.hunks) > 0 && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "index "):
		return p.fail("%q is not part of a hunk; each line of a hunk begins with a space, + or -", shorten(line, 80))
	}
	if err := p.refused(line); err != nil {
		return err
	}
	p.at++
	return nil
}

const severalFiles = "the diff names several files; send one diff a file, or use apply_patch for several files at once"

func (p *unifiedParser) file(before, after string) *SyntaxError {
	if p.files++; p.files > 1 {
		return p.fail("%s", severalFiles)
	}
	for _, header := range []string{before, after} {
		if name, _, _ := strings.Cut(header[len("--- "):], "\t"); strings.TrimSpace(name) == "/dev/null" {
			return p.fail("the diff creates or deletes a file; use write_to_file to create one, apply_patch to delete one")
		}
	}
	return nil
}

// refused reports headers that ask for more than a change of content.
func (p *unifiedParser) refused(line string) *SyntaxError {
	for _, h := range []struct{ prefix, advice string }{
		{"rename from ", "renames a file; use apply_patch with *** Move to:"},
		{"copy from ", "copies a file; use write_to_file"},
		{"new file mode ", "creates a file; use write_to_file"},
		{"deleted file mode ", "deletes a file; use apply_patch with *** Delete File:"},
		{"old mode ", "changes the mode of a file, which no edit can do; leave these lines out"},
		{"new mode ", "changes the mode of a file, which no edit can do; leave these lines out"},
		{"Binary files ", "is for a binary file, which has no lines"},
		{"GIT binary patch", "is for a binary file, which has no lines"},
	} {
		if strings.HasPrefix(line, h.prefix) {
			return p.fail("the diff %s", h.advice)
		}
	}
	return nil
}

// hunk reads a hunk with the header at the current line.
func (p *unifiedParser) hunk(header string) *SyntaxError {
	h := hunk{diffLine: p.at + 1}
	wantOld, wantNew := -1, -1
	m := hunkHeader().FindStringSubmatch(header)
	if m != nil {
		h.start, wantOld, wantNew = number(m[1], 0), number(m[2], 1), number(m[4], 1)
	} else if strings.HasPrefix(header, "@@ -") && !p.lenient {
		return p.fail("%q has numbers that cannot be read; write @@ -start,count +start,count @@", shorten(header, 80))
	}
	p.at++
	believe := m != nil && !p.lenient
	for p.at < len(p.lines) && !(believe && h.old >= wantOld && h.new >= wantNew) {
		if !believe && p.endsHunk() || !h.read(p.lines[p.at]) {
			break
		}
		p.at++
	}
	if strings.HasPrefix(p.line(p.at), `\`) && h.read(p.lines[p.at]) {
		p.at++
	}
	if p.lenient { // take off the empty lines between the hunk and what follows
		bare := max(0, min(h.bare, len(h.lines)-1))
		h.lines, h.old, h.new = h.lines[:len(h.lines)-bare], h.old-bare, h.new-bare
	}
	h.trusted = h.old == wantOld && h.new == wantNew
	if m != nil && !h.trusted {
		if !p.lenient {
			return &SyntaxError{Line: h.diffLine, Reason: fmt.Sprintf(
				"the hunk header announces %d old and %d new lines, the hunk has %d and %d", wantOld, wantNew, h.old, h.new)}
		}
		p.notes = append(p.notes, fmt.Sprintf("block %d: the counts in its hunk header were wrong and were not used", len(p.hunks)+1))
	}
	if len(h.lines) == 0 {
		return &SyntaxError{Line: h.diffLine, Reason: "the hunk has no lines"}
	}
	p.hunks = append(p.hunks, h)
	return nil
}

func number(digits string, missing int) int {
	if digits == "" {
		return missing
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1 << 30 // no file has that line; the hunk is then looked for by its content
	}
	return n
}

// endsHunk reports, for a hunk of unknown length, whether the current line begins something else.
func (p *unifiedParser) endsHunk() bool {
	line := p.line(p.at)
	return bareHeader().MatchString(line) || strings.HasPrefix(line, "diff --git ") ||
		strings.HasPrefix(line, "--- ") && strings.HasPrefix(p.line(p.at+1), "+++ ")
}

// read adds a line to the hunk, or reports that it is none of a hunk's.
func (h *hunk) read(raw string) bool {
	last := len(h.lines) - 1
	line := PatchLine{' ', raw}
	switch {
	case strings.HasPrefix(raw, `\`) && last >= 0: // No newline at end of file
		h.lines[last].Text = strings.TrimSuffix(h.lines[last].Text, "\n")
		return true
	case strings.Trim(raw, "\r\n") == "":
		h.bare++ // an empty context line whose space an editor has cut off
	case raw[0] == ' ' || raw[0] == '-' || raw[0] == '+':
		h.bare, line = 0, PatchLine{raw[0], raw[1:]}
	default:
		return false
	}
	if !strings.HasSuffix(line.Text, "\n") { // the diff's own last line has lost its newline
		end := "\n"
		if last >= 0 && strings.HasSuffix(h.lines[last].Text, "\r\n") {
			end = "\r\n"
		}
		line.Text = strings.TrimSuffix(line.Text, "\r") + end
	}
	h.lines = append(h.lines, line)
	if line.Mark != '+' {
		h.old++
	}
	if line.Mark != '-' {
		h.new++
	}
	return true
}
