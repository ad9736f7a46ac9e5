package trace

import (
	"context"
	"math"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Views keeps contents for later refusals; gate.Freshness implements it.
type Views interface {
	Remember(hash string, content []byte)
}

// Seen is the post-hook that counts a session's own writes as seen.
func Seen(views Views) hooks.PostHook {
	return hooks.PostFunc("seen", func(_ context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
		if outcome.Command != nil {
			followed(call.Views, outcome.Changed())
			return nil
		}
		for _, f := range outcome.Changed() {
			if f.After.Hash != "" {
				views.Remember(f.After.Hash, f.After.Bytes)
			}
			switch f.Op {
			case change.Deleted:
				call.Views.Forgot(f.Path)
			case change.Moved:
				wrote(call.Views, f, f.From)
				call.Views.Forgot(f.From)
			default:
				wrote(call.Views, f, f.Path)
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

// wrote counts what the session knows of its own write: all of it where it gave the whole content or had seen the whole
// of what it changed, else the lines that it had seen, at their new places, and those that it wrote.
func wrote(views *session.Views, f hooks.FileOutcome, from string) {
	view, ok := views.Seen(from)
	ok = ok && view.Hash == f.Before.Hash
	if f.Before.Hash == "" || f.Knowledge == hooks.KnowsNothing || ok && view.Whole {
		views.Wrote(f.Path, f.After.Hash)
		return
	}
	var seen [][2]int
	if ok {
		seen = view.Lines
	}
	total := 1
	if text, err := workspace.Decode(f.After.Bytes); err == nil {
		total = len(edit.RawLines(text.String))
	}
	views.Saw(f.Path, f.After.Hash, total, 1, 0)
	for _, r := range carried(seen, f.Hunks) {
		views.Saw(f.Path, f.After.Hash, total, r[0], r[1])
	}
}

// carried gives the lines after a change that are known: seen lines outside
// its hunks, where they stand now, and the lines that the hunks brought.
func carried(seen [][2]int, hunks [][4]int) [][2]int {
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
		if h[3] > 0 {
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
