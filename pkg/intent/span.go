package intent

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// span is a part of a file's text by its offsets.
type span struct{ start, end int }

// nodeSpan returns where the text of a value begins, behind its anchor and tag, and where it ends. It reports false where
// that cannot be told, as of a value that is not there.
func (s *source) nodeSpan(n *yaml.Node) (at span, ok bool) {
	if at.start = s.offset(n); at.start < 0 {
		return at, false
	}
	if n.Kind == yaml.AliasNode {
		at.end = at.start + len("*") + len(n.Value)
		return at, at.end <= len(s.data)
	}
	at.start = s.behindProperties(at.start)
	switch {
	case n.Kind == yaml.ScalarNode:
		at.end = s.scalarEnd(n, at.start)
	case n.Style&yaml.FlowStyle != 0:
		at.end = s.flowEnd(n, at.start)
	case len(n.Content) > 0:
		at.end = s.lastEnd(n)
	}
	return at, at.end > at.start
}

// behindProperties passes over the anchor and the tag that a value begins with.
func (s *source) behindProperties(at int) int {
	for at < len(s.data) && (s.data[at] == '&' || s.data[at] == '!') {
		at = s.skipSpace(s.wordEnd(at))
	}
	return at
}

func (s *source) wordEnd(at int) int {
	for at < len(s.data) && strings.IndexByte(" \t\r\n", s.data[at]) < 0 {
		at++
	}
	return at
}

// scalarEnd returns where a scalar ends, 0 if that cannot be told.
func (s *source) scalarEnd(n *yaml.Node, start int) int {
	switch n.Style &^ yaml.TaggedStyle {
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		if length := quotedLength(s.data[start:]); length > 0 {
			return start + length
		}
	case yaml.LiteralStyle, yaml.FoldedStyle:
		return s.blockEnd(n, start)
	case 0:
		return s.plainEnd(n, start)
	}
	return 0
}

// plainEnd finds the words of a plain scalar again, between which the source can have line breaks.
func (s *source) plainEnd(n *yaml.Node, start int) int {
	at := start
	for _, word := range strings.Fields(n.Value) {
		if at = s.skipSpace(at); !bytes.HasPrefix(s.data[at:], []byte(word)) {
			return 0
		}
		at += len(word)
	}
	return at
}

// blockEnd returns the end of the last line of a literal or folded scalar that is not blank. Its lines are those that are
// indented as far as the first of them; one that states its indentation can begin further in, so its end is not known.
func (s *source) blockEnd(n *yaml.Node, start int) int {
	header := s.blockHeader(start)
	if strings.ContainsAny(string(s.data[start:header]), "123456789") {
		return 0
	}
	end, indent := header, -1
	for i := s.lineAt(start) + 1; i < len(s.lines) && strings.Trim(n.Value, "\n") != ""; i++ {
		text := s.line(i)
		if strings.TrimSpace(text) == "" {
			continue
		}
		in := indentOf(text)
		if indent < 0 {
			indent = in
		}
		if in < indent {
			break
		}
		end = s.lineEnd(s.lines[i])
	}
	return end
}

// blockHeader returns the end of the indicators that a literal or folded scalar begins with.
func (s *source) blockHeader(start int) int {
	for start < len(s.data) && strings.IndexByte("|>+-0123456789", s.data[start]) >= 0 {
		start++
	}
	return start
}

// flowEnd finds the bracket that closes a list or mapping in flow style.
func (s *source) flowEnd(n *yaml.Node, start int) int {
	at := start + 1
	if len(n.Content) > 0 {
		at = s.lastEnd(n)
	}
	for at > 0 {
		if at, _ = s.skipComments(at); at == len(s.data) {
			return 0
		}
		switch s.data[at] {
		case ']', '}':
			return at + 1
		case ',', ':':
			at++
		default:
			return 0
		}
	}
	return 0
}

// lastEnd returns where the last value of a list or mapping ends, 0 if that cannot be told.
func (s *source) lastEnd(n *yaml.Node) int {
	last := n.Content[len(n.Content)-1]
	if at, ok := s.nodeSpan(last); ok {
		return at.end
	}
	if n.Kind == yaml.MappingNode {
		if end, ok := s.fieldEnd(n.Content[len(n.Content)-2], last); ok {
			return end
		}
	}
	return 0
}

// skipSpace passes over white space and line breaks.
func (s *source) skipSpace(at int) int {
	for at < len(s.data) {
		r, size := utf8.DecodeRune(s.data[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += size
	}
	return at
}

// skipComments passes over white space, line breaks and comments, and reports whether there was a comment.
func (s *source) skipComments(at int) (behind int, comment bool) {
	for {
		at = s.skipSpace(at)
		if at == len(s.data) || s.data[at] != '#' {
			return at, comment
		}
		at, comment = s.lineEnd(at), true
	}
}

// lineAt returns the index of the line that holds an offset.
func (s *source) lineAt(at int) int {
	i, begins := slices.BinarySearch(s.lines, at)
	if !begins && i > 0 {
		i--
	}
	return i
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
