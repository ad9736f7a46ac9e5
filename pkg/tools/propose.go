package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
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

type proposalResult struct {
	IntentID   string   `json:"intent_id" doc:"The intent that the file has now."`
	Name       string   `json:"name"`
	Status     string   `json:"status" enum:"TODO,IN_PROGRESS,BLOCKED,DONE" doc:"Of the intent."`
	OwnedScope []string `json:"owned_scope" doc:"Globs of the paths that it owns now; empty means every path."`
	RecordID   string   `json:"record_id" doc:"The ledger record, empty if nothing had to be changed."`
	editedByOperator
}

// proposing makes a tool that changes active_intents.yaml once the operator has said yes to the very difference.
func proposing[A any](intents *intent.Store, spec hooks.Spec, plan func(*hooks.Call, A) (*proposal, error)) hooks.Tool {
	spec.Class = hooks.Governance
	return define[A, proposalResult](spec, func(call *hooks.Call, args A) (hooks.Targeted, error) {
		return &proposed{
			intents: intents, call: call, effects: hooks.Effects{Files: []*hooks.FileEffect{intentsFile()}},
			plan: func() (*proposal, error) { return plan(call, args) },
		}, nil
	}, nil)
}

type proposed struct {
	intents *intent.Store
	call    *hooks.Call
	plan    func() (*proposal, error)
	effects hooks.Effects
}

func (p *proposed) Effects() hooks.Effects { return p.effects }
func (p *proposed) Close() error           { return nil }

// Plan works the edit out on the file as it is. The yes is to this edit: where
// the file has changed since, the operator is asked anew.
func (p *proposed) Plan(context.Context) (hooks.Planned, error) {
	found, err := p.plan()
	if err != nil {
		return nil, err
	}
	edit := &intentsEdit{intents: p.intents, plan: found.plan, note: found.note}
	edit.render = func(o *hooks.Outcome) (hooks.Result, error) { return found.render(p.intents, o) }
	if !found.plan.Changes() {
		edit.note, p.effects.Files = nil, nil
		return edit, nil
	}
	p.effects.Files = []*hooks.FileEffect{edit.effect()}
	if !p.call.Operator {
		p.effects.Asks = refusal.New(refusal.ApprovalRequired, found.asks).With("intent_id", found.intentID)
		p.effects.Proposes = found.proposes
	}
	return edit, nil
}

func (p *proposal) render(intents *intent.Store, o *hooks.Outcome) (hooks.Result, error) {
	set, err := declared(intents)
	if err != nil {
		return hooks.Result{}, err
	}
	in, ok := set.Get(p.intentID)
	if !ok {
		return hooks.Result{}, refusal.Newf(refusal.Busy, "%s was changed in active_intents.yaml and has been taken out of it since.", p.intentID)
	}
	result := proposalResult{in.ID, in.Name, string(in.Status), append([]string{}, in.OwnedScope...), o.RecordID, editedByOperator{o.Edited}}
	text := p.done + editedText(o)
	if o.RecordID != "" {
		text += fmt.Sprintf("\n[record: %s]", o.RecordID)
	}
	return hooks.NewResult(text+warned(o.Warnings), result)
}

type proposeArgs struct {
	sessionArg
	unusedClass
	IntentID    string   `json:"intent_id,omitempty" is:"word" unlisted:"true"`
	Name        string   `json:"name" is:"name"`
	OwnedScope  []string `json:"owned_scope" is:"sentence" min:"1" max:"100" doc:"Globs."`
	Description string   `json:"description" is:"sentence"`
	Constraints []string `json:"constraints,omitempty" is:"sentence" max:"50"`
	Criteria    []string `json:"acceptance_criteria,omitempty" is:"sentence" max:"50"`
}

func proposeIntent(n *Intents) hooks.Tool {
	spec := hooks.Spec{
		Name: "propose_intent", Title: "Propose an intent",
		Description: "Propose an intent where none fits the work. The operator decides; then it can be selected.",
	}
	return proposing(n.Store, spec, func(_ *hooks.Call, a proposeArgs) (*proposal, error) {
		set, err := declared(n.Store)
		if err != nil {
			return nil, err
		}
		if err := proposable(set, a.OwnedScope); err != nil {
			return nil, err
		}
		if in := standing(set, a); in != nil {
			return &proposal{plan: &intent.Plan{}, intentID: in.ID, done: fmt.Sprintf("%s says that already: select it with select_active_intent.", in.ID)}, nil
		}
		plan, id, err := n.Store.PlanAdd(intent.Intent{
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
	sessionArg
	unusedClass
	IntentID string   `json:"intent_id,omitempty" is:"word" doc:"If none is selected."`
	Paths    []string `json:"paths" is:"sentence" min:"1" max:"100" doc:"Globs, with \\ as escape."`
	Reason   string   `json:"reason" is:"sentence"`
}

func requestScopeExpansion(n *Intents) hooks.Tool {
	spec := hooks.Spec{
		Name: "request_scope_expansion", Title: "Widen the scope",
		Description: "Ask the operator to add paths to the intent's owned_scope; a yes adds them.",
	}
	return proposing(n.Store, spec, func(call *hooks.Call, a expandArgs) (*proposal, error) {
		in, err := toExpand(n.Store, call, a)
		if err != nil {
			return nil, err
		}
		plan, err := n.Store.PlanScope(in.ID, a.Paths)
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

// toExpand finds the intent whose scope is meant: the selected one, else the one that the call names.
func toExpand(intents *intent.Store, call *hooks.Call, a expandArgs) (*intent.Intent, error) {
	id := a.IntentID
	if call.Session != nil {
		id = call.Session.IntentID()
	}
	set, in, err := declaredIntent(intents, id)
	if r, refused := refusal.As(err); refused && id == "" && r.Code() == refusal.MissingOrInvalidIntent {
		return nil, r.Reworded("Whose scope? No intent is selected and intent_id is not given.")
	}
	if err != nil {
		return nil, err
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

// proposable refuses globs that no operator's yes could make work: those that do not compile or leave the workspace, and
// those that name what no tool may change. A glob that is merely wide enough to match such a path, as ** is, gives nothing:
// the gate refuses the path itself.
func proposable(set *intent.Set, globs []string) error {
	if _, err := intent.CompileScope(globs); err != nil {
		return refusal.Newf(refusal.InvalidArguments, "The scope is not valid: %v.", err)
	}
	for _, g := range globs {
		if name, ok := namesProtected(g); ok {
			return refusal.AtPath(refusal.ProtectedPath, clip(g, 200), "%s names %s, which belongs to the governance files or to git; no intent can own it.", clip(g, 200), name)
		}
		path := literalPart(g)
		for _, asked := range []string{path, path + "/"} {
			if path == "" {
				break
			}
			if rule, ok := set.Ignore().Secret(asked); ok {
				return gate.SecretPath(clip(path, 200), rule)
			}
		}
	}
	return nil
}

// protectedNames are what a glob is held against. Their spellings on lenient
// file systems are workspace.Protect's to know, for parts that are no pattern.
func protectedNames() []string { return []string{".git", ".orchestration", ".intentignore"} }

// namesProtected reports the part of a glob that means a protected name: as it
// is, or as a pattern without *, which is made to fit it.
func namesProtected(glob string) (string, bool) {
	for _, part := range strings.FieldsFunc(glob, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if workspace.Protect(unescaped(part)) == workspace.ProtectNever {
			return part, true
		}
		fits, err := intent.CompileScope([]string{part})
		if err != nil || strings.Contains(part, "*") {
			continue
		}
		for _, name := range protectedNames() {
			if fits.Match(name) {
				return name, true
			}
		}
	}
	return "", false
}

func unescaped(part string) string { return strings.ReplaceAll(part, `\`, "") }

// literalPart is the path that a glob begins with, as far as it is no pattern.
func literalPart(glob string) string {
	var whole []string
	for part := range strings.SplitSeq(strings.TrimPrefix(glob, "./"), "/") {
		if part == "" || strings.ContainsAny(part, "*?[{}") {
			break
		}
		whole = append(whole, unescaped(part))
	}
	return strings.Join(whole, "/")
}
