package trace

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// mapDelay gathers the changes of a burst of calls into one write.
const mapDelay = 150 * time.Millisecond

// MapChange is the files that an intent changed since the last write of the map.
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
// is noted for the map.
func (k *MapKeeper) After(_ context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
	changed := outcome.Changed()
	if len(changed) == 0 || call.Intent == nil || outcome.Class.Class != mutation.Evolution {
		return nil
	}
	change := MapChange{IntentID: call.Intent.ID, Name: call.Intent.Name, Status: string(call.Intent.Status), At: k.clock().UTC()}
	for _, f := range changed {
		change.Paths = append(change.Paths, f.Path)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending = append(k.pending, change)
	if k.timer == nil {
		k.timer = time.AfterFunc(mapDelay, k.flush)
	}
	return nil
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
