package intent

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// source is the text of a file with the positions that the parser's nodes refer to.
type source struct {
	data  []byte
	lines []int // where each line begins; line 1 after a byte order mark
	eol   string
}

func newSource(data []byte) *source {
	s := &source{data: data, eol: "\n"}
	begin := 0
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		begin = len("\ufeff")
	}
	s.lines = append(s.lines, begin)
	for i := begin; i < len(data); {
		n := breakLength(data[i:])
		if n == 0 {
			i++
			continue
		}
		if n == 2 && data[i] == '\r' && len(s.lines) == 1 {
			s.eol = "\r\n"
		}
		i += n
		s.lines = append(s.lines, i)
	}
	return s
}

// breakLength returns the length of the line break that text begins with. The parser counts the breaks of YAML 1.1,
// which has three more than YAML 1.2.
func breakLength(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("\r\n")), bytes.HasPrefix(text, []byte("\u0085")):
		return 2
	case text[0] == '\r', text[0] == '\n':
		return 1
	case bytes.HasPrefix(text, []byte("\u2028")), bytes.HasPrefix(text, []byte("\u2029")):
		return 3
	}
	return 0
}

// offset returns where a node begins, or -1.
func (s *source) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(s.lines) {
		return -1
	}
	at := s.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(s.data) {
			return -1
		}
		_, size := utf8.DecodeRune(s.data[at:])
		at += size
	}
	return at
}

// lineEnd returns where the line that holds the offset ends, before its break.
func (s *source) lineEnd(at int) int {
	for at < len(s.data) && breakLength(s.data[at:]) == 0 {
		at++
	}
	return at
}

// line returns the text of a line by its index in lines, without its break.
func (s *source) line(i int) string {
	return string(s.data[s.lines[i]:s.lineEnd(s.lines[i])])
}

// scalarSpan returns where the text of a scalar begins and ends, quotes included. It reports false for the forms whose end
// cannot be told without parsing: block scalars, plain ones over lines, and those with a tag or an anchor.
func (s *source) scalarSpan(n *yaml.Node) (start, end int, ok bool) {
	start = s.offset(n)
	if n.Kind != yaml.ScalarNode || start < 0 {
		return 0, 0, false
	}
	text := s.data[start:]
	switch n.Style {
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		length := quotedLength(text)
		return start, start + length, length > 0
	case 0:
		return start, start + len(n.Value), n.Value != "" && bytes.HasPrefix(text, []byte(n.Value))
	}
	return 0, 0, false
}

// fieldEnd is where a field ends; one with an empty value ends with its colon.
func (s *source) fieldEnd(key, value *yaml.Node) (end int, ok bool) {
	if _, end, ok = s.scalarSpan(value); ok || !isNull(value) {
		return end, ok
	}
	_, end, ok = s.scalarSpan(key)
	return end + 1, ok && end < len(s.data) && s.data[end] == ':'
}

// quotedLength returns the length of the quoted scalar that text begins with, or 0.
func quotedLength(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// splice replaces the bytes from start to end by text.
type splice struct {
	start, end int
	text       string
}

// apply returns the file with the splices, which must not overlap, applied.
func (s *source) apply(splices ...splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, p := range splices {
		out = append(out, s.data[at:p.start]...)
		out = append(out, p.text...)
		at = p.end
	}
	return append(out, s.data[at:]...)
}

// rawField returns the key and value nodes of a mapping's field, aliases not followed, or nil.
func rawField(mapping *yaml.Node, key string, known []string) (k, v *yaml.Node) {
	for pair := range slices.Chunk(mapping.Content, 2) {
		if name, ok := matchKey(pair[0].Value, known); ok && name == key {
			return pair[0], pair[1]
		}
	}
	return nil, nil
}

// camelKeys reports whether the file writes its keys in camelCase.
func (d *document) camelKeys() bool {
	for _, node := range d.nodes {
		for pair := range slices.Chunk(deref(node).Content, 2) {
			name, _ := matchKey(pair[0].Value, intentKeys)
			if strings.Contains(name, "_") {
				return pair[0].Value != name
			}
		}
	}
	return d.listKey != nil && d.listKey.Value == "activeIntents"
}

// key writes a key in the file's style.
func (d *document) key(name string) string {
	if d.camelKeys() {
		return camelCase(name)
	}
	return name
}

// vocabulary returns the file's way to write statuses, the given intent's own word counting first.
func (d *document) vocabulary(first int) vocabulary {
	var words []string
	for i, node := range d.nodes {
		_, value := rawField(deref(node), "status", intentKeys)
		switch {
		case value == nil || isNull(deref(value)):
		case i == first:
			words = append([]string{deref(value).Value}, words...)
		default:
			words = append(words, deref(value).Value)
		}
	}
	return vocabularyOf(words)
}
