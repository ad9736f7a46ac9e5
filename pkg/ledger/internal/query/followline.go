package query

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// followLine gives those of the entries, newest first, that changed what is now a line of a file, and whether the way
// back crossed a change that is not among them.
func followLine(entries []record.Entry, at linePosition) (changed []record.Entry, gap bool) {
	for _, e := range entries {
		hit := false
		for _, c := range slices.Backward(e.Changes) {
			if at.line > 0 && c.Path == at.path && c.Op != change.Unchanged {
				hit = at.back(c) || hit
			}
		}
		if hit {
			changed = append(changed, e)
			gap = at.gap
		}
	}
	// That nothing was found is no more certain than the way that was followed.
	return changed, gap || len(changed) == 0 && at.gap
}

// linePosition is where a line stood before the changes looked at so far. Line 0: it was not there.
type linePosition struct {
	path string
	line int
	hash string // of the content in which it stood there; empty if not known
	gap  bool
}

// back goes over one change to the content before it, and reports whether the change touched the line.
func (p *linePosition) back(c record.Change) bool {
	p.gap = p.gap || p.hash != "" && c.After.Hash != p.hash
	p.hash = c.Before.Hash
	switch c.Op {
	case change.Created:
		p.line = 0
		return true
	case change.Deleted:
		p.line = 0
		return false
	case change.Moved:
		p.path = c.From
	}
	shift := 0
	for _, h := range c.Hunks {
		oldStart, oldLines, newStart, newLines := h[0], h[1], h[2], h[3]
		if within := p.line - newStart; within >= 0 && within < newLines {
			p.line = 0 // born here, unless it stands in the place of an older one
			if oldLines > 0 {
				p.line = oldStart + min(within, oldLines-1)
			}
			return true
		}
		// A hunk without new lines names the line before the gap that it left.
		if p.line > newStart {
			shift += oldLines - newLines
		}
	}
	p.line += shift
	return false
}

// movedFrom gives the old paths of moves in the entries that are not in paths yet.
func movedFrom(entries []record.Entry, paths []string) []string {
	var old []string
	for _, e := range entries {
		for _, c := range e.Changes {
			if c.From != "" && slices.Contains(paths, c.Path) && !slices.Contains(paths, c.From) {
				old = append(old, c.From)
			}
		}
	}
	return old
}
