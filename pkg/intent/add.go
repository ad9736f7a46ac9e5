package intent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// addEdit appends an intent to the list, in the file's style.
func addEdit(doc *document, src *source, in Intent) (edit, error) {
	if err := checkNew(doc, &in); err != nil {
		return edit{}, err
	}
	forms, err := addForms(doc, src, &in)
	if err != nil {
		return edit{}, err
	}
	verify := func(before, after *document) error {
		i := newIntentIndex(before, after)
		if i < 0 || !equalIntents(*after.intents[i], in) {
			return fmt.Errorf("%s would not be read back as meant", in.ID)
		}
		return sameIntents(before, after, -1)
	}
	return edit{forms: forms, verify: verify}, nil
}

// checkNew refuses what could not be read back.
func checkNew(doc *document, in *Intent) error {
	if !ValidID(in.ID) {
		return fmt.Errorf("%w: id %q must be a letter and then up to 63 letters, digits, dots, dashes or underscores",
			ErrInvalid, in.ID)
	}
	if slices.ContainsFunc(doc.intents, func(i *Intent) bool { return i.ID == in.ID }) {
		return fmt.Errorf("%w: %s", ErrDuplicateID, in.ID)
	}
	status, ok := ParseStatus(string(in.Status))
	if !ok {
		return fmt.Errorf("%w: %q is not a status", ErrInvalid, in.Status)
	}
	in.Status = status
	in.StartedAt = in.StartedAt.UTC().Truncate(time.Second)
	if _, err := CompileScope(in.OwnedScope); err != nil {
		return fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	in.Rules = slices.Clone(in.Rules)
	for i, r := range in.Rules {
		in.Rules[i].Action = cmp.Or(r.Action, rule.Refuse)
		if _, err := rule.Compile(r.Name, r.When, in.Rules[i].Action, ""); err != nil {
			return fmt.Errorf("%w: rule %q: %v", ErrInvalid, r.Name, err)
		}
	}
	// The JSON encoder writes this escape for what is not UTF-8, and only for that.
	if text, err := json.Marshal(in); err != nil || !utf8.Valid(text) || bytes.Contains(text, []byte(`\ufffd`)) {
		return fmt.Errorf("%w: its texts must be valid UTF-8", ErrInvalid)
	}
	return nil
}

// addForms returns the texts that the file could have afterwards.
func addForms(doc *document, src *source, in *Intent) ([][]byte, error) {
	node := doc.render(in)
	list := doc.list
	switch {
	case doc.root == nil:
		block, err := blockItem(node, 2, src.eol)
		return [][]byte{appendText(src, "active_intents:"+src.eol+block)}, err
	case list.Kind == yaml.AliasNode:
		return nil, layoutError(list, "the list of intents is an alias")
	case list.Kind == yaml.SequenceNode && len(list.Content) > 0 && list.Style&yaml.FlowStyle == 0:
		block, err := blockItem(node, list.Column-1, src.eol)
		return afterLastItem(src, list, block), err
	case doc.root.Style&yaml.FlowStyle != 0, list.Kind == yaml.SequenceNode && len(list.Content) > 0:
		return firstFlowItem(src, list, node)
	default:
		block, err := blockItem(node, doc.listKey.Column+1, src.eol)
		return replaceEmptyList(doc, src, block), err
	}
}

// appendText adds lines at the end of a file that has no document.
func appendText(src *source, text string) []byte {
	gap := ""
	if n := len(src.data); n > src.lines[0] && breakLength(src.data[n-1:]) == 0 {
		gap = src.eol
	}
	at := len(src.data)
	return src.apply(splice{at, at, gap + text + src.eol})
}

// afterLastItem inserts a block item behind the last one. Where that ends cannot be told from the nodes (block scalars,
// texts over lines), so the candidates are: before the first line that is indented less; the same with trailing blank
// lines counted to the item; the end of the file.
func afterLastItem(src *source, list *yaml.Node, block string) [][]byte {
	first := deepestLine(list.Content[len(list.Content)-1]) // the index of the line behind it
	end, content := first, first
	for end < len(src.lines) {
		text := src.line(end)
		trimmed := strings.TrimLeft(text, " ")
		if strings.TrimSpace(text) != "" {
			if len(text)-len(trimmed) < list.Column {
				break
			}
			content = end + 1
		}
		end++
	}
	forms := [][]byte{src.insertLines(content, src.blankBefore(list)+block)}
	for _, line := range slices.Compact([]int{end, len(src.lines)}) {
		forms = append(forms, src.insertLines(line, block))
	}
	return forms
}

// deepestLine returns the last line on which something of a node begins.
func deepestLine(n *yaml.Node) int {
	line := n.Line
	for _, child := range n.Content {
		line = max(line, deepestLine(child))
	}
	return line
}

// blankBefore returns a line break if the items of a list are set apart by blank lines.
func (s *source) blankBefore(list *yaml.Node) string {
	n := len(list.Content)
	if n < 2 {
		return ""
	}
	above := list.Content[n-1].Line - 2
	for above > 0 && strings.HasPrefix(strings.TrimSpace(s.line(above)), "#") {
		above--
	}
	if strings.TrimSpace(s.line(above)) != "" {
		return ""
	}
	return s.eol
}

// insertLines inserts text before the line with this index; an index behind the last line is the end of the file.
func (s *source) insertLines(line int, text string) []byte {
	if line < len(s.lines) {
		at := s.lines[line]
		if at == len(s.data) && at > 0 && breakLength(s.data[at-1:]) == 0 {
			text = s.eol + text
		}
		return s.apply(splice{at, at, text + s.eol})
	}
	return appendText(s, text)
}

// firstFlowItem inserts an item at the beginning of a `[…]` list, the one place in it that is certain.
func firstFlowItem(src *source, list *yaml.Node, node *yaml.Node) ([][]byte, error) {
	at := src.offset(list)
	if at < 0 || at >= len(src.data) || src.data[at] != '[' {
		return nil, layoutError(list, "the list of intents")
	}
	text := flowItem(node)
	if len(list.Content) > 0 {
		text += ", "
	}
	return [][]byte{src.apply(splice{at + 1, at + 1, text})}, nil
}

// replaceEmptyList puts a first block item below the key, in place of `[]`, null or nothing.
func replaceEmptyList(doc *document, src *source, block string) [][]byte {
	var splices []splice
	at := src.offset(doc.listKey)
	if start := src.offset(doc.list); doc.list.Kind == yaml.SequenceNode && start >= 0 {
		if n := bytes.IndexByte(src.data[start:], ']'); n > 0 && strings.TrimSpace(string(src.data[start+1:start+n])) == "" {
			splices, at = append(splices, splice{start, start + n + 1, ""}), start+n+1
		}
	} else if start, end, ok := src.scalarSpan(doc.list); ok {
		splices, at = append(splices, splice{start, end, ""}), end
	}
	at = src.lineEnd(at)
	return [][]byte{src.apply(append(splices, splice{at, at, src.eol + block})...)}
}

// nextID returns a free id that continues the numbering of the file's last numbered id.
func (d *document) nextID() string {
	prefix, width, highest := "INT-", 3, 0
	for _, in := range d.intents {
		if m := numberedID.FindStringSubmatch(in.ID); m != nil {
			prefix, width = m[1], len(m[2])
		}
	}
	for _, in := range d.intents {
		if m := numberedID.FindStringSubmatch(in.ID); m != nil && m[1] == prefix {
			n, _ := strconv.Atoi(m[2])
			highest = max(highest, n)
		}
	}
	return fmt.Sprintf("%s%0*d", prefix, width, highest+1)
}

var numberedID = regexp.MustCompile(`^([A-Za-z]+-)([0-9]{1,9})\z`)

// equalIntents compares what two intents say.
func equalIntents(a, b Intent) bool {
	a.Line, b.Line = 0, 0
	was, err := json.Marshal(&a)
	is, other := json.Marshal(&b)
	return err == nil && other == nil && bytes.Equal(was, is)
}
