package verdict

import (
	"fmt"
	"strings"
)

// shown is how many names a summary lists.
const shown = 3

// Summary is the reason of a verdict that is proven or proven-local: one line that says what changed.
func Summary(v Verdict) string {
	var parts []string
	if n := len(v.Renames); n > 0 {
		var names []string
		for _, r := range v.Renames[:min(n, shown)] {
			names = append(names, fmt.Sprintf("%s %s to %s in line %d", r.Kind, r.From, r.To, r.Line))
		}
		parts = append(parts, "renamed "+list(names, n))
	}
	if n := len(v.Moves); n > 0 {
		var names []string
		for _, m := range v.Moves[:min(n, shown)] {
			names = append(names, fmt.Sprintf("%s from line %d to %d", m.Declaration, m.FromLine, m.ToLine))
		}
		parts = append(parts, "moved "+list(names, n))
	}
	if len(parts) == 0 {
		return "only layout, comments or spelling without meaning changed"
	}
	return strings.Join(parts, "; ")
}

func list(names []string, total int) string {
	text := strings.Join(names, ", ")
	if total > len(names) {
		text += fmt.Sprintf(" and %d more", total-len(names))
	}
	return text
}
