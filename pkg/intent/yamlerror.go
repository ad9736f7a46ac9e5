package intent

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// lineReader hands out one line a call, so that the number of lines read tells how far the parser came.
type lineReader struct {
	rest []byte
	read int
}

func (l *lineReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	line := l.rest
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i+1]
	}
	n := copy(p, line)
	if l.rest = l.rest[n:]; n == len(line) {
		l.read++
	}
	return n, nil
}

// checkCharacters finds what the parser refuses without a position.
func checkCharacters(file string, data []byte) error {
	line, column := 1, 1
	for rest := bytes.TrimPrefix(data, []byte("\ufeff")); len(rest) > 0; column++ {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && n == 1:
			return &UnreadableError{File: file, Line: line, Column: column, Reason: "the text is not valid UTF-8"}
		case r == '\n':
			line, column = line+1, 0
		case !printable(r):
			return &UnreadableError{File: file, Line: line, Column: column,
				Reason: fmt.Sprintf("control characters are not allowed (%U)", r)}
		}
		rest = rest[n:]
	}
	return nil
}

// printable reports whether YAML allows the character in a file.
func printable(r rune) bool {
	switch {
	case r == '\t', r == '\r', r == 0x85:
		return true
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

var (
	yamlErrorPattern     = lazy.Regexp(`^yaml: (?:line (\d+): )?(.*)`)
	unknownAnchorPattern = lazy.Regexp(`^unknown anchor '(.*)' referenced`)
	tabIndentPattern     = lazy.Regexp(`^ *\t`)
)

// syntaxError turns the parser's message into a position. The parser names no column, and as line often the one where
// the surrounding construct begins; read is the number of lines that it had read.
func syntaxError(file string, data []byte, read int, err error) *UnreadableError {
	m := yamlErrorPattern().FindStringSubmatch(err.Error())
	if m == nil {
		return &UnreadableError{File: file, Line: max(read, 1), Column: 1, Reason: err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	lines := strings.Split(string(data), "\n")
	e := &UnreadableError{File: file, Reason: "malformed YAML: " + m[2]}
	switch problem := m[2]; {
	case problem == "did not find expected key", problem == "did not find expected '-' indicator":
		line = read
		e.Reason += ", in this line or the one before"
	case strings.HasPrefix(problem, "did not find expected ','"), problem == "did not find expected node content":
		line++ // the parser's own errors, unlike the scanner's, count lines from 0
	case strings.Contains(problem, "tab character"):
		line = firstLine(lines, max(line, 1), tabIndentPattern())
	case strings.Contains(problem, "alphabetic or numeric character"):
		e.Reason += starHint
	}
	if anchor := unknownAnchorPattern().FindStringSubmatch(m[2]); anchor != nil {
		line = firstLine(lines, 1, regexp.MustCompile(regexp.QuoteMeta("*"+anchor[1])))
		e.Reason += starHint
	}
	e.Line = min(max(line, 1), len(lines))
	e.Column = len(lines[e.Line-1]) - len(strings.TrimLeft(lines[e.Line-1], " ")) + 1
	return e
}

const starHint = ` (a value that begins with "*" or "&" must be quoted)`

// firstLine returns the number of the first line from a given one on that matches.
func firstLine(lines []string, from int, pattern *regexp.Regexp) int {
	for i := from - 1; i < len(lines); i++ {
		if pattern.MatchString(lines[i]) {
			return i + 1
		}
	}
	return from
}
