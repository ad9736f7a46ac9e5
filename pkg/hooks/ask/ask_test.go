package ask_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	intents = "intents:\n  - {id: I, name: One, status: IN_PROGRESS, owned_scope: [src/**]}\n  - {id: J, name: Two, status: IN_PROGRESS, owned_scope: [lib/**]}\n"
	over    = "intents:\n  - {id: I, name: One, status: DONE, owned_scope: [src/**]}\n"
)

// world is a service on a store of its own, and the ledger that it writes.
type world struct {
	t *testing.T
	*ask.Service
	file    string
	intents *intent.Store
	during  approval.Decision // what the inbox answers once it is asked
	failing error             // why no answer can be recorded
	asked   string            // the id of the last question
}

func (w *world) Asked(_ *hooks.Call, d record.Decision, _ string) {
	if w.asked = d.Approval; w.during != "" {
		w.answer(w.during)
	}
}
func (w *world) Answered(context.Context, *hooks.Call, record.Decision, string) error {
	return w.failing
}

func (w *world) answer(d approval.Decision) {
	w.t.Helper()
	_, _, err := w.Store.Answer(w.asked, approval.Answer{Decision: d, Reason: "in \u202ewords", By: "op", Via: approval.Inbox})
	check.OK(w.t, err)
}

func newWorld(t *testing.T, userDir string) *world {
	dir := t.TempDir()
	check.Write(t, dir, ".orchestration/active_intents.yaml", intents)
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	w := &world{t: t, file: filepath.Join(dir, ".orchestration/active_intents.yaml"), intents: intent.Open(root)}
	// Nobody waits: what is to be answered is when it is asked for.
	w.Service = ask.New(ask.Options{Store: approval.Open(root, approval.Options{UserDir: userDir}), Recorder: w, Lifetime: time.Minute})
	return w
}

// call is a change of docs/a under I that the scope stands against, to be asked about in any way.
func (w *world) call(with ...func(*hooks.Call)) *hooks.Call {
	set := check.Value(w.intents.Load())(w.t)
	c := &hooks.Call{Tool: "write_to_file", Class: hooks.Destructive, Intents: set, Arguments: []byte(`{"content":"x\n","path":"docs/a"}`)}
	c.Intent, _ = set.Get("I")
	c.Effects.Files = []*hooks.FileEffect{{Change: change.Change{Op: change.Created, Path: "docs/a", After: change.Version{Hash: "sha256:1", Bytes: []byte("x\n")}}}}
	for _, f := range with {
		f(c)
	}
	return c
}

// decide is what becomes of a call, as the engine asks: a code, "refused" where nobody can be asked, "asked in line", "yes",
// and "passed" with how.
func (w *world) decide(policy hooks.Policy, c *hooks.Call) string {
	paths := c.Effects.Files[0].Paths()
	q := hooks.Question{Hook: "scope", Policy: policy, Refusal: refusal.New(refusal.ScopeViolation, "out of scope").With("path", paths[0]), Paths: paths}
	if !w.CanAsk(c, q) {
		return "refused"
	}
	notes, passed, err := w.Pass(w.t.Context(), c, []hooks.Question{q})
	if err == nil && !passed {
		_, err = w.Ask(w.t.Context(), c, []hooks.Question{q})
	}
	inLine, isInLine := errors.AsType[*hooks.InLine](err)
	r, refused := refusal.As(err)
	switch {
	case isInLine:
		w.asked = inLine.State
		return "asked in line"
	case refused:
		return string(r.Code()) + " " + r.Reason()
	case passed && strings.Contains(notes[0], "grant"):
		return "passed by grant"
	case passed:
		return "passed once"
	}
	check.OK(w.t, err)
	return "yes"
}

func form(decision string, err error) func(*hooks.Call) {
	return func(c *hooks.Call) {
		c.Ways.Elicit = func(context.Context, hooks.Form) (hooks.Reply, error) { return hooks.Reply{Decision: decision}, err }
	}
}

func resumed(state, decision string) func(*hooks.Call) {
	return func(c *hooks.Call) {
		c.Ways.Return, c.Ways.Resumed = true, &hooks.Resumed{State: state, Read: func(hooks.Form) (hooks.Reply, error) {
			return hooks.Reply{Decision: decision}, nil
		}}
	}
}

func returns(c *hooks.Call)   { c.Ways.Return = true }
func content(c *hooks.Call)   { c.Effects.Files[0].After.Hash = "sha256:2" }
func elsewhere(c *hooks.Call) { c.Effects.Files[0].Path = "docs/b" }
func principal(c *hooks.Call) { c.Caller.Principal = "eve" }
func under(id string) func(*hooks.Call) {
	return func(c *hooks.Call) { c.Intent, _ = c.Intents.Get(id) }
}

// Each row is a first call, what the operator then says in the inbox, and a second call.
func TestAsking(t *testing.T) {
	t.Parallel()
	const required, rejected = "APPROVAL_REQUIRED out of scope", "APPROVAL_REJECTED The operator said no to this call"
	for name, r := range map[string]struct {
		policy      hooks.Policy
		first       func(*hooks.Call)
		with        func(*world)
		want        string
		says        approval.Decision
		between     func(*world)
		second      func(*hooks.Call)
		then, third string // what becomes of the second call, and of it once more
	}{
		"not to be asked about":          {policy: hooks.PolicyRefuse, want: "refused"},
		"in line, without forms":         {policy: hooks.PolicyElicit, want: "refused"},
		"in line, by a form":             {policy: hooks.PolicyElicit, first: form("approve_once", nil), want: "yes", second: returns, then: "passed once", third: "asked in line"},
		"a form that says no":            {policy: hooks.PolicyElicit, first: form("deny", nil), want: rejected, second: returns, then: rejected},
		"a form put away":                {policy: hooks.PolicyElicit, first: form("", nil), want: required},
		"a form that fails":              {policy: hooks.PolicyElicit, first: form("", errors.New("gone")), want: required},
		"a form for the intent":          {policy: hooks.PolicyElicit, first: form("approve_for_intent", nil), want: "yes", then: "passed by grant", third: "passed by grant"},
		"a form, and no record of it":    {first: form("approve_once", nil), with: func(w *world) { w.failing = errors.New("full") }, want: "LEDGER_UNAVAILABLE", then: required},
		"the inbox, not answered":        {want: required, then: required},
		"the inbox, answered meanwhile":  {with: func(w *world) { w.during = approval.Once }, want: "yes", then: "passed once"},
		"the inbox, denied meanwhile":    {with: func(w *world) { w.during = approval.Deny }, want: rejected + ", in these words: “in \\u202ewords”", then: rejected},
		"approved once":                  {want: required, says: approval.Once, then: "passed once", third: required},
		"denied":                         {want: required, says: approval.Deny, then: rejected, third: rejected},
		"approved, with another content": {want: required, says: approval.Once, second: content, then: required},
		"approved, at another path":      {want: required, says: approval.Once, second: elsewhere, then: required},
		"approved, for somebody else":    {want: required, says: approval.Once, second: principal, then: required},
		"approved, under another intent": {want: required, says: approval.Once, second: under("J"), then: required},
		"approved, the intent changed": {want: required, says: approval.Once, then: required, between: func(w *world) {
			check.OK(w.t, os.WriteFile(w.file, []byte(strings.Replace(intents, "src", "source", 1)), 0o600))
		}},
		"granted, with any content":       {want: required, says: approval.ForIntent, second: content, then: "passed by grant", third: "passed by grant"},
		"granted, at another path":        {want: required, says: approval.ForIntent, second: elsewhere, then: required},
		"granted, for somebody else":      {want: required, says: approval.ForIntent, second: principal, then: required},
		"granted, under another intent":   {want: required, says: approval.ForIntent, second: under("J"), then: required},
		"no place to wait in":             {first: func(c *hooks.Call) { c.Ways.Aside = func(func()) error { return errors.New("full") } }, want: required},
		"through the result, not resumed": {first: returns, want: "asked in line", second: returns, then: "asked in line"},
		"through the result, made up":     {first: resumed("x", "approve_once"), want: "asked in line"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			w.Wait = time.Minute
			if r.want == required || r.first == nil {
				w.Wait = 0
			}
			if r.with != nil {
				r.with(w)
			}
			if r.policy == "" {
				r.policy = hooks.PolicyAsk
			}
			change := func(f func(*hooks.Call)) *hooks.Call {
				if f == nil {
					return w.call()
				}
				return w.call(f)
			}
			starts(t, w.decide(r.policy, change(r.first)), r.want)
			if r.says != "" {
				w.answer(r.says)
			}
			if r.between != nil {
				r.between(w)
			}
			w.Wait, w.during = 0, ""
			for _, want := range []string{r.then, r.third} {
				if want != "" {
					starts(t, w.decide(r.policy, change(r.second)), want)
				}
			}
		})
	}
}

func starts(t *testing.T, got, want string) {
	t.Helper()
	check.That(t, strings.HasPrefix(got, want), "got %q, want %q", got, want)
}

// A state that goes through a client is good once, for the call that it was made for.
func TestResumedStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	check.Equal(t, w.decide(hooks.PolicyElicit, w.call(returns)), "asked in line")
	state := w.asked
	check.Equal(t, w.decide(hooks.PolicyElicit, w.call(resumed(state, "approve_once"), elsewhere)), "asked in line", "another call")
	check.Equal(t, w.decide(hooks.PolicyElicit, w.call(resumed(state, "approve_once"))), "asked in line", "redeemed by another call")
	check.Equal(t, w.decide(hooks.PolicyElicit, w.call(resumed(w.asked, "approve_once"))), "yes")
	check.Equal(t, w.decide(hooks.PolicyElicit, w.call(returns)), "passed once")
}

// Grants end with their intent, be it ended by hand or by a step.
func TestGrantsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world){
		"by hand": func(w *world) { check.OK(w.t, os.WriteFile(w.file, []byte(over), 0o600)) },
		"by a step": func(w *world) {
			note := &hooks.Note{IntentID: "I", Detail: map[string]any{"status": "BLOCKED"}}
			check.OK(w.t, w.After(w.t.Context(), nil, &hooks.Outcome{Record: note}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			w.decide(hooks.PolicyAsk, w.call())
			w.answer(approval.ForIntent)
			check.Equal(t, w.decide(hooks.PolicyElicit, w.call()), "passed by grant", "where the client cannot be asked")
			end(w)
			starts(t, w.decide(hooks.PolicyAsk, w.call()), "APPROVAL_REQUIRED")
			check.Equal(t, len(check.Value(w.Store.Grants())(t)), 0, "grants")
		})
	}
}

// What is protected, is no change of files, or has no intent can be approved once only.
func TestOnlyOnce(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*hooks.Call){
		"a protected path": func(c *hooks.Call) { c.Effects.Files[0].Protection = workspace.ProtectProgramConfig },
		"no intent":        func(c *hooks.Call) { c.Intent = nil },
		"a selection":      func(c *hooks.Call) { c.Intent, c.Class, c.Effects.Selects = nil, hooks.Governance, "I" },
		"a proposal": func(c *hooks.Call) {
			c.Class, c.Effects.Proposes = hooks.Governance, &hooks.Proposal{Paths: []string{"docs/**"}}
		},
	} {
		w := newWorld(t, t.TempDir())
		starts(t, w.decide(hooks.PolicyAsk, w.call(with)), "APPROVAL_REQUIRED")
		_, _, err := w.Store.Answer(w.asked, approval.Answer{Decision: approval.ForIntent, Via: approval.Inbox})
		check.That(t, errors.Is(err, approval.ErrNotGrantable), "%s: %v", name, err)
		w.answer(approval.Once)
		check.Equal(t, w.decide(hooks.PolicyAsk, w.call(with)), "passed once", "%s", name)
	}
}

// Only who asked can go on with a request, when it is answered, and once.
func TestResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	sessions := session.Open(nil, session.Options{})
	defer sessions.Close()
	in := func(c *hooks.Call) {
		c.Session, _, _ = sessions.Select(t.Context(), session.Caller{Connection: "c"}, "", "I", "")
	}
	resume := func(c *hooks.Call) string {
		if _, _, err := w.Resume(t.Context(), c, w.asked); err != nil {
			return string(refusal.From(err).Code())
		}
		return "goes on"
	}
	w.decide(hooks.PolicyAsk, w.call(in))
	check.Equal(t, resume(w.call(in)), "APPROVAL_REQUIRED", "not answered")
	w.answer(approval.Once)
	check.Equal(t, resume(w.call()), "FILE_NOT_FOUND", "in another session")
	check.Equal(t, resume(w.call(in, principal)), "FILE_NOT_FOUND", "by somebody else")
	check.Equal(t, resume(w.call(in)), "goes on")
	check.Equal(t, w.decide(hooks.PolicyAsk, w.call(in)), "passed once")
	check.Equal(t, resume(w.call(in)), "FILE_NOT_FOUND", "used")
}

// A server that shares no requests with the operator's commands says so.
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := w.call()
	_, err := w.Ask(t.Context(), c, []hooks.Question{{Hook: "scope", Policy: hooks.PolicyAsk, Refusal: refusal.New(refusal.ScopeViolation, "out of scope")}})
	r, _ := refusal.As(err)
	check.That(t, r != nil && strings.Contains(r.Hint()+r.Suggestion(), "HOME"), "%v", err)
}
