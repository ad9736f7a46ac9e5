package blame

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
)

// takesBack reports whether a step brings lines back that another record had taken away: an undo, or the retraction of
// a mutation that was not to be. Such lines belong to who wrote them first.
func (s *step) takesBack() bool {
	return len(brief.TakenBack(*s.entry)) > 0
}

// restored finds the state of before, where step i took changes back and left exactly that.
func (t *tracer) restored(i int, at state) (state, int, bool) {
	s := &t.steps[i]
	if !s.takesBack() {
		return state{}, 0, false
	}
	if t.maker(s.to, i) >= 0 {
		return state{s.to, s.change.After.OID, at.content}, i, true
	}
	first := t.firstUndone(i)
	if first < 0 || t.steps[first].from.hash != s.to.hash {
		return state{}, 0, false
	}
	return state{t.steps[first].from, t.steps[first].change.Before.OID, at.content}, first, true
}

// firstUndone gives the first of the steps that step i takes back, or -1.
func (t *tracer) firstUndone(i int) int {
	ids := brief.TakenBack(*t.steps[i].entry)
	return slices.IndexFunc(t.steps[:i], func(s step) bool { return slices.Contains(ids, s.entry.ID) })
}

// backRestored takes the lines that step i brought back by a merge to the content before what it took back, and leaves
// the others.
func (t *tracer) backRestored(i int, hunks [][4]int, at state, marks []mark) ([]mark, error) {
	first := t.firstUndone(i)
	if first < 0 || t.steps[first].from.hash == "" || len(marks) == 0 {
		return marks, nil
	}
	undone := &t.steps[first]
	from := state{node: undone.from, oid: undone.change.Before.OID}
	if lines, ok := t.blob(from.oid, from.hash); ok {
		from.content = &cells{lines: slices.Clone(lines)}
	} else if undone.previous >= 0 {
		from.content = t.after(undone.previous)
	} else {
		return marks, nil
	}
	m := compare(t.lineTable, from.content, t.contentOf(at, marks))
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
