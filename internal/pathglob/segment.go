package pathglob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

type segmentKind uint8

const (
	literalSegment segmentKind = iota
	wildSegment
	treeSegment // `**`
)

// segment is one part of a pattern between slashes.
type segment struct {
	kind segmentKind
	text string // of a literal one
	// runs are what stands between the stars of a wild one.
	runs [][]class
}

func (s segment) match(name string) bool {
	if s.kind == literalSegment {
		return s.text == name
	}
	first, last := s.runs[0], s.runs[len(s.runs)-1]
	if len(s.runs) == 1 {
		rest, ok := cutRun(name, first)
		return ok && rest == ""
	}
	name, ok := cutRun(name, first)
	// The first place at which a run fits is as good as any later one: what is left for the others is longest then.
	for _, run := range s.runs[1 : len(s.runs)-1] {
		for ok {
			rest, fits := cutRun(name, run)
			if fits {
				name = rest
				break
			}
			name, ok = cutRune(name)
		}
	}
	end := utf8.RuneCountInString(name) - len(last)
	for ; ok && end > 0; end-- {
		name, ok = cutRune(name)
	}
	rest, fits := cutRun(name, last)
	return ok && end == 0 && fits && rest == ""
}

// cutRun takes the characters off that a run stands for.
func cutRun(name string, run []class) (rest string, ok bool) {
	for _, c := range run {
		r, n := utf8.DecodeRuneInString(name)
		if n == 0 || !c.has(r) {
			return "", false
		}
		name = name[n:]
	}
	return name, true
}

func cutRune(name string) (string, bool) {
	_, n := utf8.DecodeRuneInString(name)
	return name[n:], n > 0
}

var errTrailingBackslash = errors.New(`a "\" at the end escapes nothing`)

// splitSegments cuts a pattern at the slashes. An escaped slash is a slash, as for the shell; one in a class is an
// error, because a class stays within its segment.
func splitSegments(pattern string) ([]string, error) {
	var raw []string
	start := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i+1 == len(pattern) {
				return nil, errTrailingBackslash
			}
			if pattern[i+1] == '/' {
				raw = append(raw, pattern[start:i])
				start = i + 2
			}
			i++
		case '[':
			n, err := classLength(pattern[i:])
			if err != nil {
				return nil, err
			}
			i += n - 1
		case '/':
			raw = append(raw, pattern[start:i])
			start = i + 1
		}
	}
	return append(raw, pattern[start:]), nil
}

// classLength returns the length of the class that s begins with, brackets included.
func classLength(s string) (int, error) {
	for i := classBody(s); i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '/':
			return 0, fmt.Errorf(`"/" inside %q: a class stays within one segment`, s[:i+1])
		case ']':
			if i > classBody(s) {
				return i + 1, nil
			}
		}
	}
	return 0, fmt.Errorf(`"[" without "]": write "\[" for the character itself`)
}

// classBody returns where the members of the class that s begins with start.
func classBody(s string) int {
	if len(s) > 1 && (s[1] == '!' || s[1] == '^') {
		return 2
	}
	return 1
}

// compileSegment turns one segment into the cheapest form that matches the same names.
func compileSegment(text string) (segment, error) {
	if text == "**" {
		return segment{kind: treeSegment}, nil
	}
	var literal strings.Builder
	seg := segment{runs: [][]class{nil}}
	for i := 0; i < len(text); {
		n := 1
		var c class
		switch text[i] {
		case '*':
			n = len(text[i:]) - len(strings.TrimLeft(text[i:], "*"))
			seg.kind, seg.runs = wildSegment, append(seg.runs, nil)
			i += n
			continue
		case '?':
			seg.kind, c.negated = wildSegment, true
		case '[':
			var err error
			if c, n, err = parseClass(text[i:]); err != nil {
				return segment{}, err
			}
			seg.kind = wildSegment
		default:
			if text[i] == '\\' {
				i++
			}
			var r rune
			r, n = utf8.DecodeRuneInString(text[i:])
			literal.WriteRune(r)
			c.ranges = []runeRange{{r, r}}
		}
		last := len(seg.runs) - 1
		seg.runs[last] = append(seg.runs[last], c)
		i += n
	}
	seg.text = literal.String()
	return seg, nil
}
