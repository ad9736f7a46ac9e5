package catalogue

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// shown is a definition as lines: description first, then each other member with sorted names.
func shown(definition []byte) string {
	form, err := canonical(definition)
	if err != nil {
		return printable.Lines(strings.ToValidUTF8(string(definition), "\ufffd")) + "\n"
	}
	var out strings.Builder
	for _, m := range members(form) {
		if text, is := textOf(m.value); is && (m.name == "description" || m.name == "title" || m.name == "name") {
			out.WriteString(m.name + ":\n")
			for line := range strings.Lines(text) {
				out.WriteString("  " + printable.Line(strings.TrimSuffix(line, "\n")) + "\n")
			}
			continue
		}
		if err := m.value.Indent(jsontext.WithIndent("  ")); err == nil {
			out.WriteString(printable.Line(m.name) + ": " + printable.Lines(string(m.value)) + "\n")
		}
	}
	return out.String()
}

type member struct {
	name  string
	value jsontext.Value
}

// members of an object, those that are read first in front.
func members(object []byte) (all []member) {
	in := jsontext.NewDecoder(strings.NewReader(string(object)))
	if in.PeekKind() != '{' {
		return nil
	}
	for _, err := in.ReadToken(); err == nil && in.PeekKind() == '"'; {
		name, _ := in.ReadToken()
		m := member{name: name.String()}
		if m.value, err = in.ReadValue(); err == nil {
			m.value = m.value.Clone()
			all = append(all, m)
		}
	}
	order := []string{"name", "title", "description"}
	slices.SortStableFunc(all, func(a, b member) int { return rank(order, a.name) - rank(order, b.name) })
	return all
}

func rank(order []string, name string) int {
	if at := slices.Index(order, name); at >= 0 {
		return at
	}
	return len(order)
}

func textOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

// diff is what changed between two definitions, as lines for the operator.
func diff(was, now []byte) string {
	return edit.Unified("pinned", "now", shown(was), shown(now), 3)
}

// maxExcerpt bounds what is quoted, in bytes.
const maxExcerpt = 160

// excerpt is the part of a text around what stands from from on, for a text that is printable already.
func excerpt(text string, from int) string {
	from = max(0, from-maxExcerpt/4)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	part := text[from:]
	if len(part) <= maxExcerpt {
		return part
	}
	end := maxExcerpt
	for end > 0 && !utf8.RuneStart(part[end]) {
		end--
	}
	return part[:end] + "…"
}
