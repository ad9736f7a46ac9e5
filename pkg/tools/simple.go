package tools

import (
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// reply is the outcome of a tool that touches no file of the workspace, with
// its rendering.
type reply struct {
	outcome    hooks.Outcome
	text       string
	structured any
}

// simple is a tool without targets: it answers from what the server knows.
type simple[A any] struct {
	spec hooks.Spec
	args *arguments
	run  func(ctx context.Context, call *hooks.Call, args A) (*reply, error)
	// selects gives the intent that a call selects; nil for tools that select none.
	selects func(args A) string
	// prepare gives another way than run itself, or nil for run; it may be nil.
	prepare func(args A, run func(context.Context) (*hooks.Outcome, error)) (hooks.Prepared, error)
}

func newSimple[A any](spec hooks.Spec, run func(context.Context, *hooks.Call, A) (*reply, error)) *simple[A] {
	return &simple[A]{spec: spec, args: &arguments{name: spec.Name, source: spec.InputSchema}, run: run}
}

func (t *simple[A]) selecting(id func(args A) string) *simple[A] {
	t.selects = id
	return t
}

func (t *simple[A]) Spec() hooks.Spec { return t.spec }

func (t *simple[A]) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	s := &simpleCall[A]{tool: t, call: call}
	if err := t.args.decode(raw, &s.args); err != nil {
		return nil, err
	}
	return s, nil
}

type simpleCall[A any] struct {
	tool  *simple[A]
	call  *hooks.Call
	args  A
	reply *reply
}

func (s *simpleCall[A]) Effects() hooks.Effects {
	if s.tool.selects == nil {
		return hooks.Effects{}
	}
	return hooks.Effects{Selects: s.tool.selects(s.args)}
}
func (s *simpleCall[A]) Plan(context.Context) (hooks.Planned, error) { return s, nil }
func (s *simpleCall[A]) Close() error                                { return nil }
func (s *simpleCall[A]) Result(o *hooks.Outcome) (hooks.Result, error) {
	return encodeResult(s.reply.text, s.reply.structured)
}

func (s *simpleCall[A]) Prepare(context.Context) (hooks.Prepared, error) {
	if s.tool.prepare != nil {
		if prepared, err := s.tool.prepare(s.args, s.run); prepared != nil || err != nil {
			return prepared, err
		}
	}
	return hooks.Immediate(s.run), nil
}

func (s *simpleCall[A]) run(ctx context.Context) (*hooks.Outcome, error) {
	r, err := s.tool.run(ctx, s.call, s.args)
	if err != nil {
		return nil, err
	}
	s.reply = r
	return &r.outcome, nil
}
