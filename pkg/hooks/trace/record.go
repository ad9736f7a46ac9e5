// Package trace turns what calls did into ledger records, and keeps what is
// derived from them: what sessions have seen and the intent map.
//
// It promises that Record returns only when the record is as durable as the settings ask, that a mutation is in the
// journal before it happens, and that what a crash left there is settled before anything else is changed: every
// mutation ends in the ledger, or did not happen. The intent map is written lazily and can be rebuilt.
package trace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func base(call *hooks.Call) record.Record {
	rec := record.Record{
		IntentID:    call.RecordedIntent(),
		Call:        call.Tool,
		Contributor: record.Contributor{Type: record.ContributorAI},
		Client:      record.Client{Name: call.Caller.ClientName, Version: call.Caller.ClientVersion},
		Principal:   auth.Recorded(call.Caller.Principal),
	}
	model, source := call.Model()
	rec.Contributor.ModelID, rec.Contributor.ModelSource = model, string(source)
	if call.Operator {
		rec.Contributor = record.Contributor{Type: record.ContributorHuman}
	}
	if call.Session != nil {
		rec.Session = call.Session.PublicID()
	}
	if e := call.Edited; e != nil {
		rec.Detail = map[string]any{detailEdited: map[string]string{"request": e.ID, "asked": e.Asked, "made": e.Made}}
	}
	return rec
}

// detailEdited is the key of what the operator has made of a call: the request's id, and the digests of the call as it was
// asked for and as it was made, "" for one that was not let pass.
const detailEdited = "edited"

func (r *Recorder) record(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) (record.Record, error) {
	rec := base(call)
	if err := r.judgedBy(call, &rec); err != nil && !r.lets(err) {
		return rec, err
	}
	rec.Kind = record.KindMutation
	if outcome.ByAgent {
		rec.Contributor.Type = record.ContributorAI
	}
	if call.Edited != nil && call.Edited.Lines() {
		rec.Contributor.Type = record.ContributorMixed
	}
	rec.Changes = r.changes(ctx, outcome.Changed())
	if len(rec.Changes) > 0 {
		rec.MutationClass = string(outcome.Class.Class)
		rec.Class = &record.Class{
			Declared: string(outcome.Class.Declared),
			Computed: string(outcome.Class.Class),
			Evidence: string(outcome.Class.Evidence),
		}
		if outcome.Class.Evidence != mutation.Unsupported { // where something was compared
			rec.Class.Reason = cut(outcome.Class.Reason, maxReason)
		}
	}
	if len(call.Notes) > 0 {
		rec.Detail = detailOf(rec.Detail, map[string]any{"notes": redacted(call.Notes)})
	}
	if cmd := outcome.Command; cmd != nil {
		rec.Kind, rec.Command, rec.Violations = record.KindCommand, commandOf(cmd), violations(outcome.Violations)
		rec.Detail = detailOf(rec.Detail, cmd.Detail)
	}
	rec.Detail = detailOf(rec.Detail, linked(outcome.Changed()))
	rec.Detail = detailOf(detailOf(rec.Detail, outcome.About), outcome.Detail)
	rec.IntentID, rec.Session = cmp.Or(outcome.IntentID, rec.IntentID), cmp.Or(outcome.Session, rec.Session)
	if note := outcome.Record; note != nil {
		rec.Kind = record.Kind(note.Kind)
		rec.MutationClass, rec.Class = "", nil // it is no mutation of the work
		if note.Edit != nil {
			rec.Detail = detailOf(rec.Detail, map[string]any{detailEdit: note.Edit})
		}
		rec.Detail = detailOf(rec.Detail, note.Detail)
		if note.IntentID != "" {
			rec.IntentID = note.IntentID
		}
	}
	asJudged(&rec, outcome)
	if cmd := outcome.Command; cmd != nil && cmd.Job != "" && !cmd.Started {
		rec.Judged = nil // which the record of its start has
	}
	compact(&rec)
	return rec, nil
}

// maxReason bounds the reason of a class in a record, in bytes.
const maxReason = 400

func redacted(texts []string) []string {
	var without []string
	for _, text := range texts {
		without = append(without, redact.Text(text))
	}
	return without
}

// moment is a time as records have it.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// detailOf joins what the gate noted with what the tool did.
func detailOf(notes, note map[string]any) map[string]any {
	if len(notes) == 0 {
		return note
	}
	joined := maps.Clone(notes)
	maps.Copy(joined, note)
	return joined
}

func (r *Recorder) change(ctx context.Context, f hooks.FileOutcome) record.Change {
	c := record.Change{Change: f.Bare(), ExternalBefore: r.last.external(ctx, f.Source(), f.Before.Hash)}
	c.Before.OID, c.After.OID = r.blobID(f.Before, f.Unread), r.blobID(f.After, f.Unread)
	if f.After.Hash == "" || f.Unread {
		return c
	}
	if text, err := workspace.Decode(f.After.Bytes); err == nil {
		for _, changed := range edit.ChangedRanges(text.String, f.Hunks) {
			c.Ranges = append(c.Ranges, record.Range{StartLine: changed.StartLine, EndLine: changed.EndLine, ContentHash: changed.ContentHash})
		}
		if r.marks(f) {
			c.Mark(edit.Lines(text.String))
		}
	}
	return c
}

// marks reports whether the lines of a file may be marked: of what is secret they could be guessed from it.
func (r *Recorder) marks(f hooks.FileOutcome) bool {
	if !r.MarkLines || len(f.Hunks) == 0 {
		return false
	}
	ignore := r.rules()
	if ignore == nil {
		return false
	}
	_, is := ignore.Secret(f.Path)
	_, was := ignore.Secret(cmp.Or(f.From, f.Path))
	return !is && !was
}

// detailHardLinks is the key of the files that had other names before a change.
const detailHardLinks = "hard_links"

// maxLinked bounds those that a record names.
const maxLinked = 200

// linked notes the files that had other names: who restores one makes a file of its own.
func linked(files []hooks.FileOutcome) map[string]any {
	var paths []string
	for _, f := range files {
		if f.Links > 1 && len(paths) < maxLinked {
			paths = append(paths, cmp.Or(f.From, f.Path))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return map[string]any{detailHardLinks: paths}
}

// tellModes gives the files of an outcome the permissions, and the number of names, that the plan knows.
func tellModes(pending *hooks.Pending) {
	plans := map[string]change.Planned{}
	for _, p := range pending.Files {
		plans[p.Path] = p
	}
	for i := range pending.Outcome.Files {
		f := &pending.Outcome.Files[i]
		p, known := plans[f.Path]
		if !known {
			continue
		}
		f.Links = p.Links
		if f.Before.Hash != "" {
			f.Before.Mode = p.Before.Mode
		}
		if f.After.Hash != "" {
			f.After.Mode = p.After.Mode
		}
	}
}

// keep is called before the journal has the change: contents are written while the call waits for the journal's flush,
// which holds no other write up, and after a crash the recovered record has them too. Those of a change that fails then
// are never asked for, and grow old. They are kept when wait returns, which is before the record is in the ledger:
// whoever finds a record finds its contents, unless they are kept no longer.
func (r *Recorder) keep(rec record.Record, outcome *hooks.Outcome) (wait func()) {
	changed := outcome.Changed()
	if len(changed) == 0 {
		return func() {}
	}
	failed := make(chan error, 1)
	go func() {
		var err error
		var some []kept.Content
		for i, f := range changed[:min(len(changed), len(rec.Changes))] {
			if some = append(some, contentsOf(rec.Changes[i], f)...); len(some) >= keptAtOnce {
				err, some = cmp.Or(err, r.Contents.Put(some...)), nil
			}
		}
		failed <- cmp.Or(err, r.Contents.Put(some...))
	}()
	return sync.OnceFunc(func() {
		if err := <-failed; err != nil {
			outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("What the files held before and after could not be kept, so undo has only what git has (%v). Tell the user.", err))
		}
	})
}

// keptAtOnce are as many contents as are given to the store together: it asks for the rules about what is secret each time, and
// lets others wait meanwhile.
const keptAtOnce = 50

// keepChange keeps the contents of one file.
func (r *Recorder) keepChange(c record.Change, f hooks.FileOutcome) error {
	return r.Contents.Put(contentsOf(c, f)...)
}

// contentsOf are the contents of one file, as far as they are there.
func contentsOf(c record.Change, f hooks.FileOutcome) (all []kept.Content) {
	paths := []string{c.Path, c.From}
	for _, end := range [][2]change.Version{{c.Before, f.Before}, {c.After, f.After}} {
		if named, is := end[0], end[1]; named.OID != "" && (is.Bytes != nil || !f.Unread) {
			all = append(all, kept.Content{ID: named.OID, Bytes: is.Bytes, Paths: paths})
		}
	}
	return all
}

// maxFound bounds one content that is taken over from a process that died, in bytes.
const maxFound = 64 << 20

// keepFound keeps what the files still tell of a change whose process died, perhaps before its own contents were
// written: the displaced content, which is removed right after, and what stands at the path.
func (r *Recorder) keepFound(rec record.Record, plan []change.Planned) {
	for _, p := range plan {
		c, ok := changeOf(rec.Changes, p.Path)
		if !ok {
			continue
		}
		paths := []string{c.Path, c.From}
		for _, content := range r.Workspace.Contents(p, maxFound) {
			for _, end := range []change.Version{c.Before, c.After} {
				if content.Hash == end.Hash {
					_ = r.Contents.Put(kept.Content{ID: end.OID, Bytes: content.Bytes, Paths: paths})
				}
			}
		}
	}
}

const (
	// lookupTime bounds the search for a file's last record, which is made once for each file that this process changes, and only
	// where the file stood there before. The index answers in a few milliseconds. What is not indexed yet, as when nobody has
	// asked a long ledger anything, would take seconds, and the file is locked meanwhile: then nothing is compared.
	lookupTime = 250 * time.Millisecond
	// maxBack bounds the records of a file that are looked at.
	maxBack = 1000
	// maxKnown bounds the files of which the last record is kept in memory.
	maxKnown = 20_000
)

// lastRecords knows which content the last record of each file names, "" for a file that is gone. Safe for concurrent use.
type lastRecords struct {
	ledger *ledger.Ledger
	bring  func(ctx context.Context) // what git has fetched of others' records

	mu    sync.Mutex
	after map[string]string
}

// external reports whether somebody else changed a file since the records of it. The caller still holds the file's
// lock, so nothing records it meanwhile.
func (l *lastRecords) external(ctx context.Context, path, before string) bool {
	l.mu.Lock()
	known, ok := l.after[path]
	l.mu.Unlock()
	if ok && known == before || !ok && before == "" {
		return false
	}
	// What differs from our own memory may be another server's record.
	found, is := l.lookup(ctx, path, before)
	if !is { // or of another machine's
		l.bring(ctx)
		found, is = l.lookup(ctx, path, before)
	}
	return (ok || found) && !is
}

// lookup finds whether the ledger has records of a file, and whether one of them knows it as it is. That need not be the last
// one: work trees on several branches share a ledger.
func (l *lastRecords) lookup(ctx context.Context, path, content string) (found, is bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	for _, most := range []int{1, maxBack} {
		result, err := l.ledger.Query(ctx, record.Filter{Path: path, Kinds: append(record.ChangeKinds(), record.KindLifecycle), Limit: most, Newest: true})
		if err != nil {
			return false, false
		}
		for _, e := range result.Entries {
			for _, c := range e.Changes {
				if path == c.Path || path == c.From {
					found, is = true, is || knows(c, path, content)
				}
			}
		}
		if is || len(result.Entries) < most {
			break
		}
	}
	return found, is
}

// knows reports whether a change left a file as it is, or found it so where nobody else had a hand in it.
func knows(c record.Change, path, content string) bool {
	after, before := c.After.Hash, ""
	if path != c.Path {
		after = ""
	}
	if path == cmp.Or(c.From, c.Path) && !c.ExternalBefore {
		before = c.Before.Hash
	}
	return content == after || content != "" && content == before
}

// recorded remembers what a record says of its files.
func (l *lastRecords) recorded(files []hooks.FileOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.after) > maxKnown {
		clear(l.after)
	}
	for _, f := range files {
		if f.From != "" {
			l.after[f.From] = ""
		}
		l.after[f.Path] = f.After.Hash
	}
}
