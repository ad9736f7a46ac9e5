package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// Mark stands where something was left out.
const Mark = "[redacted]"

// Word stands for it where the line is read as a shell would, to which Mark would be a pattern.
const Word = "redacted"

// Readable is a line of Line for who reads it so.
func Readable(without string) string { return strings.ReplaceAll(without, Mark, Word) }

// Line returns the line without what looks like a secret, and whether anything was left out.
func Line(line string) (without string, redacted bool) {
	spans := find(line)
	if len(spans) == 0 {
		return line, false
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(line[at:s.from])
		b.WriteString(Mark)
		at = s.to
	}
	b.WriteString(line[at:])
	return b.String(), true
}

// Text is Line for texts that quote command lines.
func Text(text string) string {
	without, _ := Line(text)
	return without
}

// span is a part of a text, from the first byte to the one after the last.
type span struct{ from, to int }

// find returns what is to be left out, by its beginning. No two of them overlap.
func find(line string) []span {
	var spans []span
	for _, v := range views(line) {
		for _, r := range compiled() {
			spans = append(spans, r.find(v)...)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	return joined(spans)
}

// joined merges spans that overlap: two marks for one secret would let a part of it through.
func joined(spans []span) []span {
	var merged []span
	for _, s := range spans {
		if n := len(merged); n > 0 && s.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// reference is a value that only says where the secret is.
var reference = lazy.Regexp("^(?:\"?\\$(?:[A-Za-z_][A-Za-z0-9_]*|\\{[A-Za-z_][A-Za-z0-9_]*\\})\"?|\"?\\$\\(.*|`.*)$")

// harmless: a reference, a count, a word that switches something, or nothing.
func harmless(value string) bool {
	bare := strings.Trim(value, `"'`)
	switch strings.ToLower(bare) {
	case "", "true", "false", "yes", "no", "none", "null", Mark:
		return true
	}
	if len(bare) < 6 && strings.Trim(bare, "0123456789") == "" {
		return true
	}
	return reference().MatchString(value)
}

// compiled compiles the rules at the first use: most servers never run a command in their first second.
var compiled = sync.OnceValue(func() []matcher {
	var matchers []matcher
	for _, r := range Rules() {
		for _, p := range r.Patterns {
			m := matcher{pattern: regexp.MustCompile(p), option: r.Options}
			m.value, m.name = m.pattern.SubexpIndex("value"), max(0, m.pattern.SubexpIndex("name"))
			matchers = append(matchers, m)
		}
	}
	return matchers
})

// maxInside bounds how often what was taken for a value is looked into: y=$(TOKEN=… make), --verbose --token ….
const maxInside = 500

// A pattern is tried on a window of the text at a time, as one that stays open to the end of a long text would be tried to
// there for each match. A match that reaches the end of its window is tried again on a longer one.
const window, overlap = 1 << 10, 256

func (m matcher) find(v view) []span {
	var spans []span
	wide, inside := window, 0
	for start := 0; start < len(v.text); {
		end := min(len(v.text), start+wide)
		at := m.pattern.FindStringSubmatchIndex(v.text[start:end])
		switch {
		case at != nil && start+at[1] == end && end < len(v.text):
			wide *= 8
			continue
		case at == nil && end == len(v.text):
			return spans
		case at == nil:
			start, wide = end-overlap, window
			continue
		}
		wide = window
		from, to := start+at[2*m.value], start+at[2*m.value+1]
		next := start + max(at[1], 1)
		switch {
		case at[2*m.value] < 0 || from == to || harmless(v.text[from:to]):
		case m.name > 0 && !secretName(v.text[start+at[2*m.name]:start+at[2*m.name+1]], m.option):
			if inside++; inside < maxInside {
				next = start + at[2*m.name+1]
			}
		default:
			spans = append(spans, v.span(from, to))
		}
		start = next
	}
	return spans
}

type matcher struct {
	pattern     *regexp.Regexp
	value, name int // groups
	option      bool
}
