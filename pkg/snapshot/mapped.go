package snapshot

import (
	"context"
	"math"
)

// A store through a shared mapping gives a file a new time of change only where its page is clean: until the kernel has
// written the page back, further stores leave the stat as it is, and so does the rest of a long write. That time is no
// earlier than the beginning of the command that does it. So what a look reads of such files while commands run is read
// again at the next one, unless nobody had it open for writing: what maps a file keeps it open.

// nobodyRuns is what unseenSince gives where no command runs.
const nobodyRuns = math.MaxInt64

// unseenSince is the time of change from which on a file may be written without a new one: the beginning of the first of
// the commands that run. It is asked for after a walk has begun, so what others do later has a later time than the walk.
func (k *Keeper) unseenSince(served []*request) int64 {
	since := int64(nobodyRuns)
	k.mu.Lock()
	for _, w := range k.begun() {
		if !ends(served, w) {
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
