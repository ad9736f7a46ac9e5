// Package trace turns what calls did into ledger records, and keeps what is
// derived from them: what sessions have seen and the intent map.
//
// It promises that Record returns only when the record is as durable as the
// settings ask. The intent map is written lazily and can be rebuilt.
package trace

import (
	"cmp"
	"context"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Recorder implements hooks.Recorder on a ledger.
type Recorder struct {
	ledger *ledger.Ledger
	last   lastRecords
}

// NewRecorder records to l.
func NewRecorder(l *ledger.Ledger) *Recorder {
	return &Recorder{ledger: l, last: lastRecords{ledger: l, after: map[string]string{}}}
}

var _ hooks.Recorder = (*Recorder)(nil)

// Record implements hooks.Recorder.
func (r *Recorder) Record(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) (string, error) {
	if r.needless(ctx, call) {
		return "", nil
	}
	appended, err := r.ledger.Append(ctx, r.record(ctx, call, outcome))
	if errors.Is(err, ledger.ErrBusy) {
		return "", refusal.Newf(refusal.Busy, "Another process held the ledger for too long: %v.", err)
	}
	if err != nil {
		return "", err
	}
	r.last.recorded(outcome.Changed())
	return appended.ID, nil
}

// needless: there is no ledger before a workspace is initialised. Reads go on
// without, and other calls where the operator chose to let them through.
func (r *Recorder) needless(ctx context.Context, call *hooks.Call) bool {
	return (call.Untracked || call.Class == hooks.Safe) && errors.Is(r.ledger.Writable(ctx), ledger.ErrNotInitialized)
}

// Refused implements hooks.Recorder. Refused reads of safe tools are recorded
// only where a rule stood against them; faults of arguments are no decisions,
// and where there is no ledger to write there is nothing to record them in.
func (r *Recorder) Refused(call *hooks.Call, hook string, why *refusal.Refusal) {
	if hook == "" && why.Code() == refusal.StaleFile {
		// Found by the plan or at the swap instead of at its step.
		hook = "freshness"
	}
	if hook == "" || r.ledger.Writable(context.Background()) != nil {
		return
	}
	rec := base(call)
	rec.Kind = ledger.KindDecision
	rec.Decision = &ledger.Decision{Outcome: "refused", ErrorType: string(why.Code()), Hook: hook, Reason: why.Reason()}
	for _, f := range call.Effects.Files {
		rec.Decision.Paths = append(rec.Decision.Paths, f.Paths()...)
	}
	r.ledger.AppendSoon(rec)
}

func base(call *hooks.Call) ledger.Record {
	rec := ledger.Record{
		IntentID:    call.RecordedIntent(),
		Call:        call.Tool,
		Contributor: ledger.Contributor{Type: "ai", ModelID: call.Caller.ModelID},
		Client:      ledger.Client{Name: call.Caller.ClientName, Version: call.Caller.ClientVersion},
	}
	if call.Session != nil {
		rec.Session = call.Session.PublicID()
	}
	return rec
}

func (r *Recorder) record(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) ledger.Record {
	rec := base(call)
	rec.Kind = ledger.KindMutation
	for _, f := range outcome.Changed() {
		rec.Changes = append(rec.Changes, r.change(ctx, f))
	}
	if len(rec.Changes) > 0 {
		rec.MutationClass = string(outcome.Class.Class)
		rec.Class = &ledger.Class{
			Declared: string(outcome.Class.Declared),
			Computed: string(outcome.Class.Class),
			Evidence: string(outcome.Class.Evidence),
		}
	}
	if cmd := outcome.Command; cmd != nil {
		rec.Kind = ledger.KindCommand
		rec.Command = &ledger.Command{
			Command: cmd.Line, Cwd: cmd.Cwd, ExitCode: cmd.ExitCode, TimedOut: cmd.TimedOut,
			DurationMS: cmd.DurationMS, OutputHash: cmd.OutputHash, Sandbox: cmd.Sandbox, Artifact: cmd.ArtifactID,
		}
	}
	if len(call.Notes) > 0 {
		rec.Detail = map[string]any{"notes": call.Notes}
	}
	if note := outcome.Record; note != nil {
		rec.Kind = ledger.Kind(note.Kind)
		rec.Detail = note.Detail
		if note.IntentID != "" {
			rec.IntentID = note.IntentID
		}
	}
	return rec
}

func (r *Recorder) change(ctx context.Context, f hooks.FileOutcome) ledger.Change {
	c := ledger.Change{Path: f.Path, From: f.From, Op: ledger.Op(f.Op), Before: f.BeforeHash, After: f.AfterHash, Hunks: f.Hunks}
	c.ExternalBefore = r.last.external(ctx, cmp.Or(f.From, f.Path), f.BeforeHash)
	if f.BeforeHash != "" {
		c.BeforeOID = r.ledger.BlobID(f.Before)
	}
	if f.AfterHash == "" {
		return c
	}
	c.AfterOID = r.ledger.BlobID(f.After)
	if text, err := workspace.Decode(f.After); err == nil {
		for _, changed := range edit.ChangedRanges(text.String, f.Hunks) {
			c.Ranges = append(c.Ranges, ledger.Range{StartLine: changed.StartLine, EndLine: changed.EndLine, ContentHash: changed.ContentHash})
		}
	}
	return c
}
