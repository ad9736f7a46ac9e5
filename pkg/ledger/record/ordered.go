package record

import (
	"cmp"
	"slices"
	"time"
)

// Ordered gives entries in the order in which they happened, as far as that can be known. The clocks of two machines
// differ, so time alone does not tell. A segment keeps the order of its appends, also through a merge by union; time
// only interleaves segments, and a record is never taken for older than one that its segment has before it.
func Ordered(entries []Entry) []Entry {
	type dated struct {
		*Entry
		at time.Time
	}
	first, latest := map[string]int{}, map[string]time.Time{}
	all := make([]dated, len(entries))
	for i := range entries {
		all[i].Entry = &entries[i]
		if _, known := first[all[i].Segment]; !known {
			first[all[i].Segment] = i
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int {
		return cmp.Or(first[a.Segment]-first[b.Segment], cmp.Compare(a.Offset, b.Offset))
	})
	for i, d := range all {
		if d.Time.After(latest[d.Segment]) {
			latest[d.Segment] = d.Time
		}
		all[i].at = latest[d.Segment]
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	out := make([]Entry, len(all))
	for i, d := range all {
		out[i] = *d.Entry
	}
	return out
}
