package blame

import (
	"cmp"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ordered puts records in the order in which they happened, as far as that can be known. The clocks of two machines
// differ, so time alone does not tell. A segment keeps the order of its appends, also through a merge by union; time
// only interleaves segments, and a record is never taken for older than one that its segment has before it.
func ordered(records []record.Entry) []record.Entry {
	bySegment := map[string][]*record.Entry{}
	var segments []string
	for i := range records {
		e := &records[i]
		if bySegment[e.Segment] == nil {
			segments = append(segments, e.Segment)
		}
		bySegment[e.Segment] = append(bySegment[e.Segment], e)
	}
	type dated struct {
		*record.Entry
		at time.Time
	}
	var all []dated
	for _, segment := range segments {
		entries := bySegment[segment]
		slices.SortStableFunc(entries, func(a, b *record.Entry) int { return cmp.Compare(a.Offset, b.Offset) })
		var at time.Time
		for _, e := range entries {
			if e.Time.After(at) {
				at = e.Time
			}
			all = append(all, dated{e, at})
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	out := make([]record.Entry, len(all))
	for i, d := range all {
		out[i] = *d.Entry
	}
	return out
}

// afterCauses moves steps behind those that they follow: by the chain, where the record that they name is here, and by
// the hash of the content that they started from, where only later steps made it. Else the order stays. A circle, which
// only a forged ledger has, is cut at its first step.
func (h *history) afterCauses(steps []step) []step {
	next := make([][]int, len(steps)) // the steps that follow
	waits := make([]int, len(steps))
	late := false
	for i, cause := range h.causes(steps) {
		for _, c := range cause {
			next[c] = append(next[c], i)
			waits[i]++
			late = late || c > i
		}
	}
	if !late {
		return steps
	}
	out := make([]step, 0, len(steps))
	done := make([]bool, len(steps))
	var ready []int // ascending: the first goes on
	for i := range steps {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(out) < len(steps) {
		if len(ready) == 0 {
			ready = append(ready, slices.Index(done, false))
		}
		i := ready[0]
		if ready = ready[1:]; done[i] {
			continue
		}
		done[i] = true
		out = append(out, steps[i])
		for _, n := range next[i] {
			if waits[n]--; waits[n] == 0 {
				at, _ := slices.BinarySearch(ready, n)
				ready = slices.Insert(ready, at, n)
			}
		}
	}
	return out
}

// causes gives for each step those that it must follow.
func (h *history) causes(steps []step) [][]int {
	last, made := map[string]int{}, map[node]int{} // of a record; the first that made a state
	for i := range steps {
		s := &steps[i]
		last[s.entry.Hash] = i
		at := node{h.name(s.change.Path), s.change.After.Hash}
		if _, known := made[at]; !known {
			made[at] = i
		}
	}
	out := make([][]int, len(steps))
	for i := range steps {
		s := &steps[i]
		for _, prev := range s.entry.Prev {
			if cause, known := last[prev]; known {
				out[i] = append(out[i], cause)
			}
		}
		before := s.before()
		before.path = h.name(before.path)
		if maker, known := made[before]; known && s.change.Before.Hash != "" && maker > i && h.mayPrecede(steps, made, maker, i) {
			out[i] = append(out[i], maker)
		}
	}
	return out
}

// maxSteps bounds a way back through states.
const maxSteps = 1000

// mayPrecede reports whether a later step can have made what step i started from. It cannot, if their segment has them
// in this order, or if it follows from step i: then it brought an older content back.
func (h *history) mayPrecede(steps []step, made map[node]int, later, i int) bool {
	if segment := steps[i].entry.Segment; segment != "" && segment == steps[later].entry.Segment {
		return false
	}
	for range maxSteps {
		if later == i {
			return false
		}
		before := steps[later].before()
		before.path = h.name(before.path)
		maker, known := made[before]
		if !known {
			return true
		}
		later = maker
	}
	return false
}
