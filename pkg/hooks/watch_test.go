package hooks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// watching notes what it is told of one call, and fails the test where nothing may be told any more.
type watching struct {
	t     *testing.T
	call  *hooks.Call
	seen  []string
	ended bool
}

func (w *watching) note(what string) {
	check.That(w.t, !w.ended, "%s after the end", what)
	w.seen = append(w.seen, what)
}

func (w *watching) Enter(p hooks.Part)          { w.note(string(p)) }
func (w *watching) Judged(step, verdict string) { w.note(step + " " + verdict) }
func (w *watching) End(r hooks.Result, hook string) {
	code := ""
	if r.Refusal != nil {
		code = " " + string(r.Refusal.Code()) + " by " + hook
	}
	w.note("end" + code)
	w.ended = true
}

// A watch sees each part of a call once it comes to it, and its one end, however that comes.
func TestWatch(t *testing.T) {
	judged := func(r *rig) { r.gate(hooks.AtPlan, "rule", hooks.Allow()) }
	for name, c := range map[string]struct {
		with func(*rig)
		tool string
		want string
	}{
		"a change": {judged, "probe", "targets, gate, plan, gate, rule allow, prepare, journal, execute, ledger, post-hooks, end"},
		"a refusal": {func(r *rig) {
			r.gate(hooks.AtTargets, "scope", hooks.Refuse(no(refusal.ScopeViolation)))
			judged(r)
		}, "probe", "targets, gate, scope refuse, end SCOPE_VIOLATION by scope"},
		"a plan that fails": {func(r *rig) { r.tool.planErr = no(refusal.DiffNotApplied) }, "probe", "targets, gate, plan, end DIFF_NOT_APPLIED by "},
		"a yes": {func(r *rig) {
			r.ask.can = true
			r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)))
		}, "probe", "targets, gate, scope ask, plan, gate, approval, targets, gate, scope ask, plan, gate, prepare, journal, execute, ledger, post-hooks, end"},
		"a no": {func(r *rig) {
			r.ask.can, r.ask.answer = true, no(refusal.ApprovalRejected)
			r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)))
		}, "probe", "targets, gate, scope ask, plan, gate, approval, end APPROVAL_REJECTED by scope"},
		"another server died": {func(r *rig) { r.rec.begins = []error{hooks.ErrUnsettled} }, "probe",
			"targets, gate, plan, gate, prepare, journal, prepare, journal, execute, ledger, post-hooks, end"},
		"no record":        {func(r *rig) { r.rec.fail = true }, "probe", "targets, gate, plan, gate, prepare, journal, execute, ledger, end LEDGER_UNAVAILABLE by "},
		"a tool panics":    {func(r *rig) { r.tool.panics = true }, "probe", "targets, gate, plan, gate, prepare, journal, execute, end INTERNAL_ERROR by "},
		"a tool fails":     {func(r *rig) { r.tool.runErr = errors.New("x") }, "probe", "targets, gate, plan, gate, prepare, journal, execute, end INTERNAL_ERROR by "},
		"there is no tool": {func(*rig) {}, "other", "end INVALID_ARGUMENTS by "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.with(r)
			type key struct{}
			w := &watching{t: t}
			r.opts.Watch = func(ctx context.Context, call *hooks.Call, behind hooks.Watch) (context.Context, hooks.Watch) {
				check.That(t, w.call == nil && behind == nil && call.Tool == c.tool, "watched twice, or %v", call)
				w.call = call
				return context.WithValue(ctx, key{}, true), w
			}
			r.opts.Observers = []hooks.PostHook{hooks.PostFunc("sees", func(ctx context.Context, call *hooks.Call, o *hooks.Outcome) error {
				check.That(t, ctx.Value(key{}) != nil && call == w.call && call.Outcome() == o, "another call, context or outcome")
				return nil
			})}
			r.engine().Do(t.Context(), hooks.Request{Tool: c.tool, Arguments: hooks.NoArguments()})
			check.Equal(t, strings.Join(w.seen, ", "), c.want, "seen")
		})
	}
}

// What goes on behind the result of a call has a watch of its own, and none where the call had none.
func TestWatchOfWhatGoesOn(t *testing.T) {
	for _, watched := range []bool{true, false} {
		r := newRig(t)
		var all []*watching
		if watched {
			r.opts.Watch = func(ctx context.Context, call *hooks.Call, behind hooks.Watch) (context.Context, hooks.Watch) {
				check.That(t, (behind == nil) == (len(all) == 0), "behind %v", behind)
				all = append(all, &watching{t: t, call: call})
				return ctx, all[len(all)-1]
			}
		}
		var call *hooks.Call
		r.addGate(hooks.AtPlan, hooks.PreFunc("keeps", func(_ context.Context, c *hooks.Call) (hooks.Decision, error) {
			call = c
			return hooks.Allow(), nil
		}))
		r.do()
		planned := check.Value(r.tool.Plan(t.Context()))(t)
		r.engine().Continue(t.Context(), call.Detached(), planned)
		if watched {
			check.Equal(t, len(all), 2, "watches")
			check.Equal(t, strings.Join(all[1].seen, ", "), "prepare, journal, execute, ledger, post-hooks, end", "seen")
		}
	}
}
