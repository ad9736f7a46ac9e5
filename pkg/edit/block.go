package edit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
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
	lineAttribute = regexp.MustCompile(`^:[ \t]*(start|end)_line[ \t]*[:=][ \t]*\[?(\d+)\]?[ \t]*:?$`)
	escaped       = regexp.MustCompile(`^([ \t]*)\\(\\*(?:<<<<<<<|=======|>>>>>>>|-------|:start_line|:end_line))`)
)

func trimMarker(line string) string { return strings.Trim(line, " \t\r") }

func isSearchMarker(trimmed string) bool {
	return trimmed == searchMarker || trimmed == searchMarker+">"
}

// blockParser reads search blocks; text between blocks is ignored.
type blockParser struct {
	changes    []change
	current    change
	part       blockPart
	attributes int // of the block that is being read
	line       int // 1-based
}

type blockPart int

const (
	outside blockPart = iota
	inHead            // after the search marker, before any content
	inSearch
	inReplace
)

// parseBlocks reads lines of a diff, without terminators.
func parseBlocks(lines []string) ([]change, *SyntaxError) {
	p := &blockParser{}
	for i, line := range lines {
		p.line = i + 1
		if err := p.read(line); err != nil {
			return nil, err
		}
	}
	switch {
	case p.part == inReplace:
		return nil, p.fail("the diff ends inside block %d: %q is missing", p.current.index, replaceMarker)
	case p.part != outside:
		return nil, p.fail("the diff ends inside block %d: %q is missing", p.current.index, dividerMarker)
	case len(p.changes) == 0:
		return nil, &SyntaxError{Reason: "no block found; " + blockFormat}
	}
	return p.changes, nil
}

func (p *blockParser) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{Line: p.line, Reason: fmt.Sprintf(format, args...)}
}

func (p *blockParser) read(line string) *SyntaxError {
	trimmed := trimMarker(line)
	switch {
	case isSearchMarker(trimmed):
		return p.open()
	case trimmed == dividerMarker:
		return p.divide()
	case trimmed == replaceMarker:
		return p.close()
	case strings.HasPrefix(trimmed, searchPrefix), strings.HasPrefix(trimmed, replacePrefix):
		return p.fail("%q is not a marker of this format"+escapeAdvice+"; %s", shorten(trimmed, 80), shorten(trimmed, 80), blockFormat)
	}
	switch p.part {
	case inHead:
		return p.head(line, trimmed)
	case inSearch:
		p.current.old = append(p.current.old, unescape(line))
	case inReplace:
		if strings.HasPrefix(trimmed, ":start_line:") || strings.HasPrefix(trimmed, ":end_line:") {
			return p.fail("%q stands in the replacement of block %d; it belongs under %q"+escapeAdvice,
				trimmed, p.current.index, searchMarker, trimmed)
		}
		p.current.new = append(p.current.new, unescape(line))
	}
	return nil
}

func (p *blockParser) open() *SyntaxError {
	if p.part != outside {
		return p.fail("a new block begins inside block %d, which is not closed by %q"+escapeAdvice,
			p.current.index, replaceMarker, searchMarker)
	}
	p.current = change{index: len(p.changes) + 1, diffLine: p.line}
	p.part, p.attributes = inHead, 0
	return nil
}

// head reads the optional lines between the search marker and the content.
func (p *blockParser) head(line, trimmed string) *SyntaxError {
	lower := strings.ToLower(trimmed)
	if m := lineAttribute.FindStringSubmatch(lower); m != nil {
		number, err := strconv.Atoi(m[2])
		if err != nil {
			return p.fail("%q: the number is too large", shorten(trimmed, 80))
		}
		if m[1] == "start" {
			p.current.hint = number
		}
		p.attributes++
		return nil
	}
	if strings.HasPrefix(lower, ":start_line") || strings.HasPrefix(lower, ":end_line") {
		return p.fail("%q has no line number; write :start_line:N"+escapeAdvice, shorten(trimmed, 80), trimmed)
	}
	p.part = inSearch
	if trimmed == headMarker {
		if p.attributes > 0 {
			return nil
		}
		p.current.ruled = true
	}
	p.current.old = append(p.current.old, unescape(line))
	return nil
}

func (p *blockParser) divide() *SyntaxError {
	switch p.part {
	case outside:
		return p.fail("%q stands outside a block; %s", dividerMarker, blockFormat)
	case inReplace:
		return p.fail("a second %q in block %d"+escapeAdvice, dividerMarker, p.current.index, dividerMarker)
	}
	p.part = inReplace
	return nil
}

func (p *blockParser) close() *SyntaxError {
	switch p.part {
	case outside:
		return p.fail("%q stands outside a block; %s", replaceMarker, blockFormat)
	case inHead, inSearch:
		return p.fail("block %d has no %q before %q"+escapeAdvice, p.current.index, dividerMarker, replaceMarker, replaceMarker)
	}
	// As in the original format, a part of one empty line is an empty part.
	p.current.old = orNone(p.current.old)
	p.current.new = orNone(p.current.new)
	p.changes = append(p.changes, p.current)
	p.part = outside
	return nil
}

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
	return escaped.ReplaceAllString(line, "$1$2")
}
