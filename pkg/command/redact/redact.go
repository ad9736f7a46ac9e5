package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mark stands where something was left out.
const Mark = "[redacted]"

// Line returns the line without what looks like a secret, and whether anything was left out.
func Line(line string) (without string, redacted bool) {
	spans := find(line)
	if len(spans) == 0 {
		return line, false
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s.from < at {
			at = max(at, s.to)
			continue
		}
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

// find returns what is to be left out, by its beginning. Spans may overlap.
func find(line string) []span {
	var spans []span
	for _, r := range compiled() {
		for _, at := range r.pattern.FindAllStringSubmatchIndex(line, -1) {
			from, to := at[2*r.value], at[2*r.value+1]
			if from < 0 || from == to || harmless(line[from:to]) || r.name > 0 && !secretName(line[at[2*r.name]:at[2*r.name+1]], r.option) {
				continue
			}
			spans = append(spans, span{from, to})
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
var reference = regexp.MustCompile("^(?:\"?\\$(?:[A-Za-z_][A-Za-z0-9_]*|\\{[A-Za-z_][A-Za-z0-9_]*\\})\"?|\"?\\$\\(.*|`.*)$")

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
	return reference.MatchString(value)
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

type matcher struct {
	pattern     *regexp.Regexp
	value, name int // groups
	option      bool
}
