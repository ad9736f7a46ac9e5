package intent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// statusEdit changes the word of a status, or adds it behind the id, and, when work begins, adds started_at on the line
// below it.
func statusEdit(doc *document, src *source, id string, status Status, at time.Time) (edit, error) {
	i, err := doc.find(id)
	if err != nil {
		return edit{}, err
	}
	in := doc.intents[i]
	starts := status == InProgress && in.StartedAt.IsZero()
	if in.Status == status && !starts {
		return edit{}, nil
	}
	fields := &fieldSplices{doc: doc, src: src, mapping: doc.nodes[i]}
	if in.Status != status {
		fields.set("status", "id", doc.vocabulary(i).word(status))
	}
	if starts {
		after := "status"
		if key, _ := rawField(doc.nodes[i], "status", intentKeys); key == nil {
			after = "id"
		}
		fields.set("started_at", after, at.Format(time.RFC3339))
	}
	if fields.err != nil {
		return edit{}, fields.err
	}
	verify := func(before, after *document) error {
		is := after.intents[i]
		if is.Status != status || (starts && !is.StartedAt.Equal(at)) {
			return fmt.Errorf("status or started_at of %s would not be as meant", id)
		}
		return sameIntents(before, after, i, "status", "started_at")
	}
	return edit{forms: [][]byte{src.apply(fields.splices...)}, verify: verify}, nil
}

// replaceWord replaces a scalar by a word that needs no quotes, keeping those that are there.
func replaceWord(src *source, start, end int, word string) splice {
	if quote := src.data[start]; quote == '"' || quote == '\'' {
		return splice{start + 1, end - 1, word}
	}
	return splice{start, end, word}
}

// fieldSplices gives fields of one mapping a word each.
type fieldSplices struct {
	doc     *document
	src     *source
	mapping *yaml.Node
	splices []splice
	err     error // the first
}

// set replaces the value that a field has, fills an empty one, or adds the field behind another that is there.
func (f *fieldSplices) set(name, after, word string) {
	made, err := f.splice(name, after, word)
	if err != nil && f.err == nil {
		f.err = err
	}
	f.splices = append(f.splices, made)
}

func (f *fieldSplices) splice(name, after, word string) (splice, error) {
	key, value := rawField(f.mapping, name, intentKeys)
	if key == nil {
		return f.behind(after, f.doc.key(name), word)
	}
	if start, end, ok := f.src.scalarSpan(value); ok {
		return replaceWord(f.src, start, end, word), nil
	}
	_, end, ok := f.src.scalarSpan(key)
	if value.Kind != yaml.ScalarNode || !isNull(value) || !ok || end >= len(f.src.data) || f.src.data[end] != ':' {
		return splice{}, layoutError(key, name)
	}
	return splice{end + 1, end + 1, " " + word}, nil
}

// behind adds a field in the form that the one before it has.
func (f *fieldSplices) behind(before, name, word string) (splice, error) {
	key, value := rawField(f.mapping, before, intentKeys)
	end, ok := f.endOf(key, value)
	if !ok {
		return splice{}, layoutError(value, before)
	}
	if f.mapping.Style&yaml.FlowStyle != 0 {
		if key.Style&yaml.DoubleQuotedStyle != 0 {
			name, word = `"`+name+`"`, `"`+word+`"`
		}
		return splice{end, end, ", " + name + ": " + word}, nil
	}
	at := f.src.lineEnd(end)
	indent := strings.Repeat(" ", key.Column-1)
	return splice{at, at, f.src.eol + indent + name + ": " + word}, nil
}

// endOf is where a field ends; one with an empty value ends with its colon.
func (f *fieldSplices) endOf(key, value *yaml.Node) (end int, ok bool) {
	if _, end, ok = f.src.scalarSpan(value); ok || !isNull(value) {
		return end, ok
	}
	_, end, ok = f.src.scalarSpan(key)
	return end + 1, ok && end < len(f.src.data) && f.src.data[end] == ':'
}

// scopeEdit adds globs behind the last one, in the form that the list has.
func scopeEdit(doc *document, src *source, id string, globs []string) (edit, error) {
	i, err := doc.find(id)
	if err != nil {
		return edit{}, err
	}
	in := doc.intents[i]
	if in.scope.Unrestricted() {
		return edit{}, fmt.Errorf("%s: %w", id, ErrUnrestricted)
	}
	want := slices.Clone(in.OwnedScope)
	for _, glob := range globs {
		if !slices.Contains(want, glob) {
			want = append(want, glob)
		}
	}
	added := want[len(in.OwnedScope):]
	if len(added) == 0 {
		return edit{}, nil
	}
	_, list := rawField(doc.nodes[i], "owned_scope", intentKeys)
	splices, err := appendItems(src, list, added)
	if err != nil {
		return edit{}, err
	}
	verify := func(before, after *document) error {
		if !slices.Equal(after.intents[i].OwnedScope, want) {
			return fmt.Errorf("owned_scope of %s would not be as meant", id)
		}
		return sameIntents(before, after, i, "owned_scope")
	}
	return edit{forms: [][]byte{src.apply(splices...)}, verify: verify}, nil
}

// appendItems adds texts to a list that has at least one item.
func appendItems(src *source, list *yaml.Node, items []string) ([]splice, error) {
	if list.Kind != yaml.SequenceNode {
		return nil, layoutError(list, "owned_scope")
	}
	last := list.Content[len(list.Content)-1]
	_, end, ok := src.scalarSpan(last)
	if last.Kind == yaml.AliasNode {
		end, ok = src.offset(last)+len("*")+len(last.Value), true
	}
	if !ok {
		return nil, layoutError(last, "the last item of owned_scope")
	}
	if list.Style&yaml.FlowStyle != 0 {
		return appendFlow(src, list, last, end, items), nil
	}
	indent := strings.Repeat(" ", list.Column-1)
	var text strings.Builder
	for _, item := range items {
		text.WriteString(src.eol + indent + "- " + quote(item))
	}
	at := src.lineEnd(end)
	return []splice{{at, at, text.String()}}, nil
}

// appendFlow adds items to a `[…]` list. Where the last item ends its line, each new one gets a line of its own, behind
// the comment that belongs to the last item.
func appendFlow(src *source, list, last *yaml.Node, end int, items []string) []splice {
	lineEnd := src.lineEnd(end)
	tail := strings.TrimLeft(string(src.data[end:lineEnd]), " \t")
	comma := strings.HasPrefix(tail, ",")
	tail = strings.TrimLeft(strings.TrimPrefix(tail, ","), " \t")
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = quote(item)
	}
	if last.Line == list.Line || (tail != "" && tail[0] != '#') {
		return []splice{{end, end, ", " + strings.Join(quoted, ", ")}}
	}
	gap := src.eol + strings.Repeat(" ", last.Column-1)
	text := gap + strings.Join(quoted, ","+gap)
	if comma {
		return []splice{{lineEnd, lineEnd, text + ","}}
	}
	return []splice{{end, end, ","}, {lineEnd, lineEnd, text}}
}

func layoutError(n *yaml.Node, what string) error {
	return fmt.Errorf("%w (line %d: %s)", ErrLayout, n.Line, what)
}
