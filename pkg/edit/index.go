package edit

// index finds runs of lines by their keys in time linear in the range that is searched, however repetitive the text is.
type index struct {
	ids   []int32          // id of the key of each line
	byKey map[string]int32 // ids of all keys
}

func newIndex(lines []string, key func(string) string) *index {
	x := &index{ids: make([]int32, len(lines)), byKey: make(map[string]int32)}
	for i, line := range lines {
		x.ids[i] = idOf(x.byKey, key(line))
	}
	return x
}

// idOf gives equal texts equal numbers, so that comparing them is cheap.
func idOf(ids map[string]int32, text string) int32 {
	id, known := ids[text]
	if !known {
		id = int32(len(ids))
		ids[text] = id
	}
	return id
}

// find returns up to limit positions in [from, to] where keys occur in a row,
// ascending. No keys occur nowhere. It is the search of Knuth, Morris and Pratt.
func (x *index) find(keys []string, from, to, limit int) (found []int) {
	from, to = max(from, 0), min(to, len(x.ids)-len(keys))
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
	border := borders(ids)
	matched := 0
	for i := from; i < to+len(ids) && len(found) < limit; i++ {
		for matched > 0 && ids[matched] != x.ids[i] {
			matched = border[matched-1]
		}
		if ids[matched] == x.ids[i] {
			matched++
		}
		if matched == len(ids) {
			found = append(found, i-len(ids)+1)
			matched = border[matched-1]
		}
	}
	return found
}

// borders gives for each beginning of ids the longest end of it that it also begins with.
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
