package trailer

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// step is a recorded change of one file. An empty id is a file that is not there.
type step struct {
	intent        string
	before, after string
	ranges        []record.Range
	marks         record.LineMarks
	record        string   // its id
	takesBack     []string // ids of records that this one undoes
}

// stepsOf gives what an entry did to a path.
func stepsOf(e record.Entry, path string) (steps []step) {
	takesBack := brief.TakenBack(e)
	for _, c := range e.Changes {
		s := step{intent: e.IntentID, record: e.ID, takesBack: takesBack}
		switch {
		case c.Op == change.Unchanged:
			continue
		case c.Path == path && c.Op == change.Moved:
			s.after, s.ranges, s.marks = c.After.OID, c.Ranges, c.Marks
		case c.Path == path:
			s.before, s.after, s.ranges, s.marks = c.Before.OID, c.After.OID, c.Ranges, c.Marks
		case c.From == path:
			s.before = c.Before.OID
		default:
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// standing leaves out of the steps from first to end those that later ones among them took back, and those that did nothing
// else: what they wrote is not in the content, whoever wrote what stands there now. An undo of what lies before them stays.
func standing(steps []step, first, end int) []step {
	index := map[string]int{}
	for i, s := range steps {
		index[s.record] = i
	}
	gone := map[string]bool{}
	for i := end - 1; i >= first; i-- {
		s := steps[i]
		if gone[s.record] {
			continue
		}
		inside, before := false, false
		for _, undone := range s.takesBack {
			at, known := index[undone]
			switch {
			case known && at < first:
				before = true
			case known && at < i:
				inside, gone[undone] = true, true
			}
		}
		if inside && !before {
			gone[s.record] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(steps[first:end]), func(s step) bool { return gone[s.record] })
}

// between gives the steps from a content to another by the ids that each may have, and whether they end there. Those that
// were taken back on the way are left out.
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
		if (i < end || !exact) && slices.Contains(from, steps[i].after) {
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
	return standing(steps, start, end+1), exact
}

// standsIn reports whether something of what the step wrote is in a content: one of the lines that it has and the parent has
// not, by its mark, or one of the step's blocks.
func (s step) standsIn(lines, added []string) bool {
	marked := map[[5]byte]bool{}
	for _, m := range s.marks {
		marked[m.Bare()] = true
	}
	for _, line := range added {
		if marked[record.MarkOf(line).Bare()] && record.IsStrong(line) {
			return true
		}
	}
	return slices.ContainsFunc(s.ranges, func(r record.Range) bool {
		n := r.EndLine - r.StartLine + 1
		for i := 0; r.ContentHash != "" && n > 0 && i+n <= len(lines); i++ {
			if edit.HashLines(lines[i:i+n]) == r.ContentHash {
				return true
			}
		}
		return false
	})
}

// addedLines are those that a content has in the place of others, or besides them.
func addedLines(before, after string) (added []string) {
	lines := edit.Lines(after)
	for _, h := range edit.Hunks(before, after) {
		for i := range h[3] {
			added = append(added, lines[h[2]-1+i])
		}
	}
	return added
}
