package trace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// writing tells what a call is about to change.
func (r *Recorder) writing(outcome *hooks.Outcome) *snapshot.Writing {
	if outcome.Command != nil {
		return nil
	}
	var writes []snapshot.Write
	for _, f := range outcome.Changed() {
		oid := r.blobID(f.After, f.Unread)
		if f.From != "" {
			writes = append(writes, snapshot.Write{Path: f.From, Before: f.Before.Hash})
			f.Before.Hash = ""
		}
		writes = append(writes, snapshot.Write{Path: f.Path, Before: f.Before.Hash, After: f.After.Hash, AfterOID: oid})
	}
	if note := outcome.Record; note != nil && note.Edit != nil {
		writes = append(writes, snapshot.Write{Path: note.Edit.Path, Before: note.Edit.Before, After: note.Edit.After})
	}
	if len(writes) == 0 {
		return nil
	}
	return r.snapshots.Writing(writes)
}

// blobID names a content in git's way; "" for none, and for one that is not there to be named.
func (r *Recorder) blobID(v change.Version, unread bool) string {
	switch {
	case v.Hash == "" || v.OID != "":
		return v.OID
	case unread && v.Bytes == nil:
		return ""
	}
	return r.Ledger.BlobID(v.Bytes)
}

// externalTime bounds the asking for the last records of all files of one command.
const externalTime = 250 * time.Millisecond

func (r *Recorder) changes(ctx context.Context, files []hooks.FileOutcome) []record.Change {
	if len(files) == 0 { // a timer for nothing wakes a thread
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(externalTime, lookupTime))
	defer cancel()
	var changes []record.Change
	for _, f := range files {
		changes = append(changes, r.change(ctx, f))
	}
	return changes
}

// commandOf is a command without what looks like a secret: a record cannot be taken back.
func commandOf(cmd *hooks.CommandOutcome) *record.Command {
	line, left := redact.Line(cmd.Line)
	return &record.Command{
		Command: line, Redacted: left, Programs: redacted(cmd.Programs), Unjudged: cmd.Unjudged, Cwd: cmd.Cwd, ExitCode: cmd.ExitCode, TimedOut: cmd.TimedOut,
		DurationMS: cmd.DurationMS, OutputHash: cmd.OutputHash, Artifact: cmd.Artifact, Sandbox: cmd.Sandbox,
		Background: cmd.Job != "", Job: cmd.Job, Started: cmd.Started, EndedBy: cmd.EndedBy,
	}
}

func violations(found []hooks.Violation) []record.Violation {
	var list []record.Violation
	for _, v := range found {
		list = append(list, record.Violation{Path: v.Path, Op: v.Op, Reason: v.Reason, Reverted: v.Reverted, Kind: string(v.Kind)})
	}
	return list
}

// maxBuild bounds the files that one record of kind build names.
const maxBuild = 1000

// detailCommand is the key of a build record's detail that names the record of the command.
const detailCommand = "command"

// build records what a command changed in places for build output, before its
// own record: a crash in between leaves an account too many, not one too few.
func (r *Recorder) build(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome, command string) error {
	if len(outcome.Build) == 0 {
		return nil
	}
	rec := base(call)
	rec.Policy = r.policyOf(call)
	rec.Kind, rec.Detail = record.KindBuild, map[string]any{detailCommand: command}
	if more := len(outcome.Build) - maxBuild; more > 0 {
		rec.Detail[observe.DetailMore] = more
	}
	for _, f := range outcome.Build[:min(len(outcome.Build), maxBuild)] {
		rec.Changes = append(rec.Changes, record.Change{Change: f.Change})
	}
	return r.before(ctx, rec)
}

// before appends a record that stands before a command's own, which says so where it is let through unrecorded.
func (r *Recorder) before(ctx context.Context, rec record.Record) error {
	_, err := r.Ledger.Append(ctx, rec)
	if r.lets(err) {
		return nil
	}
	return busy(err)
}

// git records what a command's git made of people's commits, before its own record, as build does.
func (r *Recorder) git(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome, command string) error {
	g := outcome.Git
	if g == nil {
		return nil
	}
	rec := base(call)
	rec.Policy = r.policyOf(call)
	rec.Kind, rec.Detail = record.KindGit, map[string]any{detailCommand: command, "created": g.Created, "modified": g.Modified, "deleted": g.Deleted}
	for key, value := range map[string]string{"before": g.Before, "after": g.After} {
		if value != "" {
			rec.Detail[key] = value
		}
	}
	if len(g.Commits) > 0 {
		rec.Detail["commits"] = g.Commits
	}
	return r.before(ctx, rec)
}

const (
	// othersTime bounds the waiting for other processes that hold a file.
	othersTime = 2 * time.Second
	// maxAsked bounds the files that are looked at for it.
	maxAsked = 256
)

// Others marks the ledger, to tell at the end of a command what other processes recorded meanwhile; see snapshot.Options.
func (r *Recorder) Others(ctx context.Context) (snapshot.Others, []string, error) {
	if r.uninitialized(ctx) {
		return nil, nil, nil
	}
	tail, err := r.Ledger.Tail(ctx)
	if r.lets(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("mark the end of the ledger: %w", err)
	}
	others := func(ctx context.Context, paths []string) (snapshot.Foreign, error) {
		return r.foreign(ctx, paths, "", r.Journal.Elsewhere, func() (ids []string, writes []snapshot.Write, err error) {
			err = tail.Next(context.WithoutCancel(ctx), record.Filter{}, func(e record.Entry) error {
				ids, writes = append(ids, e.ID), append(writes, writesOf(e, paths, true)...)
				return nil
			})
			return ids, writes, err
		})
	}
	return others, tail.Ends(), nil
}

// foreign is what others do and did of some paths: what look finds in the journal, but for the entry with an id, and what
// told says of records, whose ids it gives.
func (r *Recorder) foreign(ctx context.Context, paths []string, but string, look func() ([]journal.Entry, error),
	told func() (ids []string, writes []snapshot.Write, err error)) (snapshot.Foreign, error) {
	r.awaitWriters(ctx, paths)
	running, files, failed := r.inFlight(ctx, look, paths, but) // first: what ends meanwhile is in the ledger then
	ids, writes, err := told()
	for _, id := range ids {
		delete(files, id)
	}
	for _, own := range files { // which is later than what records tell of
		writes = append(writes, own...)
	}
	return snapshot.Foreign{Running: running, Writes: writes}, errors.Join(failed, err)
}

// OtherCommands tells when the commands of other processes began that run at the moment, those among them of which a
// crash is not settled yet; see snapshot.Options.
func (r *Recorder) OtherCommands(ctx context.Context) ([]time.Time, error) {
	if r.uninitialized(ctx) {
		return nil, nil
	}
	entries, err := r.Journal.Elsewhere()
	if err != nil {
		return nil, err
	}
	var began []time.Time
	for _, e := range entries {
		if len(e.Before) > 0 {
			began = append(began, e.Began)
		}
	}
	return began, nil
}

// inFlight is what is going on in the workspace and not recorded, by the entries of the journal but the one with an id:
// commands, and changes of some files by the id of the record that is still to come, also those that a killed server left.
func (r *Recorder) inFlight(ctx context.Context, look func() ([]journal.Entry, error), paths []string, but string) ([]snapshot.Running, map[string][]snapshot.Write, error) {
	entries, err := look()
	if err != nil {
		return nil, nil, fmt.Errorf("look what else goes on in the workspace: %w", err)
	}
	ignore := r.rules()
	var commands []snapshot.Running
	files := map[string][]snapshot.Write{}
	for _, e := range entries {
		draft, err := ledger.ParseDraft(e.Lines)
		if err != nil || draft.ID() == but {
			continue
		}
		for _, f := range e.Files {
			if writes := writesOfFile(f.From, f.Path, f.Before.Hash, snapshot.Write{After: f.After.Hash, Since: true}, paths); len(writes) > 0 {
				files[draft.ID()] = append(files[draft.ID()], writes...)
			}
		}
		rec := draft.Record()
		if rec.Command == nil {
			continue
		}
		judge := observe.SavedJudge(rec.IntentID, rec.Detail, ignore, nil)
		if judge == nil {
			continue // of a version that does not say what it may change
		}
		commands = append(commands, snapshot.Running{Began: e.Began, InScope: judge.Allows})
	}
	return commands, files, leaveRecorded(ctx, r, files)
}

// leaveRecorded leaves out what is in the ledger by now.
func leaveRecorded[T any](ctx context.Context, r *Recorder, byID map[string]T) error {
	recorded, err := r.has(ctx, slices.Collect(maps.Keys(byID)))
	maps.DeleteFunc(byID, func(id string, _ T) bool { return recorded[id] })
	return err
}

// UnderWay are the records to come of the calls that have begun, in this process or another, by their ids.
func (r *Recorder) UnderWay(ctx context.Context) (map[string]record.Record, error) {
	if r.uninitialized(ctx) {
		return nil, nil
	}
	entries, err := r.Journal.InFlight()
	begun := map[string]record.Record{}
	for _, e := range entries {
		if draft, err := ledger.ParseDraft(e.Lines); err == nil {
			begun[draft.ID()] = draft.Record()
		}
	}
	return begun, errors.Join(err, leaveRecorded(ctx, r, begun))
}

// writesOf are the changes of some files that a record tells of; since says whether they were made after a command began.
func writesOf(e record.Entry, paths []string, since bool) []snapshot.Write {
	var writes []snapshot.Write
	wrong := map[string]bool{}
	for _, v := range e.Violations {
		wrong[v.Path] = true
		if v.Reverted && v.Op == change.Created {
			writes = append(writes, writesOfFile("", v.Path, "", snapshot.Write{Since: since}, paths)...)
		}
	}
	for _, c := range e.Changes {
		w := snapshot.Write{After: c.After.Hash, AfterOID: c.After.OID, Since: since, Wrong: e.Command != nil && wrong[c.Path]}
		writes = append(writes, writesOfFile(c.From, c.Path, c.Before.Hash, w, paths)...)
	}
	if edit, ok := editOf(e.Record); ok {
		writes = append(writes, writesOfFile("", edit.Path, edit.Before, snapshot.Write{After: edit.After, Since: since}, paths)...)
	}
	return writes
}

// writesOfFile are the changes that one of a file is, which is moved unless from is empty, as far as they are of some paths.
func writesOfFile(from, path, before string, w snapshot.Write, paths []string) (writes []snapshot.Write) {
	w.Path, w.Before = path, before
	all := []snapshot.Write{w}
	if from != "" {
		all[0].Before = ""
		all = []snapshot.Write{{Path: from, Before: before, Since: w.Since}, all[0]}
	}
	return slices.DeleteFunc(all, func(w snapshot.Write) bool {
		_, asked := slices.BinarySearch(paths, w.Path)
		return !asked
	})
}

// awaitWriters waits, not for ever, until no server holds one of the files: one that does has not recorded its change yet.
func (r *Recorder) awaitWriters(ctx context.Context, paths []string) {
	ctx, cancel := context.WithTimeout(ctx, othersTime)
	defer cancel()
	for _, path := range paths[:min(len(paths), maxAsked)] {
		for r.held(path) && ctx.Err() == nil {
			select {
			case <-time.After(2 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

func (r *Recorder) held(path string) bool {
	t, err := r.Workspace.Resolve(path)
	if err != nil {
		return false
	}
	defer t.Close()
	return t.Kind() == workspace.Regular && t.Path() == path && r.Workspace.Held(t)
}
