package settings

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/nearest"
)

// didYouMean is the end of a message about an unknown name.
func didYouMean(name string, known []string) string {
	best := nearest.Of(name, known)
	if best == "" {
		best = sameLastPart(name, known)
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// sameLastPart finds a key that was written without, or in another, group.
func sameLastPart(name string, known []string) (found string) {
	last := name[strings.LastIndex(name, ".")+1:]
	for _, candidate := range known {
		if candidate[strings.LastIndex(candidate, ".")+1:] != last {
			continue
		}
		if found != "" {
			return "" // more than one
		}
		found = candidate
	}
	return found
}
