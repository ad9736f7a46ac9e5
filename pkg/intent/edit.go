package intent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// editable returns the index of an intent whose mapping can be edited.
func (d *document) editable(id string) (int, error) {
	i := d.index(id)
	if i < 0 {
		return 0, fmt.Errorf("%w: %s", ErrUnknownIntent, id)
	}
	if d.nodes[i].Kind != yaml.MappingNode {
		return 0, fmt.Errorf("%w (%s is an alias)", ErrLayout, id)
	}
	return i, nil
}

func layoutError(n *yaml.Node, what string) error {
	return fmt.Errorf("%w (line %d: %s)", ErrLayout, n.Line, what)
}

// statusEdit changes the word of a status, or adds it behind the id, and, when work begins, adds started_at on the line
// below it.
func (d *document) statusEdit(id string, status Status, at time.Time) (candidates, error) {
	i, err := d.editable(id)
	if err != nil {
		return candidates{}, err
	}
	e := candidates{want: *d.intents[i], keys: []string{"status", "started_at"}}
	var splices []splice
	set := func(name, after, word string) {
		made, setErr := d.setField(d.nodes[i], name, after, word)
		splices, err = append(splices, made), cmp.Or(err, setErr)
	}
	if e.want.Status != status {
		e.want.Status = status
		set("status", "id", d.vocabulary(i).word(status))
	}
	if status == InProgress && e.want.StartedAt.IsZero() {
		e.want.StartedAt = at
		after := "status"
		if key, _ := rawField(d.nodes[i], "status", intentKeys); key == nil {
			after = "id"
		}
		set("started_at", after, at.Format(time.RFC3339))
	}
	if err != nil || len(splices) == 0 {
		return candidates{}, err
	}
	e.forms = [][]byte{d.source.apply(splices...)}
	return e, nil
}

// setField replaces the word that a field has, keeping its quotes, fills an empty one, or adds the field behind another that
// is there, in the form that this has. The word needs no quotes.
func (d *document) setField(mapping *yaml.Node, name, after, word string) (splice, error) {
	key, value := rawField(mapping, name, intentKeys)
	if key == nil {
		return d.addField(mapping, after, d.key(name), word)
	}
	if start, end, ok := d.source.scalarSpan(value); ok {
		if quote := d.source.data[start]; quote == '"' || quote == '\'' {
			start, end = start+1, end-1
		}
		return splice{start, end, word}, nil
	}
	end, ok := d.source.fieldEnd(key, value)
	if !ok {
		return splice{}, layoutError(key, name)
	}
	return splice{end, end, " " + word}, nil
}

func (d *document) addField(mapping *yaml.Node, behind, name, word string) (splice, error) {
	key, value := rawField(mapping, behind, intentKeys)
	end, ok := d.source.fieldEnd(key, value)
	if !ok {
		return splice{}, layoutError(value, behind)
	}
	if mapping.Style&yaml.FlowStyle != 0 {
		if key.Style&yaml.DoubleQuotedStyle != 0 {
			name, word = `"`+name+`"`, `"`+word+`"`
		}
		return splice{end, end, ", " + name + ": " + word}, nil
	}
	at := d.source.lineEnd(end)
	return splice{at, at, d.source.eol + strings.Repeat(" ", key.Column-1) + name + ": " + word}, nil
}

// scopeEdit adds globs behind the last one, in the form that the list has.
func (d *document) scopeEdit(id string, globs []string) (candidates, error) {
	i, err := d.editable(id)
	if err != nil {
		return candidates{}, err
	}
	want := *d.intents[i]
	if want.scope.Unrestricted() {
		return candidates{}, fmt.Errorf("%s: %w", id, ErrUnrestricted)
	}
	want.OwnedScope = slices.Clone(want.OwnedScope)
	for _, glob := range globs {
		if !slices.Contains(want.OwnedScope, glob) {
			want.OwnedScope = append(want.OwnedScope, glob)
		}
	}
	return d.fieldsEdit(i, want)
}

// addEdit appends an intent to the list, in the file's style.
func (d *document) addEdit(in Intent) (candidates, error) {
	if err := checkNew(d, &in); err != nil {
		return candidates{}, err
	}
	indent, list := 2, d.list
	switch {
	case d.root == nil:
	case list.Kind == yaml.AliasNode, d.root.Style&yaml.FlowStyle != 0, len(list.Content) > 0 && list.Style&yaml.FlowStyle != 0:
		return candidates{}, layoutError(list, "the list of intents")
	case len(list.Content) > 0:
		indent = list.Column - 1
	default:
		indent = d.listKey.Column + 1
	}
	block, err := blockText(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{d.render(&in)}}, indent, d.source.eol)
	e := candidates{want: in}
	switch {
	case err != nil:
	case d.root == nil:
		e.forms = [][]byte{appendText(d.source, "active_intents:"+d.source.eol+block)}
	case len(list.Content) > 0:
		e.forms = afterLastItem(d.source, list, block)
	default:
		e.forms = replaceEmptyList(d, d.source, block)
	}
	return e, err
}

// checkNew refuses what could not be read back.
func checkNew(doc *document, in *Intent) error {
	if !ValidID(in.ID) {
		return fmt.Errorf("%w: id %q must be a letter and then up to 63 letters, digits, dots, dashes or underscores",
			ErrInvalid, in.ID)
	}
	if doc.index(in.ID) >= 0 {
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
		if m := numberedID().FindStringSubmatch(in.ID); m != nil {
			prefix, width = m[1], len(m[2])
		}
	}
	for _, in := range d.intents {
		if m := numberedID().FindStringSubmatch(in.ID); m != nil && m[1] == prefix {
			n, _ := strconv.Atoi(m[2])
			highest = max(highest, n)
		}
	}
	return fmt.Sprintf("%s%0*d", prefix, width, highest+1)
}

var numberedID = lazy.Regexp(`^([A-Za-z]+-)([0-9]{1,9})\z`)
