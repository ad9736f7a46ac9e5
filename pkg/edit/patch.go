package edit

import (
	"fmt"
	"strings"

	file "github.com/intentgov/orchestra-mcp/pkg/change"
)

// Patch is a patch over several files, in the Codex format.
type Patch struct {
	Sections []Section // in the order of the patch; several can be for one file
	Notes    []string  // what was repaired to read it
}

// Section is what a patch does with one file. Paths are as the patch has them.
type Section struct {
	Op      file.Op // Created, Modified, Deleted, or Moved with or without changes
	Path    string
	To      string      // of a move: the new path
	Content []string    // of a new file: its lines
	Hunks   []PatchHunk // of a file that is modified or moved
	Line    int         // 1-based line of its header in the patch
}

// PatchHunk is one change of a section.
type PatchHunk struct {
	Anchors   []string // the texts of its @@ lines: lines of the file above the change, outermost first
	Lines     []PatchLine
	EndOfFile bool // the change ends where the file ends
	Line      int  // 1-based, in the patch
}

// PatchLine is a line of a hunk: Mark is ' ' for one that stays, '-' for one that goes, '+' for one that comes.
type PatchLine struct {
	Mark byte
	Text string
}

const (
	beginPatch  = "*** Begin Patch"
	endPatch    = "*** End Patch"
	addFile     = "*** Add File:"
	deleteFile  = "*** Delete File:"
	updateFile  = "*** Update File:"
	moveTo      = "*** Move to:"
	endOfFile   = "*** End of File"
	patchFormat = `a patch is:
*** Begin Patch
*** Update File: path
@@ line of the file above the change
 line that stays
-line that goes
+line that comes
*** End Patch`
)

// ParsePatch reads a patch. Beyond the format it accepts a surrounding heredoc or code fence, CRLF line endings and
// spaces around markers. The error is a [*SyntaxError].
func ParsePatch(text string) (*Patch, error) {
	p := newPatchParser(strings.TrimPrefix(text, byteOrderMark))
	for p.unwrap() {
	}
	if err := p.envelope(); err != nil {
		return nil, err
	}
	for p.at < p.end {
		if err := p.section(); err != nil {
			return nil, err
		}
	}
	if len(p.patch.Sections) == 0 {
		return nil, &SyntaxError{Reason: "the patch has no section; " + patchFormat}
	}
	return p.patch, nil
}

type patchParser struct {
	lines   []string // a CR at their end is content of added files only
	texts   []int    // texts[i] is the next line from i on that is not blank
	at, end int      // lines[at:end] is still to be read
	patch   *Patch
}

func newPatchParser(text string) *patchParser {
	p := &patchParser{patch: &Patch{}, lines: strings.Split(text, "\n")}
	if breaks := strings.Count(text, "\n"); breaks > 0 && breaks == strings.Count(text, "\r\n") {
		for i, line := range p.lines {
			p.lines[i] = strings.TrimSuffix(line, "\r")
		}
		p.note("the CRLF line endings of the patch were read as LF")
	}
	p.end = len(p.lines)
	p.texts = make([]int, p.end+1)
	p.texts[p.end] = p.end
	for i := p.end - 1; i >= 0; i-- {
		p.texts[i] = i
		if isBlank(p.lines[i]) {
			p.texts[i] = p.texts[i+1]
		}
	}
	p.skipBlank()
	return p
}

func (p *patchParser) note(text string) { p.patch.Notes = append(p.patch.Notes, text) }

func (p *patchParser) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{Line: p.at + 1, Reason: fmt.Sprintf(format, args...)}
}

// line is the current line as markers and hunks have it.
func (p *patchParser) line() string { return strings.TrimRight(p.lines[p.at], "\r") }

// marker gives the current line, without the spaces after it, if it is a marker
// line. Behind a space it is a context line that quotes one.
func (p *patchParser) marker() (string, bool) {
	if p.at >= p.end {
		return "", false
	}
	return strings.TrimSpace(p.lines[p.at]), strings.HasPrefix(p.lines[p.at], "*** ")
}

// unwrap takes off a heredoc or a code fence around the patch, and reports whether there was one.
func (p *patchParser) unwrap() bool {
	if p.end-p.at < 2 {
		return false
	}
	first, last := strings.TrimSpace(p.lines[p.at]), strings.TrimSpace(p.lines[p.end-1])
	if _, fenced := unfence([]string{first, last}); fenced {
		p.note("the code fence around the patch was removed")
	} else if word, ok := heredoc(first); ok && last == word {
		p.note("the heredoc around the patch was removed")
	} else {
		return false
	}
	p.at, p.end = p.at+1, p.end-1
	p.skipBlank()
	return true
}

func (p *patchParser) skipBlank() {
	for p.at < p.end && isBlank(p.lines[p.at]) {
		p.at++
	}
	for p.at < p.end && isBlank(p.lines[p.end-1]) {
		p.end--
	}
}

// heredoc gives the closing word of a line like apply_patch <<'EOF'.
func heredoc(line string) (word string, ok bool) {
	_, word, ok = strings.Cut(line, "<<")
	word = strings.Trim(strings.TrimPrefix(word, "-"), ` '"`)
	return word, ok && word != "" && !strings.HasPrefix(line, "*")
}

func (p *patchParser) envelope() *SyntaxError {
	if p.at >= p.end {
		return &SyntaxError{Reason: "the patch is empty; " + patchFormat}
	}
	if strings.TrimSpace(p.lines[p.at]) != beginPatch {
		return p.fail("the first line must be %q; %s", beginPatch, patchFormat)
	}
	if strings.TrimSpace(p.lines[p.end-1]) != endPatch {
		p.at = p.end - 1
		return p.fail("the last line must be %q; without it the patch may be cut off", endPatch)
	}
	p.at, p.end = p.at+1, p.end-1
	return nil
}

// section reads one section with its header at the current line.
func (p *patchParser) section() *SyntaxError {
	if isBlank(p.lines[p.at]) {
		p.at++
		return nil
	}
	header := strings.TrimSpace(p.lines[p.at])
	s := Section{Line: p.at + 1}
	read := p.nothing
	switch {
	case cutHeader(header, addFile, &s.Path):
		s.Op, read = file.Created, p.content
	case cutHeader(header, deleteFile, &s.Path):
		s.Op = file.Deleted
	case cutHeader(header, updateFile, &s.Path):
		s.Op, read = file.Modified, p.hunks
	default:
		return p.fail("%q is not a section; sections begin with %q, %q or %q", shorten(header, 80), addFile, updateFile, deleteFile)
	}
	if s.Path == "" {
		return p.fail("%q names no path", header)
	}
	p.at++
	if err := read(&s); err != nil {
		return err
	}
	p.patch.Sections = append(p.patch.Sections, s)
	return nil
}

func cutHeader(line, header string, path *string) bool {
	rest, ok := strings.CutPrefix(line, header)
	*path = strings.TrimSpace(rest)
	return ok
}

func (p *patchParser) nothing(*Section) *SyntaxError { return nil }

// content reads the lines of an added file.
func (p *patchParser) content(s *Section) *SyntaxError {
	for ; p.at < p.end; p.at++ {
		line := p.lines[p.at]
		if _, marked := p.marker(); marked {
			return nil
		}
		switch {
		case strings.HasPrefix(line, "+"):
			s.Content = append(s.Content, line[1:])
		case isBlank(line) && p.onlyBlankBeforeMarker():
		default:
			return p.fail("each line of the new file %s must begin with +", s.Path)
		}
	}
	return nil
}

// onlyBlankBeforeMarker reports whether nothing but blank lines stands between here and the next section.
func (p *patchParser) onlyBlankBeforeMarker() bool {
	next := p.texts[p.at]
	return next >= p.end || strings.HasPrefix(p.lines[next], "*** ")
}

// hunks reads what is done to a file that exists.
func (p *patchParser) hunks(s *Section) *SyntaxError {
	if line, ok := p.marker(); ok && cutHeader(line, moveTo, &s.To) {
		if s.Op = file.Moved; s.To == "" {
			return p.fail("%q names no path", line)
		}
		p.at++
	}
	for p.at < p.end {
		if line, marked := p.marker(); marked {
			if line == endOfFile {
				return p.fail("%q stands outside a hunk of %s", endOfFile, s.Path)
			}
			break
		}
		if isBlank(p.lines[p.at]) && p.onlyBlankBeforeMarker() {
			p.at++
			continue
		}
		if err := p.hunk(s); err != nil {
			return err
		}
	}
	if len(s.Hunks) == 0 && s.Op == file.Modified {
		return p.fail("the section for %s changes nothing; give a hunk or %q", s.Path, moveTo)
	}
	return nil
}

func (p *patchParser) hunk(s *Section) *SyntaxError {
	h := PatchHunk{Line: p.at + 1}
	for p.at < p.end && bareHeader().MatchString(p.line()) {
		if text := strings.TrimRight(strings.TrimPrefix(p.line()[len("@@"):], " "), " \t"); text != "" {
			h.Anchors = append(h.Anchors, text)
		}
		p.at++
	}
	for p.at < p.end && !bareHeader().MatchString(p.line()) && !h.EndOfFile {
		marker, marked := p.marker()
		if h.EndOfFile = marked && marker == endOfFile; marked && !h.EndOfFile {
			break
		}
		if !h.EndOfFile {
			if err := p.hunkLine(&h, s); err != nil {
				return err
			}
		}
		p.at++
	}
	if len(h.Lines) == 0 {
		return &SyntaxError{Line: h.Line, Reason: fmt.Sprintf("a hunk of %s has no lines", s.Path)}
	}
	s.Hunks = append(s.Hunks, h)
	return nil
}

func (p *patchParser) hunkLine(h *PatchHunk, s *Section) *SyntaxError {
	line := p.line()
	switch {
	case line == "" && p.onlyBlankBeforeMarker():
	case line == "":
		h.Lines = append(h.Lines, PatchLine{' ', ""})
	case line[0] == ' ' || line[0] == '-' || line[0] == '+':
		h.Lines = append(h.Lines, PatchLine{line[0], line[1:]})
	default:
		return p.fail("each line of a hunk of %s must begin with a space, + or -; this one is %q", s.Path, shorten(line, 80))
	}
	return nil
}
