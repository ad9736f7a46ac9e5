package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// stage is a tool that notes which of its steps were reached, and fails the test when one runs that must not.
type stage struct {
	t       *testing.T
	log     *[]string
	class   hooks.Class
	planErr error
	runErr  error
	panics  bool
	settled *settlement
	outcome *hooks.Outcome
	// elsewhere: another server does it, and no file changes.
	elsewhere bool
}

func (s *stage) note(step string) { *s.log = append(*s.log, step) }

func (s *stage) Spec() hooks.Spec { return hooks.Spec{Name: "probe", Class: s.class} }

func (s *stage) Decode(hooks.Arguments) (hooks.Decoded, error) { return s, nil }

func (s *stage) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	s.note("targets")
	return s, nil
}

func (s *stage) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{{Change: change.Change{Op: change.Created, Path: "a"}}}}
}

func (s *stage) Plan(context.Context) (hooks.Planned, error) {
	s.note("plan")
	return s, s.planErr
}

func (s *stage) Close() error { s.note("close"); return nil }

func (s *stage) Prepare(context.Context) (hooks.Prepared, error) {
	s.note("prepare")
	s.outcome = &hooks.Outcome{Files: []hooks.FileOutcome{{Change: change.Change{Op: change.Created, Path: "a", After: change.Version{Hash: "sha256:x"}}}}}
	if s.elsewhere {
		s.outcome = &hooks.Outcome{Sent: true, Record: &hooks.Note{Kind: "mutation"}}
	}
	return s, nil
}

func (s *stage) Pending() *hooks.Pending { return &hooks.Pending{Outcome: s.outcome} }

func (s *stage) Discard() error { s.note("discard"); return nil }

func (s *stage) Commit(context.Context) (*hooks.Outcome, error) {
	s.note("commit")
	if s.panics {
		panic("tool")
	}
	if s.settled != nil {
		s.outcome.Settlement = s.settled
	}
	return s.outcome, s.runErr
}

func (s *stage) Result(o *hooks.Outcome) (hooks.Result, error) {
	s.note("result")
	raw, err := json.Marshal(map[string]any{"record": o.RecordID, "warnings": o.Warnings})
	return hooks.Result{Text: "done", Structured: raw}, err
}

type settlement struct {
	log  *[]string
	fail bool
}

func (s *settlement) Rollback(context.Context) error {
	*s.log = append(*s.log, "rollback")
	if s.fail {
		return errors.New("a foreign writer came in between")
	}
	return nil
}
func (s *settlement) Close() error { *s.log = append(*s.log, "settle"); return nil }

// recorder is a ledger in memory.
type recorder struct {
	log     *[]string
	fail    bool
	begins  []error // what Begin answers, nil once they are used up
	refused []string
}

func (r *recorder) Settle(context.Context) error { return nil }

func (r *recorder) Begin(_ context.Context, call *hooks.Call, pending *hooks.Pending) (hooks.Inflight, error) {
	*r.log = append(*r.log, "begin")
	if len(r.begins) > 0 {
		err := r.begins[0]
		r.begins = r.begins[1:]
		return nil, err
	}
	if pending.Outcome.Class.Class == "" {
		return nil, errors.New("a record needs the class before it is drafted")
	}
	return &entry{r, call}, nil
}

// entry is a journal's entry in memory.
type entry struct {
	*recorder
	call *hooks.Call
}

func (e *entry) Record(ctx context.Context, outcome *hooks.Outcome) (string, error) {
	return e.recorder.Record(ctx, e.call, outcome)
}
func (e *entry) Done() { *e.log = append(*e.log, "done") }
func (e *entry) Abort(back func() error) error {
	err := back()
	if err != nil {
		*e.log = append(*e.log, "kept")
		return err
	}
	*e.log = append(*e.log, "aborted")
	return nil
}

func (r *recorder) Record(context.Context, *hooks.Call, *hooks.Outcome) (string, error) {
	*r.log = append(*r.log, "record")
	if r.fail {
		return "", errors.New("disk full")
	}
	return "rec-1", nil
}

func (r *recorder) Refused(_ *hooks.Call, hook string, why *refusal.Refusal) {
	r.refused = append(r.refused, hook+":"+string(why.Code()))
}

// asker answers every question the same way. A yes lets one call pass, and only one with the same questions.
type asker struct {
	t      *testing.T
	log    *[]string
	can    bool
	answer error
	yes    string // the questions that were answered with yes and not used
	lapsed int
	before func() // what happens while the operator thinks
}

func (a *asker) CanAsk(*hooks.Call, hooks.Question) bool { return a.can }

func names(q []hooks.Question) string {
	var hooks []string
	for _, one := range q {
		hooks = append(hooks, one.Hook+fmt.Sprint(one.Paths))
	}
	return strings.Join(hooks, ",")
}

func (a *asker) Pass(_ context.Context, _ *hooks.Call, q []hooks.Question) ([]string, bool, error) {
	if a.yes == "" || a.yes != names(q) {
		return nil, false, nil
	}
	a.yes = ""
	return []string{"approved"}, true, nil
}

func (a *asker) Ask(_ context.Context, call *hooks.Call, q []hooks.Question) (string, error) {
	check.That(a.t, len(q) != 0, "asked about nothing")
	for _, one := range q {
		*a.log = append(*a.log, "ask "+one.Hook)
	}
	if a.before != nil {
		a.before()
	}
	if a.answer != nil {
		return "", a.answer
	}
	a.yes = names(q)
	return "id", nil
}

func (a *asker) Lapse(string) { a.lapsed++; a.yes = "" }

// rig is an engine with one tool and everything around it faked.
type rig struct {
	t    *testing.T
	log  []string
	tool *stage
	rec  *recorder
	ask  *asker
	opts hooks.Options
	made *hooks.Engine
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	r.tool = &stage{t: t, log: &r.log, class: hooks.Destructive}
	r.rec = &recorder{log: &r.log}
	r.ask = &asker{t: t, log: &r.log}
	sessions := session.Open(nil, session.Options{})
	t.Cleanup(func() { sessions.Close() })
	r.opts = hooks.Options{Sessions: sessions, Recorder: r.rec, Asker: r.ask, Logger: zerolog.Nop()}
	return r
}

// engine is made when it is needed first: what it is made of is complete then.
func (r *rig) engine() *hooks.Engine {
	if r.made == nil {
		r.made = hooks.NewEngine(r.opts)
		check.OK(r.t, r.made.AddTool(r.tool))
	}
	return r.made
}

func (r *rig) addGate(stage hooks.Stage, h hooks.PreHook) {
	r.opts.Gate = append(r.opts.Gate, hooks.Step{Stage: stage, Hook: h})
}

func (r *rig) gate(stage hooks.Stage, name string, d hooks.Decision) {
	r.addGate(stage, hooks.PreFunc(name, func(context.Context, *hooks.Call) (hooks.Decision, error) {
		r.log = append(r.log, name)
		return d, nil
	}))
}

func (r *rig) do() hooks.Result {
	return r.engine().Do(r.t.Context(), hooks.Request{Tool: "probe", Arguments: hooks.NoArguments()})
}

func (r *rig) code() string {
	r.t.Helper()
	result := r.do()
	var o refusal.Object
	err := json.Unmarshal(result.Structured, &o)
	check.Must(r.t, err == nil && result.IsError, "no refusal: %+v %v", result, err)
	return string(o.ErrorType)
}

func (r *rig) want(steps ...string) {
	r.t.Helper()
	check.That(r.t, slices.Equal(r.log, steps), "steps\n got %v\nwant %v", r.log, steps)
}

func no(code refusal.Code) *refusal.Refusal { return refusal.New(code, "no") }
