package tools

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// selectionStart is the way of a selection that puts its intent in progress: an
// edit of the intents like any other, in the journal before it is made.
type selectionStart struct {
	intents *intent.Store
	plan    *intent.Plan
	pending *hooks.Outcome
	run     func(context.Context) (*hooks.Outcome, error)
}

// start plans the edit for a selection of an intent that is TODO; nil for any
// other, which run judges.
func (n *Intents) start(a selectArgs, run func(context.Context) (*hooks.Outcome, error)) (hooks.Prepared, error) {
	set, err := declared(n.Store)
	if err != nil {
		return nil, err
	}
	in, ok := set.Get(a.IntentID)
	if !ok || in.Status != intent.Todo || !set.Selectable(in) {
		return nil, nil
	}
	plan, err := n.Store.PlanStatus(in.ID, intent.InProgress, n.Clock())
	if err != nil {
		return nil, startProblem(in.ID, err)
	}
	s := &selectionStart{intents: n.Store, plan: plan, run: run}
	s.pending = &hooks.Outcome{Record: s.noted(&hooks.Note{
		Kind: string(ledger.KindSelection), IntentID: in.ID, Detail: map[string]any{"mutation_class": a.MutationClass, "owned_scope": in.OwnedScope},
	})}
	return s, nil
}

func startProblem(id string, err error) error {
	return lifecycleProblem(fmt.Errorf("setting %s in progress: %w", id, err))
}

// noted adds the edit to the record of the selection.
func (s *selectionStart) noted(note *hooks.Note) *hooks.Note {
	before, after := s.plan.Hashes()
	note.Edit = &hooks.Edit{Path: intent.FilePath, Before: before, After: after}
	note.Detail["started"] = true
	return note
}

func (s *selectionStart) Pending() *hooks.Pending { return &hooks.Pending{Outcome: s.pending} }

func (s *selectionStart) Discard() error { return nil }

// Commit makes the edit and then selects; the edit does not stand without the
// selection.
func (s *selectionStart) Commit(ctx context.Context) (*hooks.Outcome, error) {
	if _, err := s.intents.Apply(ctx, s.plan); err != nil {
		return nil, startProblem(s.pending.Record.IntentID, err)
	}
	settlement := &editSettlement{s.intents, s.plan}
	outcome, err := s.run(ctx)
	if err != nil {
		// Where that fails, somebody has edited the file since: it is theirs.
		_ = settlement.Rollback(context.WithoutCancel(ctx))
		return nil, err
	}
	outcome.Settlement = settlement
	s.noted(outcome.Record)
	return outcome, nil
}
