package tools

import (
	"context"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// intentsEdit is the Planned of a governance call that edits active_intents.yaml. The edit is worked out on the file as it
// is, named in the journal, and made only where the file still is that: what was looked at is what happens, and a crash
// between the edit and its record is found.
type intentsEdit struct {
	intents *intent.Store
	plan    *intent.Plan
	// note is the lifecycle record; nil where there is nothing to record.
	note   *hooks.Note
	render func(o *hooks.Outcome) (hooks.Result, error)
}

var _ hooks.Planned = (*intentsEdit)(nil)

// effect shows an edit as the gate, the operator and the external hooks see every change: with its text before and after.
func (e *intentsEdit) effect() *hooks.FileEffect {
	f := intentsFile()
	f.Before.Bytes, f.After.Bytes = e.plan.Before, e.plan.After
	f.Before.Hash, f.After.Hash = e.plan.Hashes()
	f.Hunks = hooks.HunksOf(f.Before.Bytes, f.After.Bytes)
	return f
}

// intentsFile is the effect of an edit before it is planned.
func intentsFile() *hooks.FileEffect {
	return &hooks.FileEffect{
		Change:    change.Change{Op: change.Modified, Path: intent.FilePath},
		Requested: intent.FilePath, Exists: true, Knowledge: hooks.KnowsBySearch,
	}
}

func (e *intentsEdit) Prepare(context.Context) (hooks.Prepared, error) {
	outcome := &hooks.Outcome{Record: e.note}
	if !e.plan.Changes() {
		return hooks.Immediate(func(context.Context) (*hooks.Outcome, error) { return outcome, nil }), nil
	}
	e.note.Edit = editOf(e.plan)
	return &preparedEdit{intents: e.intents, plan: e.plan, outcome: outcome}, nil
}

func (e *intentsEdit) Result(o *hooks.Outcome) (hooks.Result, error) { return e.render(o) }

func editOf(plan *intent.Plan) *hooks.Edit {
	before, after := plan.Hashes()
	return &hooks.Edit{Path: intent.FilePath, Before: before, After: after}
}

// preparedEdit is an edit that is about to be made.
type preparedEdit struct {
	intents *intent.Store
	plan    *intent.Plan
	outcome *hooks.Outcome
	// start is the selection that the edit puts an intent in progress for, and does not stand without; nil for none.
	start func(context.Context) (*hooks.Outcome, error)
}

// Pending names no files: what became of the edit is told by the hashes in
// its record, for the file is one that no journal may write back.
func (p *preparedEdit) Pending() *hooks.Pending { return &hooks.Pending{Outcome: p.outcome} }

func (p *preparedEdit) Discard() error { return nil }

func (p *preparedEdit) Commit(ctx context.Context) (*hooks.Outcome, error) {
	outcome, settlement := p.outcome, &editSettlement{p.intents, p.plan}
	_, err := p.intents.Apply(ctx, p.plan)
	switch {
	case err != nil && p.start != nil:
		return nil, startProblem(outcome.Record.IntentID, err)
	case err != nil:
		return nil, lifecycleProblem(err)
	case p.start != nil:
		if outcome, err = p.start(ctx); err != nil {
			// Where that fails, somebody has edited the file since: it is theirs.
			_ = settlement.Rollback(context.WithoutCancel(ctx))
			return nil, err
		}
		started(outcome.Record, p.plan)
	}
	outcome.Settlement = settlement
	return outcome, nil
}

// editSettlement takes an edit back that the ledger did not record.
type editSettlement struct {
	intents *intent.Store
	plan    *intent.Plan
}

var _ hooks.Settlement = (*editSettlement)(nil)

func (s *editSettlement) Rollback(ctx context.Context) error {
	inverse, err := s.plan.Inverse()
	if err == nil {
		_, err = s.intents.Apply(ctx, inverse)
	}
	return err
}

func (s *editSettlement) Close() error { return nil }

// lifecycle is the note of a change of an intent.
func lifecycle(id string, detail map[string]any) *hooks.Note {
	return &hooks.Note{Kind: string(record.KindLifecycle), IntentID: id, Detail: detail}
}

// lifecycleProblem turns what the intents file refused into a refusal.
func lifecycleProblem(err error) error {
	switch {
	case errors.Is(err, intent.ErrUnreadable):
		return gate.Unreadable(err)
	case errors.Is(err, intent.ErrBusy), errors.Is(err, intent.ErrChanged):
		return refusal.Newf(refusal.Busy, "The intents could not be changed: %v. Nothing was changed.", err)
	case errors.Is(err, intent.ErrLayout):
		return refusal.Newf(refusal.InvalidArguments, "The intents cannot be changed so: %v.", err).WithHint(refusal.HintAskUser).
			Suggest("Ask the user to make this change in active_intents.yaml by hand.")
	case errors.Is(err, intent.ErrInvalid), errors.Is(err, intent.ErrDuplicateID):
		return refusal.Newf(refusal.InvalidArguments, "The intents cannot be changed so: %v.", err)
	}
	return err
}
