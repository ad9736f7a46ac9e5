package command

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// maxSequence bounds a terminal control sequence: what claims to be longer is shown, so that an unfinished one cannot
// swallow the rest of the output, and what waits for its end takes no more memory than this.
const maxSequence = 4096

const escape = 0x1b

// Cleaner makes a stream of bytes harmless for whoever reads it as text. Invalid UTF-8 becomes U+FFFD, carriage returns
// become line ends, terminal sequences are removed, other control characters become their visible pictures, and
// characters that reorder or hide text become <U+202E> and the like. The result does not depend on how the stream is
// cut into pieces. The zero Cleaner is ready; it is not for concurrent use.
type Cleaner struct {
	// pending is the start of a rune, of a line end or of a sequence that the next piece must decide.
	pending []byte
}

// Clean returns all of text as a Cleaner would pass it on.
func Clean(text []byte) string {
	var c Cleaner
	return string(c.Flush(c.Append(nil, text)))
}

// Append appends the cleaned form of piece to dst, except for an unfinished end, which is kept for the next call.
func (c *Cleaner) Append(dst, piece []byte) []byte {
	if len(c.pending) == 0 {
		if n := plainPrefix(piece); n == len(piece) {
			return append(dst, piece...)
		}
	} else {
		piece = append(c.pending, piece...)
	}
	dst, rest := clean(dst, piece, false)
	c.pending = append([]byte(nil), rest...)
	return dst
}

// Flush appends what was kept as unfinished: the stream has ended.
func (c *Cleaner) Flush(dst []byte) []byte {
	dst, _ = clean(dst, c.pending, true)
	c.pending = nil
	return dst
}

// clean appends data to dst and returns the unfinished end; with final there is none.
func clean(dst, data []byte, final bool) (out, rest []byte) {
	for len(data) > 0 {
		if n := plainPrefix(data); n > 0 {
			dst, data = append(dst, data[:n]...), data[n:]
			continue
		}
		if !final && undecided(data) {
			return dst, data
		}
		used := 0
		switch {
		case data[0] == '\r':
			used = len("\r")
			if bytes.HasPrefix(data, []byte("\r\n")) {
				used = len("\r\n")
			}
			dst = append(dst, '\n')
		case data[0] == escape:
			used = sequenceLength(data)
		}
		if used <= 0 { // no sequence, or an unfinished one at the end
			dst, used = appendRune(dst, data)
		}
		data = data[used:]
	}
	return dst, nil
}

// plainPrefix counts the leading bytes that pass as they are.
func plainPrefix(data []byte) int {
	for i, b := range data {
		if (b < 0x20 && b != '\n' && b != '\t') || b >= 0x7f {
			return i
		}
	}
	return len(data)
}

// undecided reports whether more bytes could change how data begins.
func undecided(data []byte) bool {
	switch {
	case data[0] == '\r':
		return len(data) == 1
	case data[0] == escape:
		return sequenceLength(data) == unfinished
	default:
		return !utf8.FullRune(data)
	}
}

func appendRune(dst, data []byte) ([]byte, int) {
	r, size := utf8.DecodeRune(data)
	switch {
	case r < 0x20:
		r += '\u2400'
	case r == 0x7f:
		r = '\u2421'
	case misleading(r):
		return fmt.Appendf(dst, "<U+%04X>", r), size
	}
	return utf8.AppendRune(dst, r), size
}

// misleading reports characters that change what a reader sees without being seen: C1 controls, bidirectional controls,
// line separators, and tag characters, which can carry whole sentences unseen.
func misleading(r rune) bool {
	return r >= 0x80 && r <= 0x9f ||
		r == 0x061c || r == 0x200e || r == 0x200f ||
		r >= 0x2028 && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069 ||
		r >= 0xe0000 && r <= 0xe007f
}

// unfinished is the length of what could become a sequence.
const unfinished = -1

// Terminal control sequences begin with ESC (ECMA-48, section 5). Command strings end with BEL or ESC \, on their line.
var (
	sequence = lazy.Regexp(`^\x1b(?:\[[ -?]*[@-~]|[\]PX^_][^\a\x1b\n]*(?:\a|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\\x60-~])`)
	begun    = lazy.Regexp(`^\x1b(?:\[[ -?]*|[\]PX^_][^\a\x1b\n]*\x1b?|[ -/]*)$`)
)

// sequenceLength measures the control sequence at the start of data; 0 if there is none.
func sequenceLength(data []byte) int {
	data = data[:min(len(data), maxSequence)]
	if at := sequence().FindIndex(data); at != nil {
		return at[1]
	}
	if len(data) < maxSequence && begun().Match(data) {
		return unfinished
	}
	return 0
}
