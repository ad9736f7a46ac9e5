package trace

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Seen is the post-hook that counts a session's own writes as seen; remember keeps contents for later refusals.
func Seen(remember func(hash string, content []byte)) hooks.PostHook {
	return hooks.PostFunc("seen", func(_ context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
		if outcome.Command != nil {
			followed(call.Views, outcome.Changed())
			return nil
		}
		for _, f := range outcome.Changed() {
			if f.Knowledge == hooks.MadeByCommand {
				followed(call.Views, []hooks.FileOutcome{f})
				continue
			}
			if f.After.Hash != "" {
				remember(f.After.Hash, f.After.Bytes)
			}
			switch f.Op {
			case change.Deleted:
				call.Views.Forgot(f.Path)
			case change.Moved:
				wrote(call, f, f.From)
				call.Views.Forgot(f.From)
			default:
				wrote(call, f, f.Path)
			}
		}
		return nil
	})
}

// followed brings what a session has seen up to date with its command, which showed it no content: a file that is gone
// is known to be gone, and one that was moved as it was is known where it is now. Of others the view is stale.
func followed(views *session.Views, changed []hooks.FileOutcome) {
	for _, f := range changed {
		switch {
		case f.Op == change.Deleted:
			views.Forgot(f.Path)
		case f.Op == change.Moved:
			if view, ok := views.Seen(f.From); ok && view.Hash == f.After.Hash && f.After.Hash != "" && view.Whole {
				views.Wrote(f.Path, f.After.Hash)
			}
			views.Forgot(f.From)
		}
	}
}

// wrote counts what the session knows of its own write. Where the operator has edited it, that is what the session would
// know of what it asked for, as far as that stands; the operator's lines it knows where the result shows all of them.
func wrote(call *hooks.Call, f hooks.FileOutcome, from string) {
	views, edited := call.Views, call.Edited
	if edited == nil || !edited.Lines() {
		know(views, f.Path, f.After, known(views, f.Change, f.Knowledge, from))
		return
	}
	shown := edited.Told().Complete
	var lines [][2]int
	if was := edited.AskedFor(f.Path, f.Before.Hash); was != nil {
		lines = known(views, was.Change, was.Knowledge, from)
		if _, _, text := hooks.Texts(was.After.Bytes, f.After.Bytes); text {
			lines = carried(lines, hooks.HunksOf(was.After.Bytes, f.After.Bytes), shown)
		} else if was.After.Hash != f.After.Hash {
			lines = nil
		}
	} else if view, ok := views.Seen(from); ok && view.Hash == f.Before.Hash {
		if lines = view.Lines; view.Whole {
			lines = wholeFile()
		}
		lines = carried(lines, f.Hunks, shown)
	}
	know(views, f.Path, f.After, lines)
}

// known are the lines of a changed file that a session knows which has made the change: all of it where it gave the whole
// content or had seen the whole of what it changed, else the lines that it had seen, at their new places, and those that
// it wrote.
func known(views *session.Views, c change.Change, knows hooks.Knowledge, from string) [][2]int {
	view, ok := views.Seen(from)
	ok = ok && view.Hash == c.Before.Hash
	switch {
	case c.Before.Hash == "" || knows == hooks.KnowsNothing || ok && view.Whole:
		return wholeFile()
	case !ok:
		view.Lines = nil
	}
	return carried(view.Lines, c.Hunks, true)
}

// wholeFile are all lines of a file, however many it has.
func wholeFile() [][2]int { return [][2]int{{1, math.MaxInt32}} }

// know has a session know some lines of a file.
func know(views *session.Views, path string, now change.Version, lines [][2]int) {
	if len(lines) == 1 && lines[0] == wholeFile()[0] {
		views.Wrote(path, now.Hash)
		return
	}
	total := 1
	if text, err := workspace.Decode(now.Bytes); err == nil {
		total = len(edit.RawLines(text.String))
	}
	views.Saw(path, now.Hash, total, 1, 0)
	for _, r := range lines {
		views.Saw(path, now.Hash, total, r[0], r[1])
	}
}

// carried gives the lines after a change that are known: seen lines outside
// its hunks, where they stand now, and, where shown, the lines that the hunks brought.
func carried(seen [][2]int, hunks [][4]int, shown bool) [][2]int {
	var known [][2]int
	next, shift := 1, 0
	keep := func(last int) {
		for _, r := range seen {
			if from, to := max(r[0], next), min(r[1], last); from <= to {
				known = append(known, [2]int{from + shift, to + shift})
			}
		}
	}
	for _, h := range hunks {
		before, after := start(h[0], h[1]), start(h[2], h[3])
		keep(before - 1)
		if h[3] > 0 && shown {
			known = append(known, [2]int{after, after + h[3] - 1})
		}
		next = before + h[1]
		shift = after + h[3] - next
	}
	keep(math.MaxInt)
	return known
}

// start is the first line of one side of a hunk: a side without lines names the line before its place.
func start(line, count int) int {
	if count == 0 {
		return line + 1
	}
	return line
}

// mapDelay gathers the changes of a burst of calls into one write.
const mapDelay = 150 * time.Millisecond

// MapChange is the files that an intent changed since the last write of the map, sorted, each once. A write gets at
// most one for each intent. One without files says that the intent itself changed.
type MapChange struct {
	IntentID, Name, Status string
	Paths                  []string
	At                     time.Time
}

// MapKeeper keeps intent_map.md behind the calls: the write costs two flushes and nobody waits for it. Close writes what is pending.
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

// After implements hooks.PostHook: every INTENT_EVOLUTION with changed files is noted for the map, and every edit of an intent.
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
