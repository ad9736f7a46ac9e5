package tools

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// onTarget is a call on the one file or directory that it names.
type onTarget struct {
	target *workspace.Target // nil where the effect has a problem
	effect *hooks.FileEffect
}

func (c *onTarget) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{c.effect}}
}

func (c *onTarget) Close() error { return c.target.Close() }

// reply is the outcome of an answer, with its rendering.
type reply struct {
	outcome    hooks.Outcome
	text       string
	structured any
}

// answer is a call that plans nothing: what it has to say is found out when it is carried out.
type answer struct {
	// onTarget is the directory that it looks at, if it does.
	onTarget
	// selects is the intent that it selects, if it does.
	selects string
	run     func(ctx context.Context) (*reply, error)
	// prepare gives another way than run itself, or nil for run; it may be nil.
	prepare func(run func(context.Context) (*hooks.Outcome, error)) (hooks.Prepared, error)
	reply   *reply
}

func (a *answer) Effects() hooks.Effects {
	if a.effect != nil {
		return a.onTarget.Effects()
	}
	return hooks.Effects{Selects: a.selects}
}

func (a *answer) Plan(context.Context) (hooks.Planned, error) { return a, nil }

func (a *answer) Prepare(context.Context) (hooks.Prepared, error) {
	if a.prepare != nil {
		if prepared, err := a.prepare(a.carryOut); prepared != nil || err != nil {
			return prepared, err
		}
	}
	return hooks.Immediate(a.carryOut), nil
}

func (a *answer) carryOut(ctx context.Context) (*hooks.Outcome, error) {
	r, err := a.run(ctx)
	if err != nil {
		return nil, err
	}
	a.reply = r
	return &r.outcome, nil
}

func (a *answer) Result(*hooks.Outcome) (hooks.Result, error) {
	return hooks.NewResult(a.reply.text, a.reply.structured)
}
