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
	if len(v.Renames) > 0 {
		parts = append(parts, "renamed "+list(v.Renames, func(r Rename) string {
			return fmt.Sprintf("%s %s to %s in line %d", r.Kind, r.From, r.To, r.Line)
		}))
	}
	if len(v.Moves) > 0 {
		parts = append(parts, "moved "+list(v.Moves, func(m Move) string {
			return fmt.Sprintf("%s from line %d to %d", m.Declaration, m.FromLine, m.ToLine)
		}))
	}
	if len(parts) == 0 {
		return "only layout, comments or spelling without meaning changed"
	}
	return strings.Join(parts, "; ")
}

func list[T any](all []T, say func(T) string) string {
	var first []string
	for _, one := range all[:min(len(all), shown)] {
		first = append(first, say(one))
	}
	text := strings.Join(first, ", ")
	if len(all) > shown {
		text += fmt.Sprintf(" and %d more", len(all)-shown)
	}
	return text
}
