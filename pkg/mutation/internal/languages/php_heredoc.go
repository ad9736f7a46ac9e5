package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// phpHeredoc builds a text of several lines without the indentation of the
// line that ends it, which PHP takes off before anything else.
func (b *builder) phpHeredoc(n int, field string) *tree.Node {
	start, end := b.first(n, "heredoc_start"), b.first(n, "heredoc_end")
	if start < 0 || end < 0 {
		return nil
	}
	from, to, indent := b.phpHeredocLines(start, end)
	if from < 0 {
		return nil
	}
	made := &tree.Node{Kind: label(b.kind(n), field), Line: b.line(n), Literal: true, Kids: []*tree.Node{b.leaf(start, "heredoc start", b.tree.Source(start))}}
	fresh, sound := true, true
	say := func(to int) {
		text, ok := phpUnindented(string(b.tree.Text[from:max(from, to)]), indent, fresh)
		if sound = sound && ok; text != "" {
			b.quoted = append(b.quoted, freeText{quotedWord(text), uint32(from), b.scope.region(), false})
			made.Kids = append(made.Kids, &tree.Node{Kind: "text", Text: text, Line: b.lineAt(uint32(from)), Literal: true})
			fresh = false
		}
		from = max(from, to)
	}
	if body := b.child(n, "value"); body >= 0 {
		for c := range b.tree.Children(body) {
			if kind := b.kind(c); kind == "string_content" || kind == "nowdoc_string" || kind == "escape_sequence" {
				continue
			}
			say(int(b.tree.Nodes[c].Start))
			if part := b.node(c, b.field(c)); part != nil {
				made.Kids = append(made.Kids, part)
			}
			from, fresh = int(b.tree.Nodes[c].End), false
		}
	}
	say(to)
	if !sound {
		return nil
	}
	return made
}

// phpHeredocLines are the first and last byte of the lines between the marks,
// and the indentation of the last mark; -1 if they are not plain.
func (b *builder) phpHeredocLines(start, end int) (from, to int, indent string) {
	text := string(b.tree.Text[:b.tree.Nodes[end].Start])
	first := strings.IndexByte(text[b.tree.Nodes[start].End:], '\n')
	last := strings.LastIndexByte(text, '\n')
	if first < 0 {
		return -1, -1, ""
	}
	from, indent = int(b.tree.Nodes[start].End)+first+1, text[last+1:]
	if strings.Trim(indent, " \t") != "" || strings.Trim(indent, " ") != "" && strings.Trim(indent, "\t") != "" || strings.Contains(text[from-1:], "\r") {
		return -1, -1, ""
	}
	return from, max(from, last), indent
}

// phpUnindented takes the indentation off the lines of a text; fresh says that
// it begins with a line. Lines with nothing in them may have less.
func phpUnindented(text, indent string, fresh bool) (string, bool) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i == 0 && !fresh {
			continue
		}
		taken := 0
		for taken < len(indent) && taken < len(line) && line[taken] == indent[taken] {
			taken++
		}
		if taken < len(indent) && (taken < len(line) || i == len(lines)-1 && line != "") {
			return "", false
		}
		lines[i] = line[taken:]
	}
	return strings.Join(lines, "\n"), true
}
