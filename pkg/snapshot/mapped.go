package snapshot

import (
	"context"
	"math"
	"slices"
)

// nobodyRuns is what unseenSince gives where no command runs.
const nobodyRuns = math.MaxInt64

// unseenSince is the time of change from which on a file may be written without a new one: the beginning of the first of
// the commands that run and go on. It is asked for after a walk has begun, so what others do later has a later time than the walk.
func (k *Keeper) unseenSince(end []*Window) int64 {
	since := int64(nobodyRuns)
	k.mu.Lock()
	for _, w := range k.begun() {
		if !slices.Contains(end, w) {
			since = min(since, w.Began.Add(-coarse).UnixNano())
		}
	}
	k.mu.Unlock()
	if k.options.Elsewhere == nil {
		return since
	}
	began, err := k.options.Elsewhere(context.Background())
	if err != nil {
		return math.MinInt64
	}
	for _, one := range began {
		since = min(since, one.Add(-coarse).UnixNano())
	}
	return since
}
