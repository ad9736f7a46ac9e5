package trace

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// mapDelay gathers the changes of a burst of calls into one write.
const mapDelay = 150 * time.Millisecond

// MapChange is the files that an intent changed since the last write of the map, sorted, each once. A write gets at
// most one for each intent. One without files says that the intent itself changed.
type MapChange struct {
	IntentID, Name, Status string
	Paths                  []string
	At                     time.Time
}

// MapKeeper keeps intent_map.md behind the calls: the write costs two flushes
// and nobody waits for it. Close writes what is pending.
type MapKeeper struct {
	write func([]MapChange) error
	clock func() time.Time
	log   zerolog.Logger

	mu      sync.Mutex
	pending []MapChange
	timer   *time.Timer
	writing sync.Mutex
}

// NewMapKeeper hands gathered changes to write.
func NewMapKeeper(write func([]MapChange) error, clock func() time.Time, log zerolog.Logger) *MapKeeper {
	return &MapKeeper{write: write, clock: clock, log: log}
}

// Name implements hooks.PostHook.
func (k *MapKeeper) Name() string { return "intent-map" }

// After implements hooks.PostHook: every INTENT_EVOLUTION with changed files
// is noted for the map, and every edit of an intent.
func (k *MapKeeper) After(_ context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
	if note := outcome.Record; note != nil && note.Edit != nil {
		k.note(MapChange{IntentID: note.IntentID, At: k.clock().UTC()})
		return nil
	}
	changed := outcome.Changed()
	if len(changed) == 0 || call.Intent == nil || outcome.Class.Class != mutation.Evolution {
		return nil
	}
	change := MapChange{IntentID: call.Intent.ID, Name: call.Intent.Name, Status: string(call.Intent.Status), At: k.clock().UTC()}
	for _, f := range changed {
		change.Paths = append(change.Paths, f.Path)
	}
	k.note(change)
	return nil
}

// note has a change written before long, joined to others of its intent: each entry costs a locked rewrite of the map, and the
// lock is the ledger's too.
func (k *MapKeeper) note(change MapChange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.IndexFunc(k.pending, func(p MapChange) bool { return p.IntentID == change.IntentID }); i >= 0 {
		change.Paths = append(k.pending[i].Paths, change.Paths...)
		change.Name = cmp.Or(change.Name, k.pending[i].Name)
		k.pending[i] = change
	} else {
		k.pending = append(k.pending, change)
	}
	if k.timer == nil {
		k.timer = time.AfterFunc(mapDelay, k.flush)
	}
}

func (k *MapKeeper) flush() {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.mu.Lock()
	changes := k.pending
	k.pending, k.timer = nil, nil
	k.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	for i := range changes {
		slices.Sort(changes[i].Paths)
		changes[i].Paths = slices.Compact(changes[i].Paths)
	}
	if err := k.write(changes); err != nil {
		k.log.Warn().Err(err).Msg("intent_map.md could not be written")
	}
}

// Close writes what is pending and waits for it.
func (k *MapKeeper) Close() {
	k.mu.Lock()
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	k.flush()
}

var _ hooks.PostHook = (*MapKeeper)(nil)
