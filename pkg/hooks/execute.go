package hooks

import (
	"context"
	"errors"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Recorder is the ledger, and the journal before it, as the engine needs them.
type Recorder interface {
	// Settle finds out what became of the mutations of processes that died, and records it. It does so before this
	// process changes anything, and is cheap afterwards.
	Settle(ctx context.Context) error
	// Begin returns after the journal has what is about to happen, as durable as the settings ask. ErrUnsettled: a
	// process died since Settle. The caller lets go of what it holds, settles and prepares again.
	Begin(ctx context.Context, call *Call, pending *Pending) (Inflight, error)
	// Record notes a call that changes nothing in the workspace.
	Record(ctx context.Context, call *Call, outcome *Outcome) (recordID string, err error)
	// Refused notes a refusal; hook is "" where a tool refused. It need not wait for the disk.
	Refused(call *Call, hook string, r *refusal.Refusal)
}

// Inflight is a mutation that the journal has. Done or Abort ends it.
type Inflight interface {
	// Record returns after the outcome is as durable in the ledger as the settings ask.
	Record(ctx context.Context, outcome *Outcome) (recordID string, err error)
	// Done: the outcome is recorded and nothing of it is left to do.
	Done()
	// Abort ends a mutation that is not to stand. It calls back to take it back; where that fails, the journal keeps
	// it, and it is settled as after a crash.
	Abort(back func() error) error
}

// ErrUnsettled is Recorder.Begin's.
var ErrUnsettled = errors.New("another process died in the middle of a change, which has to be settled first")

// prepareAttempts bounds how often a call starts anew because other processes die.
const prepareAttempts = 3

func (e *Engine) execute(ctx context.Context, call *Call, planned Planned) (Result, error) {
	prepared, entry, err := e.begin(ctx, call, planned)
	if err != nil {
		return Result{}, err
	}
	outcome, err := e.commit(ctx, call, prepared, entry)
	if err != nil {
		return Result{}, err
	}
	call.outcome = outcome
	if call.Edited != nil {
		told := call.Edited.Told()
		outcome.Edited = &told
	}
	e.deliver(call, outcome.Delivered)
	if !outcome.Continued {
		e.after(ctx, call, outcome)
	}
	return planned.Result(outcome)
}

// Continue executes what a judged call leaves to be done behind its own result, such as a command in the background. It
// is journaled, recorded and observed like the call, and under the same intent; it is not judged again. The call must
// be a Detached one.
func (e *Engine) Continue(ctx context.Context, call *Call, planned Planned) Result {
	if call.watch != nil {
		ctx = e.watch(ctx, call)
	}
	result, err := e.carryOn(ctx, call, planned)
	if err != nil {
		result = e.refused(ctx, call, err)
	}
	call.ended(result, err)
	return result
}

func (e *Engine) carryOn(ctx context.Context, call *Call, planned Planned) (_ Result, err error) {
	defer e.survive(call, &err)
	return e.execute(ctx, call, planned)
}

// begin prepares a call and puts it into the journal. The entry is nil for a call that changes nothing.
func (e *Engine) begin(ctx context.Context, call *Call, planned Planned) (Prepared, Inflight, error) {
	var err error
	changes := call.Class != Safe
	if call.Class == Destructive {
		// Here, and not where the files are locked, for it looks into others.
		call.Planned(ctx)
	}
	for range prepareAttempts {
		call.enter(PartPrepare)
		if changes {
			if err := e.Recorder.Settle(ctx); err != nil {
				return nil, nil, unsettled(err)
			}
		}
		var prepared Prepared
		if prepared, err = planned.Prepare(ctx); err != nil {
			return nil, nil, err
		}
		pending := prepared.Pending()
		if pending == nil {
			return prepared, nil, nil
		}
		e.classify(ctx, call, pending.Outcome)
		var entry Inflight
		call.enter(PartJournal)
		if entry, err = e.Recorder.Begin(ctx, call, pending); err == nil {
			return prepared, entry, nil
		}
		if discarded := prepared.Discard(); discarded != nil {
			e.Logger.Warn().Err(discarded).Str("tool", call.Tool).Msg("a prepared change was not discarded cleanly")
		}
		if !errors.Is(err, ErrUnsettled) {
			break
		}
		changes = true
	}
	return nil, nil, unsettled(err)
}

// unsettled refuses a call before it changed anything.
func unsettled(err error) error {
	r, is := refusal.As(err)
	switch {
	case is:
		return r
	case refusal.Exhausted(err) != nil:
		return refusal.Exhausted(err)
	case errors.Is(err, ErrUnsettled):
		return refusal.Newf(refusal.Busy, "Other servers on this workspace keep dying: %v. Nothing was changed.", err)
	case errors.Is(err, context.Canceled):
		return refusal.New(refusal.Cancelled, "The call was cancelled; nothing was changed.")
	}
	return refusal.Newf(refusal.LedgerUnavailable, "The change could not be written down before it was made (%v).", err).
		With("changed", false).Suggest("Nothing was changed. Ask the user to run `orchestra-mcp doctor` in the workspace, and to look at the server's log.")
}

// commit takes effect and records it. A call that is interrupted by a panic leaves its entry to be settled.
func (e *Engine) commit(ctx context.Context, call *Call, prepared Prepared, entry Inflight) (_ *Outcome, err error) {
	if entry == nil {
		entry = unwritten{e.Recorder, call}
	}
	call.enter(PartExecute)
	ended := false
	defer func() {
		if !ended {
			_ = entry.Abort(func() error { return errInterrupted })
		}
	}()
	outcome, err := prepared.Commit(ctx)
	if err != nil {
		ended = true
		_ = entry.Abort(func() error { return standing(err) }) // err says it all
		return nil, err
	}
	if err := e.record(ctx, call, outcome, entry); err != nil {
		ended = true
		return nil, e.takeBack(ctx, call, outcome, entry, err)
	}
	outcome.Warnings = append(slices.Clone(call.Notes), outcome.Warnings...)
	e.settle(call, outcome)
	ended = true
	entry.Done()
	return outcome, nil
}

var (
	errInterrupted = errors.New("the call was interrupted")
	errNoWayBack   = errors.New("what a command or another server did cannot be taken back")
)

// standing is the part of a failed commit that could not be taken back.
func standing(err error) error {
	if rollback, half := errors.AsType[*workspace.RollbackError](err); half {
		return rollback
	}
	return nil
}

// unwritten stands for the entry of a call that the journal does not have.
type unwritten struct {
	recorder Recorder
	call     *Call
}

func (u unwritten) Record(ctx context.Context, outcome *Outcome) (string, error) {
	return u.recorder.Record(ctx, u.call, outcome)
}
func (unwritten) Done()                         {}
func (unwritten) Abort(back func() error) error { return back() }

// record writes the ledger record of an outcome that needs one. The change has
// happened: a caller that goes away now must not keep it out of the ledger.
func (e *Engine) record(ctx context.Context, call *Call, outcome *Outcome, entry Inflight) error {
	if len(outcome.Changed()) == 0 && outcome.Command == nil && outcome.Record == nil {
		if !call.actsElsewhere() {
			return nil
		}
		outcome.Record = &Note{Kind: noteMutation, Detail: map[string]any{"touches": "no files of the workspace"}}
	}
	e.classify(ctx, call, outcome)
	call.enter(PartLedger)
	id, err := entry.Record(context.WithoutCancel(ctx), outcome)
	outcome.RecordID = id
	return err
}

// noteMutation is the kind of the record of a destructive call that touches no files.
const noteMutation = "mutation"

// actsElsewhere: the call is destructive, and says of no file or command what it does. Nobody would know of it without a
// record.
func (c *Call) actsElsewhere() bool {
	return c.Class == Destructive && c.Effects.Command == nil && !slices.ContainsFunc(c.Effects.Files, (*FileEffect).Mutates)
}

// takeBack undoes a change that the ledger did not take.
func (e *Engine) takeBack(ctx context.Context, call *Call, outcome *Outcome, entry Inflight, cause error) error {
	changed := len(outcome.Changed()) > 0 || outcome.Command != nil || outcome.Sent
	back := entry.Abort(func() error {
		defer e.settle(call, outcome)
		switch {
		case outcome.Settlement != nil:
			return outcome.Settlement.Rollback(context.WithoutCancel(ctx))
		case changed:
			return errNoWayBack
		}
		return nil
	})
	r := refusal.Newf(refusal.LedgerUnavailable, "The ledger did not take the record (%v).", cause)
	passing, isPassing := refusal.As(cause)
	if short := refusal.Exhausted(cause); short != nil {
		passing, isPassing = short, true
	}
	switch {
	case back == nil && isPassing:
		return passing.With("changed", false)
	case back == nil && changed:
		return r.With("changed", false).Suggest("Nothing was changed. Ask the user to run `orchestra-mcp doctor` in the workspace, and to look at the server's log.")
	case back == nil:
		return r.With("changed", false)
	case outcome.Command != nil && outcome.Settlement == nil:
		return unrecordedCommand(r, outcome)
	case outcome.Settlement == nil:
		return r.With("changed", true)
	}
	return refusal.Newf(refusal.LedgerUnavailable,
		"The ledger did not take the record (%v), and the change could not be taken back (%v).", cause, back).With("changed", true)
}

// maxUnrecorded bounds the violations that such a refusal names.
const maxUnrecorded = 20

// unrecordedCommand is the answer to a command that ran and has no record: only here it says what it should not have done.
func unrecordedCommand(r *refusal.Refusal, outcome *Outcome) *refusal.Refusal {
	var found []string
	for _, v := range outcome.Violations[:min(len(outcome.Violations), maxUnrecorded)] {
		found = append(found, v.Path+": "+v.Reason)
	}
	if len(found) > 0 {
		r = r.With("violations", found)
	}
	return r.With("changed", true).Suggest("What the command did stands, and has no record. Tell the user. If .orchestration or the ledger is gone: " +
		"`git checkout -- .orchestration` brings back what was committed, `orchestra-mcp ledger restore` the records of commits; then restart the server.")
}

// settle gives up the before-images. What goes wrong now changes nothing about the change, but somebody has to know:
// another program's content may have been kept aside.
func (e *Engine) settle(call *Call, outcome *Outcome) {
	if outcome.Settlement == nil {
		return
	}
	if err := outcome.Settlement.Close(); err != nil {
		e.Logger.Warn().Err(err).Str("tool", call.Tool).Msg("a change was not settled cleanly")
		outcome.Warnings = append(outcome.Warnings, err.Error())
	}
}
