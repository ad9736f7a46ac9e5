package ask_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// edits has the operator put another content in the place of the last one that was asked for.
func (w *world) edits() {
	w.t.Helper()
	r := check.Value(w.Store.Get(w.asked))(w.t)
	edit := check.Value(approval.NewEdit(r, "made"))(w.t)
	_, _, err := w.Store.Answer(w.asked, approval.Answer{Decision: approval.Once, Edit: &edit, By: "op", Via: approval.Inbox})
	check.OK(w.t, err)
}

// instead is what a call comes to: another in its place, or a code.
func (w *world) instead(c *hooks.Call) (*hooks.Edited, refusal.Code) {
	w.t.Helper()
	_, passed, err := w.Pass(w.t.Context(), c, outOfScope("docs/a"))
	check.That(w.t, !passed, "the call itself passes")
	edited, is := errors.AsType[*hooks.Edited](err)
	if is || err == nil {
		return edited, ""
	}
	return nil, refusal.From(err).Code()
}

func outOfScope(path string) []hooks.Question {
	return []hooks.Question{{Hook: "scope", Policy: hooks.PolicyAsk, Refusal: refusal.New(refusal.ScopeViolation, "out of scope"), Paths: []string{path}}}
}

// What an edit lets pass is the call that was made of the asked one, where nothing new stands against it and what the
// operator saw stands, once.
func TestEditLetsPass(t *testing.T) {
	t.Parallel()
	const passes, asked, busy = "passes", "is asked about", "BUSY"
	another := append(outOfScope("docs/a"), hooks.Question{Hook: "rules/r", Policy: hooks.PolicyAsk, Refusal: refusal.New(refusal.RuleViolation, "r")})
	for name, c := range map[string]struct {
		questions  []hooks.Question
		with       func(*hooks.Call)
		between    func(*world)
		want, then string
	}{
		"as it was made":         {questions: outOfScope("docs/a"), want: passes, then: busy},
		"at another path":        {questions: outOfScope("docs/b"), with: elsewhere, want: passes, then: busy},
		"without a question":     {want: passes, then: busy},
		"with another question":  {questions: another, want: asked, then: asked},
		"under another intent":   {questions: outOfScope("docs/a"), with: under("J"), want: asked},
		"after the file changed": {questions: outOfScope("docs/a"), with: func(c *hooks.Call) { c.Effects.Files[0].Before.Hash = "sha256:0" }, want: asked},
		"and none left to ask":   {with: func(c *hooks.Call) { c.Effects.Files[0].Before.Hash = "sha256:0" }, want: "STALE_FILE"},
		"taken back":             {questions: outOfScope("docs/a"), between: func(w *world) { check.OK(w.t, w.Store.Revoke(w.asked)) }, want: busy},
		"the intent changed": {questions: outOfScope("docs/a"), want: asked, between: func(w *world) {
			check.OK(w.t, os.WriteFile(w.file, []byte(strings.Replace(intents, "src", "source", 1)), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			var told []string
			w.Notify = func(r approval.Request) { told = append(told, r.ID) }
			for range 2 { // the second time it is the same request
				starts(t, w.decide(hooks.PolicyAsk, w.call()), "APPROVAL_REQUIRED")
			}
			check.That(t, len(told) == 1 && told[0] == w.asked, "notified of %v", told)
			w.edits()
			edited, code := w.instead(w.call())
			check.Must(t, edited != nil && edited.ID == w.asked && string(edited.To.Arguments) == `{"content":"made","path":"docs/a"}`, "%+v %s", edited, code)
			if c.between != nil {
				c.between(w)
			}
			for _, want := range []string{c.want, c.then} {
				if want == "" {
					continue
				}
				call := w.call(func(call *hooks.Call) { call.Edited = edited })
				if c.with != nil {
					c.with(call)
				}
				_, passed, err := w.Pass(t.Context(), call, c.questions)
				got := asked
				if err != nil {
					got = string(refusal.From(err).Code())
				} else if passed {
					got = passes
				}
				check.Equal(t, got, want)
				check.That(t, strings.HasPrefix(edited.Made, "sha256:") && edited.Made != edited.Asked || len(c.questions) == 1, "digests %s %s", edited.Asked, edited.Made)
			}
		})
	}
}

// A client's own tool makes what it asked for, and nothing else: with an edit it is not let through.
func TestClientsOwnCallIsNotEdited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	byClient := func(c *hooks.Call) { c.ByClient = true }
	starts(t, w.decide(hooks.PolicyAsk, w.call(byClient)), "APPROVAL_REQUIRED")
	_, err := approval.NewEdit(check.Value(w.Store.Get(w.asked))(t), "made")
	check.Is(t, err, approval.ErrNotEditable)
	other := func(c *hooks.Call) {
		c.Effects.Files = []*hooks.FileEffect{{Change: change.Change{Op: change.Created, Path: "docs/a", After: change.Version{Hash: "sha256:9"}}}}
	}
	starts(t, w.decide(hooks.PolicyAsk, w.call(other)), "APPROVAL_REQUIRED") // by a tool of ours, which the client's repeats
	w.edits()
	_, code := w.instead(w.call(other, byClient))
	check.Equal(t, code, refusal.ApprovalRequired)
}
