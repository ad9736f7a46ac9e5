package catalogue

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// shown is a definition as lines: description first, then each other member with sorted names.
func shown(definition []byte) string {
	form, err := canonical(definition)
	if err != nil {
		return printable.Lines(strings.ToValidUTF8(string(definition), "\ufffd")) + "\n"
	}
	members, _ := rawjson.Read(form) // none of what is no object
	slices.SortStableFunc(members, func(a, b rawjson.Member) int { return rank(a.Name) - rank(b.Name) })
	var out strings.Builder
	for _, m := range members {
		if text, is := rawjson.Text(m.Value); is && rank(m.Name) < len(first()) {
			out.WriteString(m.Name + ":\n")
			for line := range strings.Lines(text) {
				out.WriteString("  " + printable.Line(strings.TrimSuffix(line, "\n")) + "\n")
			}
			continue
		}
		if value := jsontext.Value(m.Value).Clone(); value.Indent(jsontext.WithIndent("  ")) == nil {
			out.WriteString(printable.Line(m.Name) + ": " + printable.Lines(string(value)) + "\n")
		}
	}
	return out.String()
}

// first are the members that are read first.
func first() []string { return []string{"name", "title", "description"} }

func rank(name string) int {
	if at := slices.Index(first(), name); at >= 0 {
		return at
	}
	return len(first())
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
