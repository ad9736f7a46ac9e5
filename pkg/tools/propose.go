package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// proposal is what an agent would have the operator change about the intents.
type proposal struct {
	plan *intent.Plan
	note *hooks.Note
	// asks says what the operator is asked, if an agent makes the call; proposes is the same in parts.
	asks     string
	proposes *hooks.Proposal
	// done renders the answer; set is what the file says afterwards.
	intentID, done string
}

// proposing is a tool that changes active_intents.yaml once the operator has
// said yes to the very difference.
type proposing[A any] struct {
	deps *Deps
	spec hooks.Spec
	args *arguments
	plan func(call *hooks.Call, args A) (*proposal, error)
}

func newProposing[A any](d *Deps, spec hooks.Spec, plan func(*hooks.Call, A) (*proposal, error)) hooks.Tool {
	spec.OutputSchema = output(open([]string{"intent_id", "name", "status", "owned_scope", "record_id"}, schema{
		"intent_id":   text("The intent that the file has now."),
		"name":        schema{"type": "string"},
		"status":      oneOf("Of the intent.", "TODO", "IN_PROGRESS", "BLOCKED", "DONE"),
		"owned_scope": list("Globs of the paths that it owns now; empty means every path.", schema{"type": "string"}),
		"record_id":   text("The ledger record, empty if nothing had to be changed."),
	}))
	return &proposing[A]{d, spec, &arguments{name: spec.Name, source: spec.InputSchema}, plan}
}

func (t *proposing[A]) Spec() hooks.Spec { return t.spec }

func (t *proposing[A]) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	p := &proposed[A]{tool: t, call: call}
	if err := t.args.decode(raw, &p.args); err != nil {
		return nil, err
	}
	p.effects.Files = []*hooks.FileEffect{intentsFile()}
	return p, nil
}

type proposed[A any] struct {
	tool    *proposing[A]
	call    *hooks.Call
	args    A
	effects hooks.Effects
}

func (p *proposed[A]) Effects() hooks.Effects { return p.effects }
func (p *proposed[A]) Close() error           { return nil }

// Plan works the edit out on the file as it is. The yes is to this edit: where
// the file has changed since, the operator is asked anew.
func (p *proposed[A]) Plan(context.Context) (hooks.Planned, error) {
	d := p.tool.deps
	found, err := p.tool.plan(p.call, p.args)
	if err != nil {
		return nil, err
	}
	edit := &intentsEdit{deps: d, plan: found.plan}
	edit.render = func(o *hooks.Outcome) (hooks.Result, error) { return d.renderProposal(found, o) }
	if found.plan.Changes() {
		edit.note = found.note
		p.effects.Files = []*hooks.FileEffect{edit.effect()}
		if !p.call.Operator {
			p.effects.Asks = refusal.New(refusal.ApprovalRequired, found.asks).With("intent_id", found.intentID)
			p.effects.Proposes = found.proposes
		}
	} else {
		p.effects.Files = nil
	}
	return edit, nil
}

func (d *Deps) renderProposal(p *proposal, o *hooks.Outcome) (hooks.Result, error) {
	set, err := d.intents()
	if err != nil {
		return hooks.Result{}, err
	}
	in, ok := set.Get(p.intentID)
	if !ok {
		return hooks.Result{}, refusal.Newf(refusal.Busy, "%s was changed in active_intents.yaml and has been taken out of it since.", p.intentID)
	}
	result := struct {
		IntentID   string   `json:"intent_id"`
		Name       string   `json:"name"`
		Status     string   `json:"status"`
		OwnedScope []string `json:"owned_scope"`
		RecordID   string   `json:"record_id"`
	}{in.ID, in.Name, string(in.Status), append([]string{}, in.OwnedScope...), o.RecordID}
	text := p.done
	if o.RecordID != "" {
		text += fmt.Sprintf("\n[record: %s]", o.RecordID)
	}
	for _, w := range o.Warnings {
		text += "\nNote: " + printable.Text(w)
	}
	return encodeResult(text, result)
}

type proposeArgs struct {
	hooks.Common
	Name        string   `json:"name"`
	OwnedScope  []string `json:"owned_scope"`
	Description string   `json:"description"`
	Constraints []string `json:"constraints"`
	Criteria    []string `json:"acceptance_criteria"`
}

func proposeIntent(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "propose_intent", Title: "Propose a new intent", Class: hooks.Governance,
		Description: "Propose an intent where none fits the work. The operator is shown what would be added to the intents and decides; " +
			"after a yes it stands there, and select_active_intent takes it.",
		InputSchema: input([]string{"name", "owned_scope", "description"}, schema{
			"name":                schema{"type": "string", "minLength": 1, "maxLength": 200, "description": "A short title."},
			"owned_scope":         schema{"type": "array", "minItems": 1, "maxItems": 100, "items": sentenceSchema(""), "description": "Globs of the paths that the work needs."},
			"description":         sentenceSchema("What is to be done and why."),
			"constraints":         schema{"type": "array", "maxItems": 50, "items": sentenceSchema(""), "description": "What must hold."},
			"acceptance_criteria": schema{"type": "array", "maxItems": 50, "items": sentenceSchema(""), "description": "How it is known to be done."},
			"intent_id":           word("Not used: the next free id is given."),
			"mutation_class":      word("Not used."),
		}),
	}
	return newProposing(d, spec, func(_ *hooks.Call, a proposeArgs) (*proposal, error) {
		set, err := d.intents()
		if err != nil {
			return nil, err
		}
		if err := proposable(set, a.OwnedScope); err != nil {
			return nil, err
		}
		if in := standing(set, a); in != nil {
			return &proposal{plan: &intent.Plan{}, intentID: in.ID, done: fmt.Sprintf("%s says that already: select it with select_active_intent.", in.ID)}, nil
		}
		plan, id, err := d.Intents.PlanAdd(intent.Intent{
			Name: a.Name, Status: intent.Todo, Description: a.Description, OwnedScope: a.OwnedScope, Constraints: a.Constraints, AcceptanceCriteria: a.Criteria,
		})
		if err != nil {
			return nil, lifecycleProblem(err)
		}
		return &proposal{
			plan: plan, intentID: id,
			note:     lifecycle(id, map[string]any{"proposed": a.Name, "owned_scope": a.OwnedScope, "status": string(intent.Todo)}),
			proposes: &hooks.Proposal{Name: a.Name, Paths: a.OwnedScope, Reason: a.Description},
			asks:     fmt.Sprintf("A new intent needs the operator's yes: %s (%s) would own %s.", id, a.Name, strings.Join(a.OwnedScope, ", ")),
			done:     fmt.Sprintf("The operator has approved it: %s (%s) stands in active_intents.yaml. Select it with select_active_intent.", id, a.Name),
		}, nil
	})
}

// standing is an intent that says what is proposed, and that can be selected:
// the operator added it meanwhile, or the proposal comes again.
func standing(set *intent.Set, a proposeArgs) *intent.Intent {
	for _, in := range set.All() {
		if in.Name == a.Name && slices.Equal(in.OwnedScope, a.OwnedScope) && set.Selectable(in) {
			return in
		}
	}
	return nil
}

type expandArgs struct {
	hooks.Common
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
}

func requestScopeExpansion(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "request_scope_expansion", Title: "Ask for a wider scope", Class: hooks.Governance,
		Description: "Ask the operator to add paths to an intent's owned_scope. The operator is shown the change and decides; after a yes the scope has them.",
		InputSchema: input([]string{"paths", "reason"}, schema{
			"paths":          schema{"type": "array", "minItems": 1, "maxItems": 100, "items": sentenceSchema(""), "description": "Globs of the paths that the work needs; a path is one, with \\ before characters that globs use."},
			"reason":         sentenceSchema("Why, for the operator."),
			"intent_id":      word("The intent, if none is selected."),
			"mutation_class": word("Not used."),
		}),
	}
	return newProposing(d, spec, func(call *hooks.Call, a expandArgs) (*proposal, error) {
		in, err := d.toExpand(call, a)
		if err != nil {
			return nil, err
		}
		plan, err := d.Intents.PlanScope(in.ID, a.Paths)
		if err != nil {
			return nil, lifecycleProblem(err)
		}
		return &proposal{
			plan: plan, intentID: in.ID,
			note:     lifecycle(in.ID, map[string]any{"scope_added": a.Paths, "reason": a.Reason}),
			proposes: &hooks.Proposal{Paths: a.Paths, Reason: a.Reason},
			asks:     fmt.Sprintf("A wider scope needs the operator's yes: %s (%s) would own %s as well. The agent's reason: %s", in.ID, in.Name, strings.Join(a.Paths, ", "), a.Reason),
			done:     fmt.Sprintf("The scope of %s has it now. Go on with the work.", in.ID),
		}, nil
	})
}

// toExpand finds the intent whose scope is meant: the selected one, else the
// one that the call names.
func (d *Deps) toExpand(call *hooks.Call, a expandArgs) (*intent.Intent, error) {
	set, err := d.intents()
	if err != nil {
		return nil, err
	}
	id := a.IntentID
	if call.Session != nil {
		id = call.Session.IntentID()
	}
	if id == "" {
		return nil, refusal.New(refusal.MissingOrInvalidIntent, "Whose scope? No intent is selected and intent_id is not given.").
			With("available", gate.Selectable(set))
	}
	in, ok := set.Get(id)
	if !ok {
		return nil, refusal.Newf(refusal.MissingOrInvalidIntent, "There is no intent %q.", clip(id, 80)).With("available", gate.Selectable(set))
	}
	if r := gate.Usable(in, set); r != nil {
		return nil, r
	}
	if in.Scope().Unrestricted() {
		return nil, refusal.Newf(refusal.InvalidArguments, "%s has no owned_scope: every path is in its scope already.", in.ID).With("intent_id", in.ID).
			Suggest("Make the change; what refused it was something else.")
	}
	return in, proposable(set, a.Paths)
}
