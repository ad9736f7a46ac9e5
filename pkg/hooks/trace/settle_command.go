package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// FindChanges has the changes of commands found whose server died. It is called
// before the first call.
func (r *Recorder) FindChanges(o snapshot.Options) { r.changed = &o }

const (
	// alreadyTold is how long before a command a record may have been begun that
	// was still to be carried out when the command began.
	alreadyTold = 5 * time.Second
	// longest is more than a command can run. Its record has the time of its
	// beginning.
	longest = 25 * time.Hour
	// recoveredTime is how long a command is taken to have run whose end nobody
	// saw.
	recoveredTime = time.Hour
)

// duration is how long after its record's time a change can have been made.
func duration(e ledger.Entry) time.Duration {
	if e.Kind == ledger.KindRecovered && e.Detail["of"] == string(ledger.KindCommand) {
		return recoveredTime // when it ended nobody knows
	}
	if e.Command == nil {
		return 0
	}
	return time.Duration(e.Command.DurationMS) * time.Millisecond
}

// commandVerdict makes the record of a command whose server died: with what has
// changed since it began, as far as nobody else accounts for it. Programs that
// have nothing to do with it may have made changes since.
func (r *Recorder) commandVerdict(ctx context.Context, o *journal.Orphan, draft *ledger.Draft) (*ledger.Draft, error) {
	rec, _ := recovered(draft.Record(), &workspace.Recovery{}, o.Began)
	found, err := r.changedSince(ctx, o)
	if err != nil {
		rec.Detail[DetailUnseen] = err.Error()
		return r.ledger.Redraft(draft, rec)
	}
	account := NewAccount()
	for i := range found.Changes {
		c := &found.Changes[i]
		if c.Before != nil && c.Before.Kind == snapshot.Directory || c.After != nil && c.After.Kind == snapshot.Directory {
			continue
		}
		if len(rec.Changes) == MaxRecorded {
			more, _ := account.Detail[DetailMore].(int)
			account.Detail[DetailMore] = more + 1
			continue
		}
		f := account.File(c)
		account.Describe(c, &f)
		change := r.change(ctx, f)
		r.keepChange(change, f)
		rec.Changes = append(rec.Changes, change)
	}
	for _, gap := range found.Gaps {
		account.Note(DetailGaps, Shown(gap.String()))
	}
	if len(rec.Changes) > 0 {
		rec.MutationClass = string(mutation.Evolution)
		rec.Class = &ledger.Class{Computed: string(mutation.Evolution), Evidence: string(mutation.Unproven)}
	}
	rec.Detail = detailOf(account.Detail, rec.Detail)
	return r.ledger.Redraft(draft, rec)
}

func (r *Recorder) changedSince(ctx context.Context, o *journal.Orphan) (*snapshot.Difference, error) {
	if r.changed == nil {
		return nil, errors.New("nothing looks for the changes of commands")
	}
	state, err := r.files.State()
	if err != nil {
		return nil, err
	}
	defer state.Close()
	return snapshot.Recover(ctx, *r.changed, state, o.Before, func(ctx context.Context, since time.Time, paths []string) ([]snapshot.Write, error) {
		r.awaitWriters(ctx, paths)
		result, err := r.ledger.Query(ctx, ledger.Filter{Since: since.Add(-longest)})
		if err != nil {
			return nil, fmt.Errorf("ask the ledger: %w", err)
		}
		var writes []snapshot.Write
		for _, e := range result.Entries {
			if ended := e.Time.Add(duration(e)); ended.Add(alreadyTold).After(since) {
				writes = append(writes, writesOf(e, paths, ended.After(since))...)
			}
		}
		return writes, nil
	})
}

// sweepSaved removes what dead processes had saved of the workspace's state.
func (r *Recorder) sweepSaved() {
	if state, err := r.files.State(); err == nil {
		snapshot.Sweep(state)
		state.Close()
	}
}
