package hooks

import (
	"context"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// resume makes the call that was stored.
func (e *Engine) resume(ctx context.Context, call *Call, req Request, stored *StoredCall) (Result, error) {
	req.Tool, req.Arguments = stored.Tool, stored.Arguments
	if req.Tool == call.Tool {
		return Result{}, refusal.Newf(refusal.InvalidArguments, "%s cannot carry out itself.", call.Tool)
	}
	do := e.Do
	if stored.Edited != nil {
		do = func(ctx context.Context, req Request) Result { return e.Instead(ctx, req, stored.Edited) }
	}
	result := do(ctx, req)
	if result.IsError || result.InLine != nil {
		return result, nil
	}
	made, err := stored.Result(result)
	if err != nil {
		e.Logger.Error().Err(err).Str("tool", call.Tool).Msg("a result could not be rendered")
		return result, nil
	}
	return made, nil
}

// maxAsked bounds how often one call is put to the operator because what it would do keeps changing.
const maxAsked = 3

// judge runs a call, and puts it to the operator where that is needed. An answer is about what was shown: with one the
// call is judged anew from its beginning, since everything may have changed while it was waited for.
func (e *Engine) judge(ctx context.Context, tool Tool, decoded Decoded, call *Call, req Request) (Result, error) {
	answered := ""
	if req.edited != nil {
		answered = req.edited.ID
	}
	for range maxAsked {
		result, asking, err := e.do(ctx, decoded, call, answered)
		if answered != "" && (isBusy(err) || err == nil && len(asking) > 0) {
			// The operator's own command may be carrying the same answer out, or have done so since the call was planned
			// (ask.ForNobody): then nothing is left to ask.
			e.renew(tool, call, req)
			result, asking, err = e.do(ctx, decoded, call, answered)
		}
		if answered != "" && err == nil {
			e.Asker.Lapse(answered) // of no effect on one that was used
		}
		if err == nil && len(asking) > 0 {
			call.enter(PartApproval)
			answered, err = e.Asker.Ask(ctx, call, asking)
		} else if err == nil {
			return result, nil
		}
		if err != nil {
			return e.stopped(ctx, call, req, asking, err)
		}
		if ctx.Err() != nil {
			e.Asker.Lapse(answered)
			return Result{}, cancelledBefore()
		}
		e.renew(tool, call, req)
	}
	e.Asker.Lapse(answered)
	return Result{}, refusal.New(refusal.Busy, "What this call would do changed each time while the operator was asked, so no answer was about it. Nothing was changed.")
}

// stopped is what a call comes to that was refused, or has to be asked about, or is made as another.
func (e *Engine) stopped(ctx context.Context, call *Call, req Request, asking []Question, err error) (Result, error) {
	inLine, isInLine := errors.AsType[*InLine](err)
	edited, isEdited := errors.AsType[*Edited](err)
	switch {
	case isInLine:
		return Result{InLine: inLine}, nil
	case isEdited:
		return e.instead(ctx, call, req, edited)
	case len(asking) > 0:
		err = &hookRefusal{asking[0].Hook, refusal.From(err)}
	}
	return Result{}, err
}

// renew makes a call as it was when it came, on the state as it is now.
func (e *Engine) renew(tool Tool, call *Call, req Request) {
	again := e.newCall(tool.Spec(), req)
	again.ID, again.watch = call.ID, call.watch
	*call = *again
}

func isBusy(err error) bool { return err != nil && refusal.From(err).Code() == refusal.Busy }

func cancelledBefore() *refusal.Refusal {
	return refusal.New(refusal.Cancelled, "The call was cancelled before it took effect.")
}

// hookRefusal remembers which hook refused, for the ledger.
type hookRefusal struct {
	hook string
	*refusal.Refusal
}

func (h *hookRefusal) Unwrap() error { return h.Refusal }

// refusedBy names the hook that refused, "" for none.
func refusedBy(err error) string {
	if by, is := errors.AsType[*hookRefusal](err); is {
		return by.hook
	}
	return ""
}

// do judges a call, and runs it unless the operator has to be asked first. answered is the answer that it comes back with.
func (e *Engine) do(ctx context.Context, decoded Decoded, call *Call, answered string) (result Result, asking []Question, err error) {
	call.enter(PartTargets)
	targeted, err := decoded.Targets(ctx, call)
	if err != nil {
		return Result{}, nil, err
	}
	defer targeted.Close()
	call.Effects = targeted.Effects()
	if call.Edited != nil {
		e.askedFor(ctx, call.request)
	}

	var planned Planned
	aside, err := e.stages(ctx, call, answered, func() (err error) {
		planned, err = targeted.Plan(ctx)
		call.Effects = targeted.Effects()
		return err
	})
	if err != nil {
		return Result{}, nil, err
	}
	if ctx.Err() != nil {
		return Result{}, nil, cancelledBefore()
	}
	if call.Edited != nil {
		call.Edited.compare(call.Effects)
	}
	if passed, err := e.pass(ctx, call, aside); err != nil {
		return Result{}, nil, err
	} else if !passed {
		return Result{}, aside, nil
	}
	result, err = e.execute(ctx, call, planned)
	return result, nil, err
}

// stages judges a call by the gate, with its plan between the two stages.
func (e *Engine) stages(ctx context.Context, call *Call, answered string, plan func() error) (aside []Question, err error) {
	if err := e.gate(ctx, AtTargets, call, &aside); err != nil {
		return nil, err
	}
	call.enter(PartPlan)
	if err := plan(); err != nil {
		return nil, withAside(aside, answered, e.staleFirst(call, err))
	}
	if err := e.gate(ctx, AtPlan, call, &aside); err != nil {
		return nil, withAside(aside, answered, err)
	}
	return aside, nil
}

// Review judges a call of which the effects are known, and carries nothing out: what the operator would be asked, or the refusal
// and the hook that it is from. plan stands for what the tool finds between the stages, answered for the question that the call
// comes back from, as in a call that is made.
func (e *Engine) Review(ctx context.Context, call *Call, answered string, plan func() error) (asked []Question, hook string, refused *refusal.Refusal) {
	asked, err := e.stages(ctx, call, answered, plan)
	if err != nil {
		return nil, refusedBy(err), refusal.From(err)
	}
	return asked, "", nil
}

// pass reports whether nothing keeps the call from executing.
func (e *Engine) pass(ctx context.Context, call *Call, aside []Question) (bool, error) {
	if len(aside) == 0 && call.Edited == nil {
		return true, nil
	}
	notes, passed, err := e.Asker.Pass(ctx, call, aside)
	if _, edited := errors.AsType[*Edited](err); edited || err != nil && len(aside) == 0 {
		return false, err
	}
	if err != nil {
		return false, &hookRefusal{aside[0].Hook, refusal.From(err)}
	}
	if !passed {
		return false, nil
	}
	call.Notes = append(call.Notes, notes...)
	for _, q := range aside {
		call.asked = append(call.asked, q.Hook)
		if q.Refusal.Code() == refusal.MissingOrInvalidIntent {
			call.Untracked = true // SPEC 9: recorded so
		}
	}
	return true, nil
}

// gate runs the hooks of one stage. The first refusal stops; an askable failure is put aside where somebody can be asked.
func (e *Engine) gate(ctx context.Context, stage Stage, call *Call, aside *[]Question) error {
	call.enter(PartGate)
	for _, step := range e.Gate {
		if step.Stage != stage {
			continue
		}
		d := step.decide(ctx, call)
		if call.Effects.Preview && d.verdict == asked {
			d = d.Noted()
		}
		call.judgedBy(step, d)
		switch d.verdict {
		case allowed:
			call.Notes = append(call.Notes, d.notes...)
		case asked:
			for _, q := range d.questions(step.Hook.Name()) {
				if d.policy == PolicyRefuse || e.Asker == nil || !e.Asker.CanAsk(call, q) {
					return &hookRefusal{q.Hook, q.Refusal}
				}
				call.elicits = call.elicits || d.policy == PolicyElicit
				*aside = append(*aside, q)
			}
		default:
			return &hookRefusal{step.Hook.Name(), d.checks[0].Refusal}
		}
	}
	return nil
}

// withAside refuses with the failure that was put aside first and names the later one without its content: nobody is
// asked about a call that would fail anyway, and a path that is not allowed must not have its content quoted. After a
// yes the later one is what stands in the way.
func withAside(aside []Question, answered string, later error) error {
	if len(aside) == 0 {
		return later
	}
	if answered != "" {
		return &hookRefusal{refusedBy(later), refusal.From(later).With("approved_before", answered)}
	}
	first := aside[0]
	also := refusal.From(later)
	return &hookRefusal{first.Hook, first.Refusal.With("also", []refusal.Code{also.Code()}).
		Suggest("Nobody was asked, because the call would fail anyway with %s: mend that first (%s), then make the call again to have the operator asked.", also.Code(), also.Hint())}
}

// staleFirst prefers staleness over a plan that does not fit: a diff made from
// lines that have changed since fails because of that change.
func (e *Engine) staleFirst(call *Call, err error) error {
	if e.Stale != nil {
		if stale := e.Stale(call); stale != nil {
			return stale.With("also", []refusal.Code{refusal.From(err).Code()})
		}
	}
	return err
}
