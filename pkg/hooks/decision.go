package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Policy is how an askable failure may be put to the operator (SPEC 9).
type Policy string

const (
	// PolicyRefuse: nobody is asked.
	PolicyRefuse Policy = "refuse"
	// PolicyElicit: asked if this client can ask in line.
	PolicyElicit Policy = "elicit"
	// PolicyAsk: asked in whichever way there is.
	PolicyAsk Policy = "ask"
)

type verdict int

const (
	undecided verdict = iota
	allowed
	asked
	refused
)

// Decision is what a pre-hook came to. The zero value decides nothing and is
// treated as a failed hook: only Allow, Ask and Refuse make a valid one.
type Decision struct {
	verdict verdict
	notes   []string
	policy  Policy
	checks  []Check // what refuses, or is asked about
}

// Allow lets the call go on. Notes appear in the result and in the ledger.
func Allow(notes ...string) Decision { return Decision{verdict: allowed, notes: notes} }

// Refuse stops the call. A nil refusal counts as a failed hook.
func Refuse(r *refusal.Refusal) Decision {
	return Decision{verdict: refused, checks: []Check{{Refusal: r}}}
}

// Ask puts the failure aside to be asked about, or stops the call with r where nobody can be asked.
func Ask(policy Policy, r *refusal.Refusal) Decision {
	return Decision{verdict: asked, policy: policy, checks: []Check{{Refusal: r}}}
}

// About names all paths that an asking decision of Ask is about, as resolved: a hook that fails at several says so, or
// a yes for one would hide the others. Without it the decision is about everything that the call changes.
func (d Decision) About(paths ...string) Decision {
	d.checks[0].paths = paths
	return d
}

// Seen is the decision about a call of the operator, who has seen what it does:
// what would be put to them is a note. Everything else stands.
func (d Decision) Seen() Decision {
	if d.verdict != asked || d.incomplete() {
		return d
	}
	var notes []string
	for _, q := range d.questions("") {
		notes = append(notes, q.Refusal.Reason()+" The operator let it through.")
	}
	return Allow(notes...)
}

// Noted is the decision about what has happened already: what stands against it is a note.
func (d Decision) Noted() Decision {
	if d.verdict == allowed || d.verdict == undecided || d.incomplete() {
		return d
	}
	var notes []string
	for _, q := range d.questions("") {
		notes = append(notes, string(q.Refusal.Code())+": "+q.Refusal.Reason())
	}
	return Allow(notes...)
}

// Check is one of several failures of one hook.
type Check struct {
	// Name tells it from the hook's others.
	Name string
	// Refusal is why; its detail "path", if it has one, is what it is about.
	Refusal *refusal.Refusal

	paths []string
}

// AskEach puts several failures aside. Each becomes a question of its own, in the name of the hook, a slash and the
// check's name: an answer to one is none to another. Without checks it decides nothing.
func AskEach(policy Policy, checks ...Check) Decision {
	if len(checks) == 0 {
		return Decision{}
	}
	for i, c := range checks {
		if c.Refusal == nil {
			continue
		}
		if path, ok := c.Refusal.Detail("path").(string); ok {
			checks[i].paths = []string{path}
		}
	}
	return Decision{verdict: asked, policy: policy, checks: checks}
}

// questions are what an asking decision of a hook puts aside.
func (d Decision) questions(hook string) (all []Question) {
	for _, c := range d.checks {
		name := hook
		if c.Name != "" {
			name += "/" + c.Name
		}
		all = append(all, Question{Hook: name, Policy: d.policy, Refusal: c.Refusal, Paths: c.paths})
	}
	return all
}

// incomplete reports whether a decision that is not to allow lacks its reason.
func (d Decision) incomplete() bool {
	return slices.ContainsFunc(d.checks, func(c Check) bool { return c.Refusal == nil })
}

// PreHook judges a call before it executes.
//
// Before must not change the call and must be idempotent; ctx ends when the
// hook's time is over. An error refuses with HOOK_BLOCKED.
type PreHook interface {
	Name() string
	Before(ctx context.Context, call *Call) (Decision, error)
}

// PostHook observes a call that executed. An error becomes a warning in the result; it never hides the outcome.
type PostHook interface {
	Name() string
	After(ctx context.Context, call *Call, outcome *Outcome) error
}

// Stage is where in a call's life a pre-hook runs.
type Stage int

const (
	// AtTargets: paths and command are known, nothing has been read.
	AtTargets Stage = iota
	// AtPlan: contents and hunks are known, nothing has been changed.
	AtPlan
)

// Question is an askable failure that was put aside.
type Question struct {
	Hook    string
	Policy  Policy
	Refusal *refusal.Refusal
	// Paths are what it is about, as resolved; empty for everything that the call changes, or its command.
	Paths []string
}

// Asker puts questions to the operator.
type Asker interface {
	// CanAsk reports whether somebody can be asked about q in this call, or has answered already.
	CanAsk(call *Call, q Question) bool
	// Pass reports whether the operator has let this very call through, by an answer that still stands, and notes how.
	// It is asked after all checks and right before the call executes: an answer for one call is used up by it. An
	// error, a refusal, means that the operator has said no; an *Edited, that another call is let through in its place. A
	// call that is such a one is asked about also where no question was put aside, because it needs its answer.
	Pass(ctx context.Context, call *Call, questions []Question) (notes []string, passed bool, err error)
	// Ask puts the questions, and waits. Without an error the operator has answered yes, and the call is judged anew
	// from its beginning: what Pass then finds is an approval of what was shown, and of nothing else. The answer's id
	// is for Lapse. An error is a refusal, an *InLine or an *Edited.
	Ask(ctx context.Context, call *Call, questions []Question) (id string, err error)
	// Lapse takes back an answer that the call came back with and did not use.
	Lapse(id string)
}

// preFunc adapts a function.
type preFunc struct {
	name string
	fn   func(context.Context, *Call) (Decision, error)
}

func (h preFunc) Name() string                                          { return h.name }
func (h preFunc) Before(ctx context.Context, c *Call) (Decision, error) { return h.fn(ctx, c) }

// PreFunc makes a pre-hook of a function.
func PreFunc(name string, fn func(context.Context, *Call) (Decision, error)) PreHook {
	return preFunc{name, fn}
}

type postFunc struct {
	name string
	fn   func(context.Context, *Call, *Outcome) error
}

func (h postFunc) Name() string { return h.name }
func (h postFunc) After(ctx context.Context, c *Call, outcome *Outcome) error {
	return h.fn(ctx, c, outcome)
}

// PostFunc makes a post-hook of a function.
func PostFunc(name string, fn func(context.Context, *Call, *Outcome) error) PostHook {
	return postFunc{name, fn}
}

// decide runs one pre-hook so that whatever it does comes back as a decision to allow, ask or refuse with a complete refusal.
func (s Step) decide(ctx context.Context, call *Call) Decision {
	if s.timeout == 0 {
		return s.run(ctx, call)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	done := make(chan Decision, 1)
	go func() { done <- s.run(ctx, call) }()
	select {
	case d := <-done:
		return d
	case <-ctx.Done():
		if context.Cause(ctx) == context.DeadlineExceeded {
			return s.blocked(fmt.Sprintf("gave no answer within %s", s.timeout))
		}
		return Refuse(refusal.New(refusal.Cancelled, "the call was cancelled while hook "+s.Hook.Name()+" was judging it"))
	}
}

func (s Step) run(ctx context.Context, call *Call) (d Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = s.blocked(fmt.Sprintf("panicked: %v", p))
		}
	}()
	d, err := s.Hook.Before(ctx, call)
	switch {
	case err != nil:
		return s.blocked("failed: " + err.Error())
	case d.verdict == undecided:
		return s.blocked("decided nothing")
	case d.incomplete():
		return s.blocked("refused without a reason")
	}
	return d
}

func (s Step) blocked(what string) Decision {
	return Refuse(refusal.Newf(refusal.HookBlocked, "Hook %s %s; the call was not carried out.", s.Hook.Name(), what).
		With("hook", s.Hook.Name()))
}
