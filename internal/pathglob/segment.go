package pathglob

import (
	"errors"
	"fmt"
	"slices"
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
	text string  // of a literal one
	wild []class // of a wild one, stars among them
}

func (s segment) match(name string) bool {
	if s.kind == literalSegment {
		return s.text == name
	}
	// Behind a star the first place at which what follows fits is as good as any later one, so only the last star is gone
	// back to.
	at, star, behind := 0, -1, ""
	for name != "" {
		r, n := utf8.DecodeRuneInString(name)
		switch {
		case at < len(s.wild) && s.wild[at].star:
			star, behind = at, name
			at++
		case at < len(s.wild) && s.wild[at].has(r):
			at, name = at+1, name[n:]
		case star >= 0:
			_, n = utf8.DecodeRuneInString(behind)
			behind = behind[n:]
			at, name = star+1, behind
		default:
			return false
		}
	}
	return !slices.ContainsFunc(s.wild[at:], func(c class) bool { return !c.star })
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
	var seg segment
	for i, n := 0, 0; i < len(text); i += n {
		var c class
		switch n = 1; text[i] {
		case '*':
			seg.kind, c.star = wildSegment, true
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
		seg.wild = append(seg.wild, c)
	}
	seg.text = literal.String()
	return seg, nil
}
