package edit

import "slices"

// index finds runs of lines by their keys in time linear in the range that is
// searched, however repetitive the text is.
type index struct {
	ids   []int32          // id of the key of each line
	byKey map[string]int32 // ids of all keys
	first []int32          // first[id]:first[id+1] is the part of at that belongs to id
	at    []int32          // line numbers grouped by id, ascending
}

func newIndex(lines []string, key func(string) string) *index {
	x := &index{ids: make([]int32, len(lines)), byKey: make(map[string]int32)}
	for i, line := range lines {
		k := key(line)
		id, known := x.byKey[k]
		if !known {
			id = int32(len(x.byKey))
			x.byKey[k] = id
		}
		x.ids[i] = id
	}
	x.group()
	return x
}

func (x *index) group() {
	x.first = make([]int32, len(x.byKey)+1)
	for _, id := range x.ids {
		x.first[id+1]++
	}
	for id := range len(x.byKey) {
		x.first[id+1] += x.first[id]
	}
	next := slices.Clone(x.first)
	x.at = make([]int32, len(x.ids))
	for line, id := range x.ids {
		x.at[next[id]] = int32(line)
		next[id]++
	}
}

// find returns up to limit positions in [from, to] where keys occur in a row,
// ascending. No keys occur nowhere.
func (x *index) find(keys []string, from, to, limit int) []int {
	to = min(to, len(x.ids)-len(keys))
	from = max(from, 0)
	if len(keys) == 0 || from > to {
		return nil
	}
	ids := make([]int32, len(keys))
	for i, k := range keys {
		id, known := x.byKey[k]
		if !known {
			return nil
		}
		ids[i] = id
	}
	offset, occurrences := x.rarest(ids, from, to)
	if len(occurrences)*len(ids) <= 4*(to-from+len(ids)) {
		return x.verify(ids, offset, occurrences, limit)
	}
	return x.scan(ids, from, to, limit)
}

// rarest picks the key with the fewest lines where it would have to stand.
func (x *index) rarest(ids []int32, from, to int) (offset int, lines []int32) {
	offset = -1
	for i, id := range ids {
		all := x.at[x.first[id]:x.first[id+1]]
		low, _ := slices.BinarySearch(all, int32(from+i))
		high, _ := slices.BinarySearch(all, int32(to+i+1))
		if offset < 0 || high-low < len(lines) {
			offset, lines = i, all[low:high]
		}
		if len(lines) == 0 {
			break
		}
	}
	return offset, lines
}

func (x *index) verify(ids []int32, offset int, lines []int32, limit int) []int {
	var found []int
	for _, line := range lines {
		start := int(line) - offset
		if slices.Equal(x.ids[start:start+len(ids)], ids) {
			if found = append(found, start); len(found) == limit {
				break
			}
		}
	}
	return found
}

// scan is the search of Knuth, Morris and Pratt: no input makes it quadratic.
func (x *index) scan(ids []int32, from, to, limit int) []int {
	border := borders(ids)
	var found []int
	matched := 0
	for i := from; i < to+len(ids); i++ {
		for matched > 0 && ids[matched] != x.ids[i] {
			matched = border[matched-1]
		}
		if ids[matched] == x.ids[i] {
			matched++
		}
		if matched == len(ids) {
			if found = append(found, i-len(ids)+1); len(found) == limit {
				break
			}
			matched = border[matched-1]
		}
	}
	return found
}

func borders(ids []int32) []int {
	border := make([]int, len(ids))
	length := 0
	for i := 1; i < len(ids); i++ {
		for length > 0 && ids[i] != ids[length] {
			length = border[length-1]
		}
		if ids[i] == ids[length] {
			length++
		}
		border[i] = length
	}
	return border
}
