package intent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// statusEdit changes the word of a status and, when work begins, adds started_at on the line below it.
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
	mapping := doc.nodes[i]
	key, value := rawField(mapping, "status", intentKeys)
	var splices []splice
	start, end, ok := src.scalarSpan(value)
	if !ok {
		return edit{}, layoutError(value, "status of "+id)
	}
	if in.Status != status {
		splices = append(splices, replaceWord(src, start, end, doc.vocabulary(i).word(status)))
	}
	if starts {
		stamp, err := startedSplice(doc, src, mapping, key, end, at.Format(time.RFC3339))
		if err != nil {
			return edit{}, err
		}
		splices = append(splices, stamp)
	}
	verify := func(before, after *document) error {
		is := after.intents[i]
		if is.Status != status || (starts && !is.StartedAt.Equal(at)) {
			return fmt.Errorf("status or started_at of %s would not be as meant", id)
		}
		return sameIntents(before, after, i, "status", "started_at")
	}
	return edit{forms: [][]byte{src.apply(splices...)}, verify: verify}, nil
}

// replaceWord replaces a scalar by a word that needs no quotes, keeping those that are there.
func replaceWord(src *source, start, end int, word string) splice {
	if quote := src.data[start]; quote == '"' || quote == '\'' {
		return splice{start + 1, end - 1, word}
	}
	return splice{start, end, word}
}

// startedSplice writes started_at: into its empty value, or after the status.
func startedSplice(doc *document, src *source, mapping, status *yaml.Node, statusEnd int, stamp string) (splice, error) {
	if key, value := rawField(mapping, "started_at", intentKeys); key != nil {
		if start, end, ok := src.scalarSpan(value); ok { // null or ~
			return splice{start, end, stamp}, nil
		}
		_, end, ok := src.scalarSpan(key)
		if !ok || end >= len(src.data) || src.data[end] != ':' {
			return splice{}, layoutError(key, "started_at")
		}
		return splice{end + 1, end + 1, " " + stamp}, nil
	}
	key := doc.key("started_at")
	if mapping.Style&yaml.FlowStyle != 0 {
		if status.Style&yaml.DoubleQuotedStyle != 0 {
			key, stamp = `"`+key+`"`, `"`+stamp+`"`
		}
		return splice{statusEnd, statusEnd, ", " + key + ": " + stamp}, nil
	}
	at := src.lineEnd(statusEnd)
	indent := strings.Repeat(" ", status.Column-1)
	return splice{at, at, src.eol + indent + key + ": " + stamp}, nil
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
