package tools

import (
	"bytes"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/linematch"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// wholeFile bounds a file that is read whole and whose encoding is found out, in bytes. A longer one is UTF-8, or binary.
	wholeFile = 4 << 20
	// filePiece is how much of a longer file is looked at at a time, in bytes, where its lines are shorter.
	filePiece = 256 << 10
	// longLine bounds what is looked at of one line of such a file, in bytes: the beginning.
	longLine = 2 * wholeFile
)

var mark = []byte("\ufeff")

// looker looks for lines in files, one after the other. It is for one goroutine.
type looker struct {
	ctx     context.Context
	matcher *linematch.Matcher
	buffer  []byte
	window  []byte // the part of it that is used

	// Of the file that it is in:
	file    *workspace.File
	left    int64 // of what was there when it was opened, in bytes
	matches []searchMatch
	line    int // the number of the line that comes next
	given   int // the last line that a match shows
}

// look gives the matches of a file, one more than the cap at most; false where it is binary or cannot be read.
func (l *looker) look(e workspace.Entry) ([]searchMatch, bool) {
	f, err := e.Open()
	if err != nil {
		return nil, false
	}
	defer f.Close()
	l.file, l.left, l.matches, l.line, l.given = f, f.Size, nil, 1, 0
	if f.Size > wholeFile {
		err = l.pieces()
	} else {
		err = l.whole()
	}
	return l.matches, err == nil
}

func (l *looker) whole() error {
	l.left = wholeFile // some file systems do not say a size
	l.grow(int(l.file.Size)+1, 0)
	content, _, err := l.fill(0, int(l.file.Size))
	if err != nil {
		return err
	}
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 { // as Decode would find, at a higher price
		content = bytes.TrimPrefix(content, mark)
	} else {
		decoded, err := workspace.Decode(content)
		if err != nil {
			return err
		}
		content = []byte(workspace.Shown(decoded.String))
	}
	l.lines(content, 0, len(content))
	return nil
}

// pieces goes through a long file. In the buffer there is what has not been looked at, from a place on, and one line before
// it; the last line that is complete waits for the next piece, so that each line is looked at with its neighbours.
func (l *looker) pieces() error {
	l.grow(filePiece, 0)
	for from, kept := 0, 0; ; {
		text, end, err := l.fill(kept, len(l.window))
		if err != nil {
			return err
		}
		if bytes.IndexByte(text[kept:], 0) >= 0 {
			return workspace.ErrBinary
		}
		if l.line == 1 && from == 0 && bytes.HasPrefix(text, mark) {
			from = len(mark)
		}
		if end {
			l.lines(text, from, len(text))
			return nil
		}
		complete := bytes.LastIndexByte(text, '\n') + 1
		keep := from // what stays in the buffer begins here
		switch to := lineBefore(text, complete); {
		case to > from:
			l.lines(text, from, to)
			keep, from = lineBefore(text, to), to
		case len(text) < longLine:
			l.grow(2*len(l.window), len(text))
			keep = 0
		case from > 0: // the line before is long
		case complete > 0:
			l.lines(text, 0, complete)
			keep, from = complete, complete
		default:
			l.lines(text, 0, len(text))
			if text, err = l.skip(); err != nil {
				return err
			}
		}
		if len(l.matches) > matchCap {
			return nil
		}
		kept = copy(l.window, text[keep:])
		from -= keep
	}
}

// skip goes on to the next line, and gives what has been read of it.
func (l *looker) skip() ([]byte, error) {
	for {
		text, end, err := l.fill(0, len(l.window))
		if err == nil && bytes.IndexByte(text, 0) >= 0 {
			err = workspace.ErrBinary
		}
		if err != nil {
			return nil, err
		}
		if at := bytes.IndexByte(text, '\n'); at >= 0 {
			l.line++
			return text[at+1:], nil
		}
		if end {
			return nil, nil
		}
	}
}

// lineBefore is where the line begins that ends at a place; 0 where that is the first one.
func lineBefore(text []byte, end int) int {
	return bytes.LastIndexByte(text[:max(end-1, 0)], '\n') + 1
}

// grow makes the window larger, of which some is kept.
func (l *looker) grow(size, kept int) {
	if len(l.buffer) < size {
		larger := make([]byte, max(size, filePiece))
		copy(larger, l.buffer[:kept])
		l.buffer = larger
	}
	l.window = l.buffer[:size]
}

// fill reads behind what is kept in the buffer, until there is enough and the file has no more at the moment, the buffer is
// full, or the file ends. It gives all that is in the buffer then.
func (l *looker) fill(kept, enough int) (text []byte, end bool, err error) {
	for kept < len(l.window) && !end {
		if err := l.ctx.Err(); err != nil {
			return nil, false, err
		}
		room := l.window[kept:min(len(l.window), kept+int(min(l.left, longLine)))]
		n, err := l.file.Read(room)
		kept += n
		l.left -= int64(n)
		switch {
		case err != nil && err != io.EOF:
			return nil, false, err
		case err != nil || l.left == 0:
			end = true
		case n < len(room) && kept >= enough:
			return l.window[:kept], false, nil
		}
	}
	return l.window[:kept], end, nil
}

// lines looks at the lines that begin from one place on and before another, which is where a line begins or the text ends.
// What stands around them shows their neighbours.
func (l *looker) lines(text []byte, from, to int) {
	for from < to {
		start, end, found := l.matcher.Next(text[:to], from)
		if !found {
			break
		}
		l.line += bytes.Count(text[from:start], []byte("\n"))
		m := searchMatch{Line: l.line, Text: shownLine(text[start:end])}
		// Matches that are neighbours share context, which is given once.
		if start > 0 && l.line-1 > l.given {
			before := bytes.LastIndexByte(text[:start-1], '\n') + 1
			m.Before = []string{shownLine(text[before : start-1])}
		}
		l.given = l.line
		_, from = linematch.Line(text, start)
		if from < len(text) {
			if behind, _ := linematch.Line(text, from); !l.matcher.Match(text[from:behind]) {
				m.After = []string{shownLine(text[from:behind])}
				l.given++
			}
		}
		l.line++
		l.matches = append(l.matches, m)
		if len(l.matches) > matchCap {
			return
		}
	}
	l.line += bytes.Count(text[from:to], []byte("\n"))
}

// shownLine is a line as it is shown.
func shownLine(line []byte) string {
	text := string(line[:min(len(line), 2*utf8.UTFMax*matchLine)]) // of which at least as much as is shown stays
	return clip(strings.TrimRight(workspace.Shown(strings.ToValidUTF8(text, "\ufffd")), "\r\n"), matchLine)
}
