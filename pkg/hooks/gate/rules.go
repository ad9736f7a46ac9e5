package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// rulesTime bounds the evaluation of all rules for one call.
const rulesTime = 5 * time.Second

// rules is step 6: every rule of the settings and of the intent, for every effect of the call. A rule that refuses
// outranks one that asks, wherever it stands; one that cannot be evaluated refuses.
func rules(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	all := g.Rules
	if c.Intent != nil {
		all = append(all[:len(all):len(all)], c.Intent.CompiledRules()...)
	}
	if skips(c) && c.Effects.Upstream == nil || len(all) == 0 {
		return hooks.Allow()
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTime)
	defer cancel()
	evaluate := g.Evaluate
	if evaluate == nil {
		evaluate = func(ctx context.Context, r *rule.Rule, f *rule.Facts) (bool, error) { return r.Holds(ctx, f) }
	}
	var asks []hooks.Check
	facts := factsOf(ctx, c)
	for _, r := range all {
		for _, f := range facts {
			holds, err := evaluate(ctx, r, f)
			if err == nil && missed(f) {
				err = errUnread
			}
			switch {
			case err != nil:
				return hooks.Refuse(unevaluated(c, r, f, err))
			case holds && r.Action != rule.Ask:
				return hooks.Refuse(violated(c, r, f))
			case holds:
				asks = append(asks, hooks.Check{Name: r.Name, Refusal: violated(c, r, f)})
			}
		}
	}
	if len(asks) > 0 {
		return hooks.AskEach(hooks.PolicyAsk, asks...)
	}
	return hooks.Allow()
}

// violated says which rule holds, never with the content that it looked at.
func violated(c *hooks.Call, r *rule.Rule, f *rule.Facts) *refusal.Refusal {
	reason := fmt.Sprintf("Rule %s stops %s", r.Name, subject(f))
	if r.Message != "" {
		reason += ": " + r.Message
	} else {
		reason += "."
	}
	return aboutRule(refusal.New(refusal.RuleViolation, reason), c, r, f)
}

// errUnread: a rule asked for a content that is too large to be held, or that another server will make.
var errUnread = errors.New("the content is too large to be looked at, or not known beforehand")

// missed: a rule asked for what is not there.
func missed(f *rule.Facts) bool {
	return f.Effect.Missed != nil && *f.Effect.Missed || f.Upstream != nil && f.Upstream.Missed != nil && *f.Upstream.Missed
}

// unevaluated refuses where a rule gave no answer: it may be the one that would have stopped the call.
func unevaluated(c *hooks.Call, r *rule.Rule, f *rule.Facts, err error) *refusal.Refusal {
	text := fmt.Sprintf("Rule %s could not be evaluated for %s: %v. Nothing was changed.", r.Name, subject(f), err)
	refused := aboutRule(refusal.New(refusal.RuleViolation, text), c, r, f).WithHint(refusal.HintAskUser).
		Suggest("Ask the operator to mend the rule %s. A smaller change may pass it.", r.Name)
	if errors.Is(err, rule.ErrNoAnswer) {
		return refused.WithHint(refusal.HintRetry).Suggest("Try again once; if it does not pass, ask the operator to make the rule %s cheaper.", r.Name)
	}
	return refused
}

func aboutRule(r *refusal.Refusal, c *hooks.Call, by *rule.Rule, f *rule.Facts) *refusal.Refusal {
	r = r.With("rule", by.Name).With("kind", f.Effect.Kind)
	if f.Effect.Path != "" {
		r = r.With("path", f.Effect.Path)
	}
	if c.Intent != nil {
		r = r.With("intent_id", c.Intent.ID)
	}
	return r
}

func subject(f *rule.Facts) string {
	switch {
	case f.Effect.Kind == kindCommand:
		return "this command"
	case f.Effect.Kind == kindUpstream:
		return fmt.Sprintf("this call of %s of %s", f.Upstream.Tool, f.Upstream.Server)
	case f.Effect.Path == "":
		return "this call"
	case f.Effect.From != "":
		return fmt.Sprintf("the move of %s to %s", f.Effect.From, f.Effect.Path)
	}
	return fmt.Sprintf("the change of %s (%s)", f.Effect.Path, f.Effect.Kind)
}

// kindCommand is the kind of the effect that running a command is, kindUpstream that of a call of another server.
const (
	kindCommand  = "command"
	kindUpstream = "upstream"
)

// factsOf returns what a rule is evaluated over: one for each file that the call changes, one for its command, and one
// without an effect for a call that has none.
func factsOf(ctx context.Context, c *hooks.Call) []*rule.Facts {
	model, _ := c.Model()
	base := rule.Facts{
		Tool: c.Tool, Paths: mutated(c), Intent: intentFacts(c),
		Session: rule.Session{Client: c.Caller.ClientName, ClientVersion: c.Caller.ClientVersion, Model: model},
		Class:   classFacts(ctx, c),
	}
	if command := c.Effects.Command; command != nil {
		base.Command = commandFacts(command)
	}
	base.Upstream = upstreamFacts(c.Effects.Upstream)
	var all []*rule.Facts
	add := func(e rule.Effect) {
		one := base
		one.Effect = e
		all = append(all, &one)
	}
	for _, f := range c.Effects.Files {
		if f.Mutates() {
			add(effectFacts(f))
		}
	}
	switch {
	case c.Effects.Command != nil:
		add(rule.Effect{Kind: kindCommand})
	case c.Effects.Upstream != nil:
		add(rule.Effect{Kind: kindUpstream})
	case len(all) == 0:
		add(rule.Effect{})
	}
	return all
}

func classFacts(ctx context.Context, c *hooks.Call) rule.Class {
	ask := func(tell func(mutation.Resolved) string) func() string {
		return func() string {
			v, ok := c.Planned(ctx)
			if !ok {
				return ""
			}
			return tell(mutation.Resolve(c.Declared, v))
		}
	}
	return rule.Class{
		Declared: string(c.Declared),
		Computed: ask(func(r mutation.Resolved) string { return string(r.Class) }),
		Evidence: ask(func(r mutation.Resolved) string { return string(r.Evidence) }),
	}
}

func intentFacts(c *hooks.Call) rule.Intent {
	if c.Intent == nil {
		return rule.Intent{ID: c.RecordedIntent()}
	}
	in := c.Intent
	return rule.Intent{ID: in.ID, Name: in.Name, Status: string(in.Status), Agent: in.Agent, OwnedScope: in.OwnedScope}
}

func commandFacts(command *hooks.CommandEffect) rule.Command {
	facts := rule.Command{Line: command.Line, Cwd: command.Cwd, Background: command.Background, Programs: [][]string{}}
	if command.Reading != nil {
		for _, p := range command.Reading.Programs {
			facts.Programs = append(facts.Programs, append([]string{p.Name}, p.Literal()...))
		}
	}
	return facts
}

// effectFacts decodes the contents only when a rule asks for them, and once.
func effectFacts(f *hooks.FileEffect) rule.Effect {
	before := sync.OnceValues(func() (workspace.Text, error) { return workspace.Decode(f.Before.Bytes) })
	after := sync.OnceValues(func() (workspace.Text, error) { return workspace.Decode(f.After.Bytes) })
	e := rule.Effect{
		Kind: f.Op.Verb(), Path: f.Path, From: f.From, BeforeSize: len(f.Before.Bytes), AfterSize: len(f.After.Bytes),
		Before: func() string { text, _ := before(); return text.String },
		After:  func() string { text, _ := after(); return text.String },
		Binary: func() bool {
			_, errBefore := before()
			_, errAfter := after()
			return errBefore != nil || errAfter != nil
		},
	}
	if f.Unread {
		e.Missed, e.BeforeSize, e.AfterSize = new(bool), int(f.BeforeSize), int(f.AfterSize)
		missed := func() string { *e.Missed = true; return "" }
		e.Before, e.After = missed, missed
		e.Binary = func() bool { *e.Missed = true; return true }
	}
	// Not every tool has hunks, and without them a change would seem to add nothing.
	hunks := sync.OnceValue(func() [][4]int { return edit.Hunks(e.Before(), e.After()) })
	e.Removed = sync.OnceValue(func() []string { return hunkLines(e.Before(), hunks(), 0) })
	e.Added = sync.OnceValue(func() []string { return hunkLines(e.After(), hunks(), 2) })
	return e
}

// hunkLines are the lines of one side of the hunks: at is the index of the side's first line in a hunk.
func hunkLines(text string, hunks [][4]int, at int) []string {
	lines := edit.Lines(text)
	out := []string{}
	for _, h := range hunks {
		if start, count := h[at]-1, h[at+1]; count > 0 {
			out = append(out, lines[start:start+count]...)
		}
	}
	return out
}

// class is step 8. What a command changes is not known yet; its record tells.
func class(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if skips(c) || !g.EnforceClass || c.Declared != mutation.Refactor {
		return hooks.Allow()
	}
	if v, ok := c.Planned(ctx); ok && v.Evidence == mutation.Unproven {
		return hooks.Refuse(refusal.Newf(refusal.MutationClassMismatch, "Declared %s, but that is not proven: %s.", c.Declared, v.Reason).
			With("declared", string(c.Declared)).With("computed", string(mutation.Evolution)).
			With("evidence", string(v.Evidence)).With("reason", v.Reason))
	}
	return hooks.Allow()
}
