package trailer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// step is a recorded change of one file. An empty id is a file that is not there.
type step struct {
	intent        string
	before, after string
	ranges        []ledger.Range
}

// stepsOf gives what an entry did to a path.
func stepsOf(e ledger.Entry, path string) (steps []step) {
	for _, c := range e.Changes {
		switch {
		case c.Op == ledger.OpUnchanged:
		case c.Path == path && c.Op == ledger.OpMoved:
			steps = append(steps, step{e.IntentID, "", c.AfterOID, c.Ranges})
		case c.Path == path:
			steps = append(steps, step{e.IntentID, c.BeforeOID, c.AfterOID, c.Ranges})
		case c.From == path:
			steps = append(steps, step{intent: e.IntentID, before: c.BeforeOID})
		}
	}
	return steps
}

// between gives the steps from a content to another by the ids that each may have, and whether they end there.
func between(steps []step, from, to []string) (counted []step, exact bool) {
	end := len(steps) - 1
	for end >= 0 && !slices.Contains(to, steps[end].after) {
		end--
	}
	if exact = end >= 0; !exact {
		end = len(steps) - 1
	}
	start := -1
	for i := 0; i <= end; i++ {
		if slices.Contains(from, steps[i].before) {
			start = i
		}
		if i < end && slices.Contains(from, steps[i].after) {
			start = i + 1
		}
	}
	if start < 0 && exact {
		for start = end; start > 0 && steps[start-1].after == steps[start].before; start-- {
		}
	}
	if start < 0 {
		return nil, exact
	}
	return steps[start : end+1], exact
}

// standsIn reports whether one of the blocks of lines that the step wrote is in a content.
func (s step) standsIn(lines []string) bool {
	return slices.ContainsFunc(s.ranges, func(r ledger.Range) bool {
		n := r.EndLine - r.StartLine + 1
		for i := 0; r.ContentHash != "" && n > 0 && i+n <= len(lines); i++ {
			if hashOf(lines[i:i+n]) == r.ContentHash {
				return true
			}
		}
		return false
	})
}

// hashOf is the content hash of a range.
func hashOf(lines []string) string {
	sum := sha256.New()
	for i, line := range lines {
		if i > 0 {
			sum.Write([]byte{'\n'})
		}
		sum.Write([]byte(line))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// linesOf are those of a content, as ranges number them.
func linesOf(content string) []string { return strings.Split(strings.TrimSuffix(content, "\n"), "\n") }
