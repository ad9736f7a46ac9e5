package tools

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/linematch"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var mark = []byte("\ufeff")

// looker looks for lines in files, one after the other. It is for one goroutine.
type looker struct {
	ctx     context.Context
	matcher *linematch.Matcher
	sizes
	buffer []byte

	// Of what it looks at:
	matches []searchMatch
	next    int // the number of the line that comes next
	given   int // the last line that a match shows
}

// begin is at the beginning of a file, or of a part of one.
func (l *looker) begin() { l.matches, l.next, l.given = nil, 1, -1 }

// short gives the matches of a file that is not long. Its error is that it is binary or cannot be read.
func (l *looker) short(f *workspace.File) ([]searchMatch, error) {
	l.begin()
	size := int(f.Size)
	content := l.room(size + 1)
	n := 0
	for {
		got, err := f.ReadSome(content[n:], int64(n))
		if err != nil {
			return nil, err
		}
		n += got
		if got == 0 || n == size || n == len(content) {
			break
		}
	}
	content = content[:n]
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 { // as Decode would find, at a higher price
		content = bytes.TrimPrefix(content, mark)
	} else {
		decoded, err := workspace.Decode(content)
		if err != nil {
			return nil, err
		}
		content = []byte(workspace.Shown(decoded.String))
	}
	l.lines(content, 0, len(content))
	return l.matches, nil
}

// room is the buffer, of a size.
func (l *looker) room(size int) []byte {
	if cap(l.buffer) < size {
		l.buffer = make([]byte, max(size, l.piece))
	}
	return l.buffer[:size:size]
}

// full tells whether there are enough matches.
func (l *looker) full() bool { return len(l.matches) > matchCap }

// lines looks at the lines that begin from one place on and before another, which is where a line begins or the text ends.
// What stands around them shows their neighbours.
func (l *looker) lines(text []byte, from, to int) {
	for from < to {
		start, end, found := l.matcher.Next(text[:to], from)
		if !found {
			break
		}
		l.next += bytes.Count(text[from:start], []byte("\n"))
		m := searchMatch{Line: l.next, Text: shownLine(text[start:end])}
		// Matches that are neighbours share context, which is given once.
		if start > 0 && l.next-1 > l.given {
			m.Before = []string{shownLine(text[lineBefore(text, start) : start-1])}
		}
		l.given = l.next
		_, from = linematch.Line(text, start)
		if from < len(text) {
			if behind, _ := linematch.Line(text, from); !l.matcher.Match(text[from:behind]) {
				m.After = []string{shownLine(text[from:behind])}
				l.given++
			}
		}
		l.next++
		if l.matches = append(l.matches, m); l.full() {
			return
		}
	}
	if from < to {
		l.next += bytes.Count(text[from:to], []byte("\n"))
	}
}

// lineBefore is where the line begins that ends at a place; 0 where that is the first one.
func lineBefore(text []byte, end int) int {
	return bytes.LastIndexByte(text[:max(end-1, 0)], '\n') + 1
}

// shownLine is a line as it is shown.
func shownLine(line []byte) string {
	text := string(line[:min(len(line), 2*utf8.UTFMax*matchLine)]) // of which at least as much as is shown stays
	return clip(strings.TrimRight(workspace.Shown(strings.ToValidUTF8(text, "\ufffd")), "\r\n"), matchLine)
}
