package edit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// The markers of search blocks. A marker stands alone on its line; spaces and tabs around it do not matter. Content
// that looks like a marker is escaped with a backslash.
const (
	searchMarker  = "<<<<<<< SEARCH"
	dividerMarker = "======="
	replaceMarker = ">>>>>>> REPLACE"
	headMarker    = "-------"
	searchPrefix  = "<<<<<<<"
	replacePrefix = ">>>>>>>"
)

const blockFormat = `a block is:
<<<<<<< SEARCH
:start_line:N
-------
lines to find, exactly as in the file
=======
lines to put in their place
>>>>>>> REPLACE`

const escapeAdvice = `; if the line is part of the file, put a backslash before it (\%s)`

var (
	lineAttribute = lazy.Regexp(`^:[ \t]*(start|end)_line[ \t]*[:=][ \t]*\[?(\d+)\]?[ \t]*:?$`)
	escaped       = lazy.Regexp(`^([ \t]*)\\(\\*(?:<<<<<<<|=======|>>>>>>>|-------|:start_line|:end_line))`)
)

func trimMarker(line string) string { return strings.Trim(line, " \t\r") }

func isSearchMarker(trimmed string) bool {
	return trimmed == searchMarker || trimmed == searchMarker+">"
}

// blockParser reads search blocks; text between blocks is ignored.
type blockParser struct {
	lines []string
	at    int // the line at hand
}

// parseBlocks reads lines of a diff, without terminators.
func parseBlocks(lines []string) ([]change, *SyntaxError) {
	p := &blockParser{lines: lines}
	var changes []change
	for ; p.at < len(lines); p.at++ {
		marker, err := p.marker()
		if err == nil && marker == searchMarker {
			ch := change{index: len(changes) + 1, diffLine: p.at + 1}
			err = p.block(&ch)
			changes = append(changes, ch)
		} else if err == nil && marker != "" {
			err = p.fail("%q stands outside a block; %s", marker, blockFormat)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return nil, &SyntaxError{Reason: "no block found; " + blockFormat}
	}
	return changes, nil
}

func (p *blockParser) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{Line: min(p.at+1, len(p.lines)), Reason: fmt.Sprintf(format, args...)}
}

// marker is the one that the line at hand is, "" for none.
func (p *blockParser) marker() (string, *SyntaxError) {
	trimmed := trimMarker(p.lines[p.at])
	switch {
	case isSearchMarker(trimmed):
		return searchMarker, nil
	case trimmed == dividerMarker, trimmed == replaceMarker:
		return trimmed, nil
	case strings.HasPrefix(trimmed, searchPrefix), strings.HasPrefix(trimmed, replacePrefix):
		return "", p.fail("%q is not a marker of this format"+escapeAdvice+"; %s", shorten(trimmed, 80), shorten(trimmed, 80), blockFormat)
	}
	return "", nil
}

// block reads one that begins at the line at hand, up to its last line.
func (p *blockParser) block(ch *change) (err *SyntaxError) {
	p.at++
	if err = p.head(ch); err != nil {
		return err
	}
	if ch.old, err = p.part(ch.index, dividerMarker); err != nil {
		return err
	}
	p.at++
	ch.new, err = p.part(ch.index, replaceMarker)
	return err
}

// head reads the optional lines between the search marker and the content.
func (p *blockParser) head(ch *change) *SyntaxError {
	attributes := 0
	for ; p.at < len(p.lines); p.at++ {
		trimmed := trimMarker(p.lines[p.at])
		lower := strings.ToLower(trimmed)
		m := lineAttribute().FindStringSubmatch(lower)
		switch {
		case m == nil && isAttribute(lower, ""):
			return p.fail("%q has no line number; write :start_line:N"+escapeAdvice, shorten(trimmed, 80), trimmed)
		case m == nil && trimmed == headMarker && attributes > 0:
			p.at++
			return nil
		case m == nil:
			ch.ruled = trimmed == headMarker
			return nil
		}
		number, err := strconv.Atoi(m[2])
		if err != nil {
			return p.fail("%q: the number is too large", shorten(trimmed, 80))
		}
		if m[1] == "start" {
			ch.hint = number
		}
		attributes++
	}
	return nil
}

func isAttribute(text, goesOn string) bool {
	return strings.HasPrefix(text, ":start_line"+goesOn) || strings.HasPrefix(text, ":end_line"+goesOn)
}

// part reads the lines up to the marker that ends them.
func (p *blockParser) part(index int, until string) (lines []string, err *SyntaxError) {
	for ; p.at < len(p.lines); p.at++ {
		marker, err := p.marker()
		trimmed := trimMarker(p.lines[p.at])
		switch {
		case err != nil:
			return nil, err
		case marker == until:
			return orNone(lines), nil
		case marker == searchMarker:
			return nil, p.fail("a new block begins inside block %d, which is not closed by %q"+escapeAdvice, index, replaceMarker, searchMarker)
		case marker == dividerMarker:
			return nil, p.fail("a second %q in block %d"+escapeAdvice, dividerMarker, index, dividerMarker)
		case marker == replaceMarker:
			return nil, p.fail("block %d has no %q before %q"+escapeAdvice, index, dividerMarker, replaceMarker, replaceMarker)
		case until == replaceMarker && isAttribute(trimmed, ":"):
			return nil, p.fail("%q stands in the replacement of block %d; it belongs under %q"+escapeAdvice, trimmed, index, searchMarker, trimmed)
		}
		lines = append(lines, unescape(p.lines[p.at]))
	}
	return nil, p.fail("the diff ends inside block %d: %q is missing", index, until)
}

// orNone: as in the original format, a part of one empty line is an empty part.
func orNone(lines []string) []string {
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

// unescape removes one backslash in front of a marker.
func unescape(line string) string {
	if !strings.Contains(line, `\`) {
		return line
	}
	return escaped().ReplaceAllString(line, "$1$2")
}
