package blame

import "slices"

// afterCauses moves steps behind those that they follow: by the chain, where the record that they name is here, and by
// the hash of the content that they started from, where only later steps made it. Else the order stays. A circle, which
// only a forged ledger has, is cut at its first step.
func afterCauses(steps []step) []step {
	next := make([][]int, len(steps)) // the steps that follow
	waits := make([]int, len(steps))
	late := false
	for i, cause := range causes(steps) {
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
func causes(steps []step) [][]int {
	last, made := map[string]int{}, map[node]int{} // of a record; the first that made a state
	for i := range steps {
		s := &steps[i]
		last[s.entry.Hash] = i
		if _, known := made[s.to]; !known {
			made[s.to] = i
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
		if maker, known := made[s.from]; known && s.from.hash != "" && maker > i && mayPrecede(steps, made, maker, i) {
			out[i] = append(out[i], maker)
		}
	}
	return out
}

// maxSteps bounds a way back through states.
const maxSteps = 1000

// mayPrecede reports whether a later step can have made what step i started from. It cannot, if their segment has them
// in this order, or if it follows from step i: then it brought an older content back.
func mayPrecede(steps []step, made map[node]int, later, i int) bool {
	if segment := steps[i].entry.Segment; segment != "" && segment == steps[later].entry.Segment {
		return false
	}
	for range maxSteps {
		if later == i {
			return false
		}
		maker, known := made[steps[later].from]
		if !known {
			return true
		}
		later = maker
	}
	return false
}
