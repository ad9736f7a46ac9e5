package pathglob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gobwas/glob"
)

type segmentKind uint8

const (
	literalSegment segmentKind = iota
	anySegment                 // a lone `*`
	globSegment
	treeSegment // `**`
)

// segment is one part of a pattern between slashes.
type segment struct {
	kind segmentKind
	text string
	glob *glob.Pattern
}

func (s segment) match(name string) bool {
	switch s.kind {
	case literalSegment:
		return s.text == name
	case anySegment:
		return true
	default:
		return s.glob.Match(name)
	}
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
	var literal, source strings.Builder
	wild := false
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; c {
		case '*':
			for i+n < len(text) && text[i+n] == '*' {
				n++
			}
			wild = true
			source.WriteByte('*')
		case '?':
			wild = true
			source.WriteByte('?')
		case '[':
			class, length, err := translateClass(text[i:])
			if err != nil {
				return segment{}, err
			}
			wild, n = true, length
			source.WriteString(class)
		default:
			if c == '\\' {
				i++
			}
			_, n = utf8.DecodeRuneInString(text[i:])
			literal.WriteString(text[i : i+n])
			source.WriteString(glob.QuoteMeta(text[i : i+n]))
		}
		i += n
	}
	if !wild {
		return segment{kind: literalSegment, text: literal.String()}, nil
	}
	return compileWild(text, source.String())
}

func compileWild(text, source string) (segment, error) {
	if source == "*" {
		return segment{kind: anySegment}, nil
	}
	// No separators and no braces: see the package comment for why this is what bounds the cost.
	compiled, err := glob.Compile(source)
	if err != nil {
		return segment{}, fmt.Errorf("%q does not compile: %w", text, err)
	}
	return segment{kind: globSegment, glob: compiled}, nil
}
