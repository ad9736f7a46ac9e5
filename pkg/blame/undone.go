package blame

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
)

// takesBack reports whether a step brings lines back that another record had taken away: an undo, or the retraction of
// a mutation that was not to be. Such lines belong to who wrote them first.
func (s *step) takesBack() bool {
	return len(brief.References(*s.entry, brief.Undoes)) > 0 || len(brief.References(*s.entry, brief.Retracts)) > 0
}

// restored finds the state of before, where step i took changes back and left exactly that.
func (t *tracer) restored(i int, at state) (state, int, bool) {
	s := &t.steps[i]
	if !s.takesBack() {
		return state{}, 0, false
	}
	if t.maker(node{at.path, s.change.After.Hash}, i) >= 0 {
		at.hash, at.oid = s.change.After.Hash, s.change.After.OID
		return at, i, true
	}
	first := t.firstUndone(i)
	if first < 0 || t.steps[first].change.Before.Hash != s.change.After.Hash {
		return state{}, 0, false
	}
	before := t.steps[first].before()
	return state{path: before.path, hash: before.hash, oid: t.steps[first].change.Before.OID, content: at.content}, first, true
}

// firstUndone gives the first of the steps that step i takes back, or -1.
func (t *tracer) firstUndone(i int) int {
	ids := append(brief.References(*t.steps[i].entry, brief.Undoes), brief.References(*t.steps[i].entry, brief.Retracts)...)
	undone := map[string]bool{}
	for _, id := range ids {
		undone[id] = true
	}
	return slices.IndexFunc(t.steps[:i], func(s step) bool { return undone[s.entry.ID] })
}

// backRestored takes the lines that step i brought back by a merge to the content before what it took back, and leaves
// the others.
func (t *tracer) backRestored(i int, hunks [][4]int, at state, marks []mark) ([]mark, error) {
	first := t.firstUndone(i)
	if first < 0 || t.steps[first].change.Before.Hash == "" || len(marks) == 0 {
		return marks, nil
	}
	undone := &t.steps[first]
	from := state{path: undone.before().path, hash: undone.change.Before.Hash, oid: undone.change.Before.OID}
	if lines, ok := t.blob(from.oid, from.hash); ok {
		from.content = &cells{lines: slices.Clone(lines)}
	} else if undone.previous >= 0 {
		from.content = t.after(undone.previous)
	} else {
		return marks, nil
	}
	m := compare(t.lineTable, from.content, t.contentOf(at, marks), nil)
	var through []mark
	marks = slices.DeleteFunc(marks, func(k mark) bool {
		wrote := slices.ContainsFunc(hunks, func(h [4]int) bool { return h[3] > 0 && k.at+1 >= h[2] && k.at+1 < h[2]+h[3] })
		if old := m.from[k.at]; wrote && old >= 0 && !k.lost {
			k.at, k.text = old, from.content.lines[old]
			through = append(through, k)
			return true
		}
		return false
	})
	sortByPlace(through)
	return marks, t.walk(from, first, through)
}
