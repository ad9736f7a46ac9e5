package upstream

import (
	"fmt"
	"path"
	"strings"
)

// Patterns are globs on the names that a server gives its own tools, in the form of [path.Match]; one that begins with !
// takes away. The last that matches decides.

// CheckPattern reports what is wrong with a pattern.
func CheckPattern(pattern string) error {
	glob := strings.TrimPrefix(pattern, "!")
	if _, err := path.Match(glob, ""); err != nil || glob == "" || len(glob) > 256 {
		return fmt.Errorf("%.80q is no pattern of names", pattern)
	}
	return nil
}

// Offers reports whether a tool is offered: each one, where there are no patterns or the first takes away.
func (d Definition) Offers(tool string) bool {
	return last(d.Choose, tool, len(d.Choose) == 0 || strings.HasPrefix(d.Choose[0], "!"))
}

// IsSafe reports whether the operator has classed a tool as one that changes nothing.
func (d Definition) IsSafe(tool string) bool { return last(d.Safe, tool, false) }

// last is what the last pattern that matches says.
func last(patterns []string, tool string, standard bool) bool {
	for _, pattern := range patterns {
		glob, takes := strings.CutPrefix(pattern, "!")
		if matches, err := path.Match(glob, tool); err == nil && matches {
			standard = !takes
		}
	}
	return standard
}
