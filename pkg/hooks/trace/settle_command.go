package trace

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// alreadyTold is how long before a command a record may have been begun that was still to be carried out when the command began.
	alreadyTold = 5 * time.Second
	// longest is more than a command can run. Its record has the time of its beginning.
	longest = 25 * time.Hour
)

// detailSettled is the key of the time at which a crash was settled: what the record of it tells was done by then.
const detailSettled = "settled"

// ended is when the changes that a record tells of were made at the latest.
func ended(e record.Entry) time.Time {
	if text, ok := e.Detail[detailSettled].(string); ok {
		if settled, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return settled
		}
	}
	if e.Command == nil {
		return e.Time
	}
	return e.Time.Add(time.Duration(e.Command.DurationMS) * time.Millisecond)
}

// commandVerdict makes the record of a command whose server died: with what has changed since it began, as far as
// nobody else accounts for it. Programs that have nothing to do with it may have made changes since.
func (r *Recorder) commandVerdict(ctx context.Context, o *journal.Orphan, draft *ledger.Draft) (*ledger.Draft, error) {
	rec, _ := recovered(draft.Record(), &workspace.Recovery{}, o.Began)
	judge := observe.SavedJudge(rec.IntentID, rec.Detail, r.rules(), r.Workspace.Inside())
	found, err := r.changedSince(ctx, o, draft.ID(), judge)
	if err != nil {
		rec.Detail[observe.DetailUnseen] = err.Error()
		return r.Ledger.Redraft(draft, rec)
	}
	outcome := observe.Recovered(judge, r.Workspace, found)
	for _, f := range outcome.Files {
		change := r.change(ctx, f)
		_ = r.keepChange(change, f) // the log says why not; nobody waits for an answer
		rec.Changes = append(rec.Changes, change)
	}
	rec.Violations = violations(outcome.Violations)
	if len(rec.Changes) > 0 {
		rec.MutationClass = string(mutation.Evolution)
		rec.Class = &record.Class{Computed: string(mutation.Evolution), Evidence: string(mutation.Unproven)}
	}
	rec.Detail = detailOf(outcome.Command.Detail, rec.Detail)
	return r.Ledger.Redraft(draft, rec)
}

// rules are those of .intentignore as they stand; nil where they cannot be read.
func (r *Recorder) rules() *intent.Ignore {
	ignore, err := r.Ignore()
	if err != nil {
		return nil
	}
	return ignore
}

// changedSince finds what changed since the command with the record id began, but for what others may have changed, and
// it may not, that ran beside it: they died with it, or go on in a server that lives, which may be this one.
func (r *Recorder) changedSince(ctx context.Context, o *journal.Orphan, id string, judge *observe.Judge) (*snapshot.Difference, error) {
	state, err := r.Workspace.State()
	if err != nil {
		return nil, err
	}
	defer state.Close()
	return snapshot.Recover(ctx, r.Changes, state, o.Before, judge.Allows, func(ctx context.Context, since time.Time, paths []string) (snapshot.Foreign, error) {
		return r.foreign(ctx, paths, id, r.Journal.InFlight, func() (ids []string, writes []snapshot.Write, err error) {
			result, err := r.Ledger.Query(ctx, record.Filter{Since: since.Add(-longest)})
			if err != nil {
				return nil, nil, fmt.Errorf("ask the ledger: %w", err)
			}
			for _, e := range result.Entries {
				ids = append(ids, e.ID)
			}
			return ids, writesAfter(result.Entries, o.Ends, since, paths), nil
		})
	})
}

// writesAfter are the changes of some files that were made after a command began, and shortly before. Records that
// follow the end that the ledger had then are later, whatever their clock said.
func writesAfter(entries []record.Entry, ends []string, since time.Time, paths []string) (writes []snapshot.Write) {
	follows, segments, followed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, end := range ends {
		follows[end] = true
	}
	for _, e := range entries {
		after := segments[e.Segment] || slices.ContainsFunc(e.Prev, func(hash string) bool { return follows[hash] })
		if after {
			follows[e.Hash], segments[e.Segment] = true, true
		}
		end := ended(e)
		late := after || end.Add(alreadyTold).After(since)
		for _, one := range writesOf(e, paths, after || end.After(since)) {
			if late || followed[one.Path] { // a chain of changes with a gap in it would begin too early
				followed[one.Path] = true
				writes = append(writes, one)
			}
		}
	}
	return writes
}
