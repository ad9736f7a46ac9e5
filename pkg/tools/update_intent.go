package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type updateArgs struct {
	sessionArg
	unusedClass
	IntentID string `json:"intent_id" is:"name"`
	Status   string `json:"status,omitempty" enum:"IN_PROGRESS,BLOCKED,DONE,COMPLETED"`
	Note     string `json:"note,omitempty" is:"sentence"`
}

// StepTaken is what became of a step in an intent's life.
type StepTaken struct {
	IntentID string     `json:"intent_id" doc:"The intent."`
	Name     string     `json:"name"`
	Status   string     `json:"status" doc:"What it is now."`
	From     string     `json:"from" doc:"What it was before."`
	Verified []Verified `json:"verified" doc:"The verify commands that passed."`
	RecordID string     `json:"record_id" doc:"The ledger record, empty if nothing changed."`
}

// updateIntent makes the tool that steers an intent through its life. For the operator it takes every step, for an agent
// those that do not undo the operator's word. skipVerify is the operator's alone: done without the verify commands, which
// else the engine runs.
func updateIntent(n *Intents, engine *hooks.Engine, skipVerify bool) hooks.Tool {
	spec := hooks.Spec{
		Name: "update_intent", Title: "Update an intent", Class: hooks.Governance,
		Description: "Say where an intent stands. BLOCKED needs a note; a note alone is recorded too. DONE needs its verify commands to pass, for which it must be selected. " +
			"DONE and BLOCKED end its selections; only the operator reopens it.",
	}
	return define[updateArgs, StepTaken](spec, func(call *hooks.Call, args updateArgs) (hooks.Targeted, error) {
		u := &update{Intents: n, engine: engine, skipVerify: skipVerify, call: call, args: args, file: intentsFile()}
		u.status, _ = intent.ParseStatus(args.Status)
		if args.Status == "" && strings.TrimSpace(args.Note) == "" {
			return nil, refusal.New(refusal.InvalidArguments, "Neither status nor note is given: there is nothing to update.")
		}
		return u, nil
	}, nil)
}

// update is one call of the tool.
type update struct {
	*Intents
	engine     *hooks.Engine
	skipVerify bool
	call       *hooks.Call
	args       updateArgs
	status     intent.Status // "" for a note alone
	file       *hooks.FileEffect

	was      *intent.Intent
	asks     *refusal.Refusal
	verified []Verified
	edit     *intentsEdit
}

func (u *update) Effects() hooks.Effects {
	if u.status == "" {
		return hooks.Effects{}
	}
	return hooks.Effects{Files: []*hooks.FileEffect{u.file}, Asks: u.asks}
}

func (u *update) Close() error { return nil }

// Plan judges the step by the file as it is now, so that nobody's commands are run for a step that cannot be made.
func (u *update) Plan(context.Context) (hooks.Planned, error) {
	in, err := u.find()
	if err != nil {
		return nil, err
	}
	u.was = in
	if err := u.work(); err != nil {
		return nil, err
	}
	if u.edit.plan.Changes() && !u.call.Operator && u.call.Ignore.NeedsApproval(in.ID) {
		u.asks = refusal.Newf(refusal.ApprovalRequired, "Every change under %s needs the operator's approval (.intentignore); it would be %s.", in.ID, u.status).
			With("intent_id", in.ID)
	}
	return u, nil
}

// find loads the intent and judges whether the caller may make the step.
func (u *update) find() (*intent.Intent, error) {
	set, in, err := declaredIntent(u.Store, u.args.IntentID)
	if err != nil || u.call.Operator || u.status == "" {
		return in, err
	}
	if set.Ignore().IntentBlocked(in.ID) {
		return nil, gate.Usable(in, set)
	}
	if !in.Status.Selectable() && in.Status != u.status {
		step := "start"
		if in.Status == intent.Done {
			step = "reopen"
		}
		return nil, gate.Usable(in, set).WithHint(refusal.HintAskUser).
			Suggest("Only the operator takes it up again: ask the user to run `orchestra-mcp intents %s %s`.", step, in.ID)
	}
	return in, nil
}

// work works the edit out.
func (u *update) work() error {
	status := cmp.Or(u.status, u.was.Status)
	u.edit = &intentsEdit{intents: u.Store, plan: &intent.Plan{}}
	if u.status != "" {
		plan, err := u.Store.PlanStatus(u.was.ID, status, u.Clock())
		if err != nil {
			return lifecycleProblem(err)
		}
		u.edit.plan = plan
		*u.file = *u.edit.effect()
	}
	if u.edit.plan.Changes() || u.args.Note != "" {
		u.edit.note = u.note(status)
	}
	u.edit.render = func(o *hooks.Outcome) (hooks.Result, error) { return u.render(status, o) }
	return nil
}

func (u *update) note(status intent.Status) *hooks.Note {
	detail := map[string]any{"status": string(status)}
	if u.was.Status != status {
		detail["from"] = string(u.was.Status)
	}
	if u.args.Note != "" {
		detail["note"] = u.args.Note
	}
	if len(u.verified) > 0 {
		detail["verified"] = u.verified
	}
	if u.ends() && u.skipVerify && len(u.was.Verify) > 0 {
		detail["verify_skipped"] = u.was.Verify
	}
	return lifecycle(u.was.ID, detail)
}

// ends: the call makes the intent done.
func (u *update) ends() bool { return u.status == intent.Done && u.was.Status != intent.Done }

// Prepare runs the verify commands once, before anything is held: they are
// calls of their own. What they proved holds for the intent that named them.
func (u *update) Prepare(ctx context.Context) (hooks.Prepared, error) {
	if u.ends() && u.verified == nil && !u.skipVerify && len(u.was.Verify) > 0 {
		passed, err := verify(ctx, u.engine, u.call, u.was)
		if err != nil {
			return nil, err
		}
		u.verified = passed
	}
	now, err := u.find()
	if err != nil {
		return nil, err
	}
	if now.Version() != u.was.Version() {
		return nil, refusal.Newf(refusal.Busy, "%s was changed meanwhile. Nothing was changed by this call; make it again.", now.ID).With("intent_id", now.ID)
	}
	if err := u.work(); err != nil {
		return nil, err
	}
	return u.edit.Prepare(ctx)
}

func (u *update) Result(o *hooks.Outcome) (hooks.Result, error) { return u.edit.Result(o) }

func (u *update) render(status intent.Status, o *hooks.Outcome) (hooks.Result, error) {
	result := StepTaken{u.was.ID, u.was.Name, string(status), string(u.was.Status), append([]Verified{}, u.verified...), o.RecordID}
	var b strings.Builder
	switch {
	case u.status == "":
		fmt.Fprintf(&b, "The note on %s is recorded.", u.was.ID)
	case status == u.was.Status:
		fmt.Fprintf(&b, "%s was %s already.", u.was.ID, status)
	default:
		fmt.Fprintf(&b, "%s (%s) is %s now; it was %s.", u.was.ID, u.was.Name, status, u.was.Status)
	}
	for _, v := range u.verified {
		fmt.Fprintf(&b, "\npassed: %s", v.Command)
	}
	if !status.Selectable() && status != u.was.Status {
		b.WriteString("\nSelections of it have ended. To go on, select another intent (list_intents shows them).")
	}
	if o.RecordID != "" {
		fmt.Fprintf(&b, "\n[record: %s]", o.RecordID)
	}
	b.WriteString(warned(o.Warnings))
	return hooks.NewResult(b.String(), result)
}
