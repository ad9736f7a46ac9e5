package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Options are what a Recorder is made of. All of it is needed.
type Options struct {
	Ledger    *ledger.Ledger
	Journal   *journal.Journal
	Workspace *workspace.Workspace
	Logger    zerolog.Logger
	// Contents gets what files held before and after each recorded change, so that it can be undone.
	Contents *kept.Store
	// Ignore gives the rules of .intentignore as they stand.
	Ignore func() (*intent.Ignore, error)
	// MarkLines has records keep a mark of each line.
	MarkLines bool
	// Await is called before the changes of a command are looked for whose server died: until it returns, its processes may
	// still write.
	Await func()
	// Elsewhere looks on other branches for what is gone from the ledger.
	Elsewhere verify.Elsewhere
	// Policy keeps what a call is judged by, and gives its digest. Sandbox tells what can hold commands here.
	Policy  func(*intent.Set) (digest string, err error)
	Sandbox func() sandbox.Ability
	// Bring takes what git fetched of others' records into the ledger, whenever an answer can depend on them.
	Bring func(ctx context.Context)
	// Changes is how the changes of commands are found. The recorder sets Mark and Elsewhere.
	Changes snapshot.Options
	// Degraded lets calls through that cannot be recorded (ledger.on_failure: degraded): with a warning in each result, and
	// counted in the first record that can be written again.
	Degraded bool
}

// Recorder implements hooks.Recorder on a ledger and the journal before it.
type Recorder struct {
	Options
	last      lastRecords
	snapshots *snapshot.Keeper

	settling sync.Mutex
	settled  atomic.Bool // once, by this process

	withheld withheld
	behind   atomic.Bool // what a crash left is unsettled, and calls go through
	gap      gap
}

// NewRecorder makes a recorder, which also finds the changes of commands. Close it before what it is made of.
func NewRecorder(o Options) *Recorder {
	r := &Recorder{
		Options: o,
		last:    lastRecords{ledger: o.Ledger, bring: o.Bring, after: map[string]string{}},
		gap:     gap{state: o.Workspace.State, log: o.Logger},
	}
	watched := o.Changes
	watched.Mark, watched.Elsewhere = r.Others, r.OtherCommands
	r.snapshots = snapshot.Open(watched)
	return r
}

// Snapshots find what commands changed. They know of what is recorded here.
func (r *Recorder) Snapshots() *snapshot.Keeper { return r.snapshots }

var _ hooks.Recorder = (*Recorder)(nil)

// Begin implements hooks.Recorder.
func (r *Recorder) Begin(ctx context.Context, call *hooks.Call, pending *hooks.Pending) (hooks.Inflight, error) {
	if r.needless(ctx, call) {
		return unrecorded{}, nil
	}
	if err := r.alone(); err != nil && !r.lets(err) {
		return nil, err
	}
	tellModes(pending)
	rec, err := r.record(ctx, call, pending.Outcome)
	if err != nil {
		return nil, err
	}
	draft, err := r.draft(rec)
	if err != nil {
		return nil, err
	}
	kept := r.keep(draft.Record(), pending.Outcome)
	entry, err := r.Journal.Begin(journal.Entry{
		Began: draft.Time(), Files: pending.Files, Before: pending.Before, Ends: pending.Ends, Lines: draft.Lines(),
	})
	if err != nil && !r.lets(err) {
		kept()
		return nil, err
	}
	return &inflight{r, call, pending.Outcome, draft, entry, false, r.writing(pending.Outcome), kept}, nil
}

// alone makes sure that nobody died since Settle.
func (r *Recorder) alone() error {
	orphans, err := r.Journal.Orphans()
	for _, o := range orphans {
		o.Release()
	}
	if len(orphans) > 0 && !r.behind.Load() || errors.Is(err, journal.ErrSettling) {
		r.settled.Store(false)
		return hooks.ErrUnsettled
	}
	return err
}

// draft gives a record its lines, also for a ledger that cannot take it now.
func (r *Recorder) draft(rec record.Record) (*ledger.Draft, error) {
	draft, err := r.Ledger.Draft(rec)
	if r.lets(err) {
		return r.Ledger.DraftAs(uuid.NewString(), rec)
	}
	return draft, err
}

// unrecorded stands for the entry where there is no ledger.
type unrecorded struct{}

func (unrecorded) Record(context.Context, *hooks.Outcome) (string, error) { return "", nil }
func (unrecorded) Done()                                                  {}
func (unrecorded) Abort(back func() error) error                          { return back() }

// inflight implements hooks.Inflight.
type inflight struct {
	recorder *Recorder
	call     *hooks.Call
	expected *hooks.Outcome
	draft    *ledger.Draft
	// entry is nil for a call that goes through although the journal cannot be written: a crash in its middle is not settled.
	entry *journal.Inflight
	// doubt: the append failed, and what of it is in the file is not known.
	doubt bool
	// writing is what the tracker was told.
	writing *snapshot.Writing
	// kept waits for the contents of what is expected.
	kept func()
}

func (i *inflight) Record(ctx context.Context, outcome *hooks.Outcome) (string, error) {
	i.kept()
	l := i.recorder.Ledger
	if outcome != i.expected {
		rec, err := i.recorder.record(ctx, i.call, outcome)
		if err != nil {
			return "", err
		}
		draft, err := l.Redraft(i.draft, rec)
		if err != nil {
			return "", err
		}
		i.draft = draft
		i.recorder.keep(draft.Record(), outcome)()
	}
	if err := i.recorder.build(ctx, i.call, outcome, i.draft.ID()); err != nil {
		return "", err
	}
	if err := i.recorder.git(ctx, i.call, outcome, i.draft.ID()); err != nil {
		return "", err
	}
	appended, err := l.AppendDraft(ctx, i.draft)
	i.doubt = !i.recorder.lets(err) && errors.Is(err, ledger.ErrUnavailable)
	return i.recorder.appended(outcome, appended.ID, i.draft.ID(), err)
}

// appended is the end of an append: the id of the record, "" where the call goes through without one. draft is its id if known.
func (r *Recorder) appended(outcome *hooks.Outcome, id, draft string, err error) (string, error) {
	switch {
	case r.lets(err):
		r.missed(outcome, draft, err)
		return "", nil
	case err != nil:
		return "", busy(err)
	}
	r.last.recorded(outcome.Changed())
	return id, nil
}

func (i *inflight) Done() {
	i.kept()
	i.writing.Done()
	if i.entry != nil {
		i.entry.Done()
	}
}

func (i *inflight) Abort(back func() error) error {
	defer i.kept()
	var noted error
	if i.doubt && i.entry != nil {
		noted = i.entry.Doubt()
	}
	err := back()
	if err == nil {
		i.writing.Undone()
	} else {
		i.writing.Done()
	}
	if half := new(workspace.RollbackError); errors.As(err, &half) && i.entry != nil {
		noted = errors.Join(noted, i.entry.Stands(i.doubt))
	}
	left := err != nil || i.doubt
	if left {
		i.recorder.settled.Store(false)
	}
	switch {
	case i.entry == nil:
	case left:
		i.entry.Leave()
	default:
		i.entry.Void()
	}
	if err != nil && noted != nil {
		return fmt.Errorf("%w; %w", err, noted)
	}
	return err
}

// Record implements hooks.Recorder.
func (r *Recorder) Record(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) (string, error) {
	if r.needless(ctx, call) {
		return "", nil
	}
	rec, err := r.record(ctx, call, outcome)
	if err != nil {
		return "", err
	}
	r.keep(rec, outcome)()
	appended, err := r.Ledger.Append(ctx, rec)
	return r.appended(outcome, appended.ID, "", err)
}

// busy tells what passes by itself from what somebody has to mend.
func busy(err error) error {
	if errors.Is(err, ledger.ErrBusy) {
		return refusal.Newf(refusal.Busy, "Another process held the ledger for too long: %v.", err)
	}
	return err
}

// needless: there is no ledger before a workspace is initialised. Reads go on
// without, and other calls where the operator chose to let them through.
func (r *Recorder) needless(ctx context.Context, call *hooks.Call) bool {
	return (call.Untracked || call.Class == hooks.Safe) && r.uninitialized(ctx)
}

func (r *Recorder) uninitialized(ctx context.Context) bool {
	return errors.Is(r.Ledger.Writable(ctx), ledger.ErrNotInitialized)
}

// Refused implements hooks.Recorder. Refused reads of safe tools are recorded only where a rule stood against them;
// faults of arguments are no decisions, and where there is no ledger to write there is nothing to record them in.
func (r *Recorder) Refused(call *hooks.Call, hook string, why *refusal.Refusal) {
	if hook == "" && why.Code() == refusal.StaleFile {
		// Found by the plan or at the swap instead of at its step.
		hook = "freshness"
	}
	if hook == "" || r.Ledger.Writable(context.Background()) != nil {
		return
	}
	rec := base(call)
	rec.Kind = record.KindDecision
	rec.Decision = &record.Decision{Outcome: "refused", ErrorType: string(why.Code()), Hook: hook, Reason: redact.Text(why.Reason())}
	for _, f := range call.Effects.Files {
		rec.Decision.Paths = append(rec.Decision.Paths, f.Paths()...)
	}
	rec.Decision.Also = alsoOf(why)
	short(rec.Decision)
	r.appendSoon(call, rec, why)
}

// Asked notes that the operator is asked about a call. It need not wait for the disk.
func (r *Recorder) Asked(call *hooks.Call, d record.Decision, way string) {
	if r.Ledger.Writable(context.Background()) == nil {
		r.appendSoon(call, decided(call, d, way), nil)
	}
}

// appendSoon records a decision about a call, with what it was judged by and on.
func (r *Recorder) appendSoon(call *hooks.Call, rec record.Record, why *refusal.Refusal) {
	if err := r.judgedBy(call, &rec); err != nil {
		r.Logger.Error().Err(err).Msg("a decision is recorded without what it was judged by")
	}
	if rec.Judged != nil && why != nil {
		for _, detail := range []string{"approval_id", "approved_before"} {
			if id, ok := why.Detail(detail).(string); ok {
				rec.Judged.Approval = id
			}
		}
	}
	compact(&rec)
	r.Ledger.AppendSoon(rec)
}

// alsoOf are the error types that stood behind a refusal's own.
func alsoOf(why *refusal.Refusal) (also []string) {
	codes, _ := why.Detail("also").([]refusal.Code)
	for _, code := range codes {
		also = append(also, string(code))
	}
	return also
}

// Answered returns when the operator's answer to a call is as durable in the ledger as the settings ask.
func (r *Recorder) Answered(ctx context.Context, call *hooks.Call, d record.Decision, way string) error {
	if r.needless(ctx, call) {
		return nil
	}
	rec := decided(call, d, way)
	rec.Contributor = record.Contributor{Type: record.ContributorHuman}
	_, err := r.Ledger.Append(context.WithoutCancel(ctx), rec)
	if r.lets(err) {
		return nil
	}
	return err
}

func decided(call *hooks.Call, d record.Decision, way string) record.Record {
	rec := base(call)
	short(&d)
	rec.Kind, rec.Decision, rec.Detail = record.KindDecision, &d, detailOf(rec.Detail, map[string]any{"way": way})
	return rec
}

const (
	maxDecidedPaths  = 1000
	maxDecidedPath   = 4096     // bytes
	maxDecidedReason = 64 << 10 // bytes
)

// short cuts what a decision says, so that one that was made is never too large to be recorded.
func short(d *record.Decision) {
	d.Reason = cut(d.Reason, maxDecidedReason)
	paths := slices.Clone(d.Paths[:min(len(d.Paths), maxDecidedPaths)])
	for i, p := range paths {
		paths[i] = cut(p, maxDecidedPath)
	}
	if more := len(d.Paths) - maxDecidedPaths; more > 0 {
		paths = append(paths, fmt.Sprintf("… and %d more", more))
	}
	d.Paths = paths
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
