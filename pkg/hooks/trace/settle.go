package trace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// settleWait bounds the waiting for another process that is settling.
const settleWait = 10 * time.Second

// Settle implements hooks.Recorder.
func (r *Recorder) Settle(ctx context.Context) error {
	err := r.settle(ctx)
	r.behind.Store(r.lets(err))
	if r.behind.Load() {
		return nil
	}
	return err
}

func (r *Recorder) settle(ctx context.Context) error {
	if r.settled.Load() || r.uninitialized(ctx) {
		return nil
	}
	r.settling.Lock()
	defer r.settling.Unlock()
	if r.settled.Load() {
		return nil
	}
	begun := context.WithoutCancel(ctx) // what is begun is brought to its end
	for deadline := time.Now().Add(settleWait); ; {
		err := r.settleAll(begun)
		if err == nil {
			err = r.settleGaps(begun)
		}
		switch {
		case err == nil:
			r.settled.Store(true)
			return nil
		case !errors.Is(err, journal.ErrSettling):
			return fmt.Errorf("what a crash left cannot be settled: %w", err)
		case time.Now().After(deadline):
			return refusal.Newf(refusal.Busy, "%v. Nothing was changed.", err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settleAll settles every entry whose process is gone. Those after a failed one are given back.
func (r *Recorder) settleAll(ctx context.Context) error {
	abandoned, err := r.Workspace.Abandoned()
	if err != nil {
		r.Logger.Warn().Err(err).Msg("temporary files of processes that died could not be looked for")
	}
	defer abandoned.Close()
	var states *snapshot.Abandoned // of the workspace, that dead processes had saved
	if state, err := r.Workspace.State(); err == nil {
		states = snapshot.FindAbandoned(state)
		state.Close()
	}
	defer states.Close()
	orphans, others := r.Journal.Orphans()
	if others != nil {
		if !errors.Is(others, journal.ErrSettling) {
			return others
		}
		// What a command changed is what nobody else accounts for, and somebody has not yet whose entry could not be taken.
		orphans = slices.DeleteFunc(orphans, func(o *journal.Orphan) bool {
			if len(o.Before) > 0 {
				o.Release()
			}
			return len(o.Before) > 0
		})
	}
	var ids []string
	var plans []change.Planned
	for _, o := range orphans {
		plans = append(plans, o.Files...)
		if d, err := ledger.ParseDraft(o.Lines); err == nil {
			ids = append(ids, d.ID(), retractionID(d))
		}
	}
	// What a command changed is told when all others have accounted for theirs,
	// and first by the one that began first: it knows what was there before any.
	slices.SortStableFunc(orphans, func(a, b *journal.Orphan) int {
		return cmp.Or(min(len(a.Before), 1)-min(len(b.Before), 1), a.Began.Compare(b.Began))
	})
	if n := len(orphans); n > 0 && len(orphans[n-1].Before) > 0 {
		r.Await()
	}
	recorded, err := r.has(ctx, ids)
	for _, o := range orphans {
		if err == nil {
			err = r.settleOne(ctx, o, recorded)
		}
		if err != nil {
			o.Release()
		}
	}
	if err != nil {
		return err
	}
	if others == nil { // else a before-image could be in another process's care
		abandoned.Sweep(plans)
		states.Sweep()
	}
	return others
}

// has looks for records; a ledger that cannot be read cannot be written either.
func (r *Recorder) has(ctx context.Context, ids []string) (map[string]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := r.Ledger.Has(ctx, ids...)
	if err != nil && !errors.Is(err, ledger.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return found, err
}

// settleOne brings one entry to its end. Each step can be made again: a crash
// here leaves the entry, and the next to look comes to the same result.
func (r *Recorder) settleOne(ctx context.Context, o *journal.Orphan, recorded map[string]bool) error {
	draft, err := ledger.ParseDraft(o.Lines)
	if err != nil {
		return o.SetAside()
	}
	plan := o.Files
	record, err := r.verdict(ctx, o, draft, plan, recorded)
	if err != nil {
		return err
	}
	r.keepFound(draft.Record(), plan)
	if record != nil {
		if _, err := r.Ledger.AppendDraft(ctx, record); err != nil {
			return busy(err)
		}
	}
	kept, err := r.Workspace.Tidy(plan)
	if err != nil {
		return err
	}
	for _, k := range kept {
		r.Logger.Warn().Str("path", k.Path).Str("kept", k.Kept).Msg("content of another program that a crash had left displaced is kept aside")
	}
	r.Logger.Info().Str("record", draft.ID()).Int("pid", o.PID).Bool("recorded", record != nil).Msg("settled a mutation that a crash interrupted")
	return o.Drop()
}

// verdict finds out what is to be recorded of an entry; nil if nothing is.
func (r *Recorder) verdict(ctx context.Context, o *journal.Orphan, draft *ledger.Draft, plan []change.Planned, recorded map[string]bool) (*ledger.Draft, error) {
	known := recorded[draft.ID()]
	if known && (!o.Doubt || recorded[retractionID(draft)]) {
		return nil, nil
	}
	if edit, ok := editOf(draft.Record()); ok {
		return r.editVerdict(o, draft, edit, known)
	}
	if len(o.Before) > 0 && !known {
		return r.commandVerdict(ctx, o, draft)
	}
	look := r.Workspace.Recover
	if o.Stands {
		look = r.Workspace.RecoverStanding
	}
	found, err := look(ctx, plan)
	if err != nil {
		return nil, err
	}
	if known {
		return r.retraction(draft, found)
	}
	rec, happened := recovered(draft.Record(), found, o.Began)
	if happened && o.Stands {
		rec.Detail["partial"] = true
	}
	if !happened {
		return nil, nil
	}
	return r.Ledger.Redraft(draft, rec)
}

// recovered is the record of a mutation that a crash kept out of the ledger.
func recovered(rec record.Record, found *workspace.Recovery, began time.Time) (_ record.Record, happened bool) {
	detail := detailOf(map[string]any{"of": string(rec.Kind), "began": moment(began), detailSettled: moment(time.Now())}, rec.Detail)
	planned := rec.Changes
	rec.Kind, rec.Detail, rec.Changes = record.KindRecovered, detail, nil
	if len(found.Files) == 0 {
		detail["certainty"] = "probable"
		return rec, true
	}
	taken := map[string]bool{} // a file that takes the place of a link is one change of two steps
	for _, f := range found.Files {
		c, ok := changeOf(planned, f.Path)
		switch {
		case !ok || f.Fate == workspace.Undone || taken[f.Path]:
			continue
		case f.Fate == workspace.Half:
			c.Op, c.From, c.Before.Hash, c.Before.Mode = change.Created, "", "", ""
		case f.Fate == workspace.Stripped:
			c = record.Change{Change: change.Change{Op: change.Deleted, Path: c.From, Before: c.Before}}
		}
		if f.Probable {
			detail["certainty"] = "probable"
		}
		taken[f.Path] = true
		rec.Changes = append(rec.Changes, c)
	}
	if len(rec.Changes) < len(planned) {
		detail["partial"] = true
	}
	return rec, len(rec.Changes) > 0
}

func changeOf(changes []record.Change, path string) (record.Change, bool) {
	for _, c := range changes {
		if c.Path == path {
			return c, true
		}
	}
	return record.Change{}, false
}

// retraction is the record that takes back, for the files that are as they
// were, what a record says that was written although its append had failed.
func (r *Recorder) retraction(draft *ledger.Draft, found *workspace.Recovery) (*ledger.Draft, error) {
	rec := draft.Record()
	planned := rec.Changes
	rec.Kind, rec.Changes, rec.Command = record.KindRecovered, nil, nil
	rec.Detail = map[string]any{record.DetailRetracts: draft.ID(), "reason": "the ledger could not be flushed, and the mutation was taken back"}
	for _, f := range found.Files {
		if c, ok := changeOf(planned, f.Path); ok && f.Fate == workspace.Undone {
			rec.Changes = append(rec.Changes, c.Inverse())
		}
	}
	if len(rec.Changes) == 0 {
		return nil, nil
	}
	return r.Ledger.DraftAs(retractionID(draft), rec)
}

// retractionID is the same however often a retraction is drafted.
func retractionID(d *ledger.Draft) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:orchestra:retraction:"+d.ID())).String()
}

// detailEdit is the key of an Edit in a record's detail.
const detailEdit = "edit"

// editOf reads the edit of a governance file back from its record.
func editOf(rec record.Record) (edit hooks.Edit, is bool) {
	if rec.Detail[detailEdit] == nil || rec.Kind != record.KindLifecycle && rec.Kind != record.KindSelection {
		return edit, false
	}
	text, err := json.Marshal(rec.Detail[detailEdit])
	return edit, err == nil && json.Unmarshal(text, &edit) == nil && edit.Path == intent.FilePath
}

// editVerdict tells from the intents file whether an edit happened whose process died: it is as before, or as the edit
// made it. Where it is neither, somebody changed it since, and the record says that it is not sure. Of the file nothing
// is written: it is the operator's.
func (r *Recorder) editVerdict(o *journal.Orphan, draft *ledger.Draft, edit hooks.Edit, known bool) (*ledger.Draft, error) {
	now, err := intent.FileHash(r.Workspace.Root())
	if err != nil {
		return nil, fmt.Errorf("find out what became of %s: %w", edit.Path, err)
	}
	rec := draft.Record()
	switch {
	case known && now != edit.Before:
		return nil, nil // it stands, and so does its record
	case known:
		rec.Kind = record.KindRecovered
		rec.Detail = map[string]any{record.DetailRetracts: draft.ID(), "reason": "the ledger could not be flushed, and the edit was taken back"}
		return r.Ledger.DraftAs(retractionID(draft), rec)
	case now == edit.Before:
		return nil, nil
	}
	detail := map[string]any{"of": string(rec.Kind), "began": moment(o.Began)}
	if now != edit.After {
		detail["certainty"] = "probable"
	}
	rec.Kind, rec.Detail = record.KindRecovered, detailOf(rec.Detail, detail)
	return r.Ledger.Redraft(draft, rec)
}

// SettleLeft is Settle for a server that starts: where nobody has left anything, it only lists two directories and changes nothing. The
// first change that comes meanwhile waits for it; if it fails, that change tries again, and says why it cannot be made.
func (r *Recorder) SettleLeft(ctx context.Context) error {
	if r.settled.Load() || !r.left() {
		return nil
	}
	return r.Settle(ctx)
}

// left reports whether there may be something to settle.
func (r *Recorder) left() bool {
	if home, err := r.Workspace.Root().Lstat(orchdir.Name); err != nil || !home.IsDir() {
		return false // not initialised, or the first change says what it is
	}
	state, err := orchdir.Open(r.Workspace.Root(), false, "state")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer state.Close()
	slots, err := journal.Slots(state)
	if err != nil || slots {
		return true
	}
	gaps, err := durable.ReadDirectoryIn(state, gapDir)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || len(gaps) > 0
}
