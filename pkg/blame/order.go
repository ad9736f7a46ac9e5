package blame

// afterCauses moves steps behind those that they follow: by the chain, where the record that they name is here, and by
// the hash of the content that they started from, where only later steps made it. Else the order stays. A circle, which
// only a forged ledger has, is cut somewhere.
func afterCauses(steps []step) []step {
	before := causes(steps)
	out, done := make([]step, 0, len(steps)), make([]bool, len(steps))
	var add func(i int)
	add = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, cause := range before[i] {
			add(cause)
		}
		out = append(out, steps[i])
	}
	for i := range steps {
		add(i)
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
