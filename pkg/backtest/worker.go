package backtest

import (
	"context"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// Why it cannot be known how a call would be decided.
const (
	unknownOld       = "the record is of a version that did not keep what the call was judged on"
	unknownPolicy    = "what the call was judged by is not kept any more"
	unknownMany      = "the call touched more files than its record names"
	unknownContent   = "a rule looks at content that is not kept"
	unknownSecret    = "secrets were left out of the command line, and a rule looks at them"
	unknownArguments = "a rule looks at what another server was given, which is in no record"
	unknownSeen      = "what the session had seen of the file is not on record"
	unknownClass     = "whether the change was a refactor was not looked at"
)

// worker judges calls, one after the other.
type worker struct {
	ctx    context.Context
	o      *Options
	laws   *laws
	gate   gate.Gate
	engine *hooks.Engine
	lines  map[string]shell.Reading
	secure func() sandbox.Ability

	// Of the call that is judged:
	entry    record.Entry
	recorded Decision
	law, own *law
	ability  sandbox.Ability
	lacks    map[string]bool // the files whose content is not here, by their paths
	redacted bool            // the line is not whole
	unknown  string
}

func newWorker(ctx context.Context, o *Options, ls *laws) *worker {
	w := &worker{ctx: ctx, o: o, laws: ls, lines: map[string]shell.Reading{}}
	w.secure = func() sandbox.Ability { return w.ability }
	w.gate.Evaluate = w.evaluate
	var steps []hooks.Step
	for _, s := range gate.Steps() {
		check := s.Agent
		switch s.Name {
		case "freshness", "ledger":
			check = w.carried(s.Name)
		case "class":
			check = w.class(check)
		}
		steps = append(steps, hooks.Step{Stage: s.Stage, Hook: hooks.PreFunc(s.Name, func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
			return check(ctx, &w.gate, c), nil
		})})
	}
	steps = append(steps, hooks.Step{Stage: hooks.AtPlan, Hook: hooks.PreFunc(others, w.others)})
	w.engine = hooks.NewEngine(hooks.Options{Gate: steps, Asker: asker{}})
	return w
}

// asker is the operator, who is asked, and answers nothing.
type asker struct{ hooks.Asker }

func (asker) CanAsk(call *hooks.Call, q hooks.Question) bool {
	return q.Policy == hooks.PolicyAsk || call.CanElicit()
}

// call judges the call of a record, or says why that cannot be done.
func (w *worker) call(e record.Entry) (c Change, unknown string) {
	w.entry, w.recorded, w.unknown, w.redacted, w.lacks = e, recorded(e), "", false, nil
	c = Change{Record: e.ID, Time: e.Time, Tool: e.Call, Intent: e.IntentID, Recorded: w.recorded}
	if unknown := w.findLaws(); unknown != "" {
		return c, unknown
	}
	files, command, ok := w.effects()
	if !ok {
		return c, unknownOld
	}
	if e.Judged != nil && e.Judged.More > 0 {
		return c, unknownMany
	}
	if w.redacted && !w.decidesAsRecorded() {
		return c, unknownSecret
	}
	call := w.made(files, command)
	c.Paths, c.Command = pathsOf(call.Effects.Files), lineOf(command)
	if c.Now = w.judge(call); c.Now.Decision == Refused {
		return c, "" // whatever a rule would have said
	}
	return c, w.unknown
}

// findLaws finds what the call is judged by, and what it was.
func (w *worker) findLaws() (unknown string) {
	var err error
	w.own, err = w.laws.own(w.entry.Policy)
	w.law = w.laws.given
	switch {
	case err != nil:
		return err.Error()
	case w.law != nil:
	case w.own == nil && w.entry.Policy == "":
		return unknownOld
	case w.own == nil:
		return unknownPolicy
	default:
		w.law = w.own
	}
	w.obey(w.law)
	return ""
}

// obey has the gate judge by a law.
func (w *worker) obey(l *law) {
	w.law = l
	w.gate.Intents, w.gate.Policy = l, l.policy
	w.gate.Sandbox.Ability = w.secure
}

// decidesAsRecorded reports whether nothing decided the call that was left out of its line: then it is decided as it was by
// what it was judged by.
func (w *worker) decidesAsRecorded() bool {
	if w.own == nil {
		return true // which nobody can say
	}
	judgedBy := w.law
	defer w.obey(judgedBy)
	w.obey(w.own)
	files, command, _ := w.effects()
	same := w.recorded.same(w.judge(w.made(files, command)))
	w.unknown = ""
	return same
}

// judge puts a call through the gate.
func (w *worker) judge(call *hooks.Call) Decision {
	if w.diskFailed() {
		return w.recorded
	}
	all := call.Effects.Files
	call.Effects.Files = slices.DeleteFunc(slices.Clone(all), func(f *hooks.FileEffect) bool { return f.Rehearsed })
	answered := ""
	if d := w.entry.Decision; d != nil && w.entry.Judged != nil && w.recorded.Decision == Refused {
		answered = w.entry.Judged.Approval
	}
	asked, hook, refused := w.engine.Review(w.ctx, call, answered, func() error {
		call.Effects.Files = all
		w.contents(call)
		return w.later()
	})
	if refused == nil && len(asked) == 0 && call.Effects.Selects != "" {
		hook, refused = "intent", w.selectable(call.Effects.Selects)
	}
	switch {
	case refused != nil:
		return Decision{Refused, string(refused.Code()), w.checkOf(hook), refused.Reason()}
	case len(asked) > 0:
		return Decision{Asked, string(asked[0].Refusal.Code()), w.checkOf(asked[0].Hook), asked[0].Refusal.Reason()}
	}
	return Decision{Decision: Allowed}
}

// diskFailed: the intents could not be read, and that was not for what they say.
func (w *worker) diskFailed() bool {
	return w.recorded.Decision == Refused && w.recorded.ErrorType == string(refusal.IntentsUnreadable) && w.own != nil && w.own.setErr == nil && w.own.ignoreErr == nil
}

// selectable is what the tool itself holds a selection to, behind the gate.
func (w *worker) selectable(id string) *refusal.Refusal {
	if w.law.setErr != nil {
		return gate.Unreadable(w.law.setErr)
	}
	if in, ok := w.law.set.Get(id); ok {
		return gate.Usable(in, w.law.set)
	}
	return refusal.Newf(refusal.MissingOrInvalidIntent, "There is no intent %s.", id)
}

func (w *worker) checkOf(hook string) string {
	if hook == others {
		return w.recorded.Check
	}
	return hook
}

// behind is what stood behind a question that could have been put, "" for nothing: a refusal by the tool's plan, or by a check.
func (w *worker) behind() refusal.Code {
	d := w.entry.Decision
	if w.recorded.Decision != Refused || len(d.Also) == 0 || w.recorded.Check == "freshness" {
		return ""
	}
	return refusal.Code(d.Also[0])
}

// of names the check that refuses with a code; "" for the plan.
func of(code refusal.Code) string {
	switch code {
	case refusal.ReadRequired, refusal.StaleFile:
		return "freshness"
	case refusal.LedgerUnavailable:
		return "ledger"
	case refusal.MutationClassMismatch:
		return "class"
	case refusal.RuleViolation:
		return "rules"
	case refusal.HookBlocked:
		return others
	}
	return ""
}

// later is what the plan failed with behind a question. A rule that refused there is not named: that it does so again is known
// where all rules stand as they stood.
func (w *worker) later() error {
	code := w.behind()
	switch of(code) {
	case "":
	case "rules":
		if w.own == nil || !slices.EqualFunc(w.own.rules(w.entry.IntentID), w.law.rules(w.entry.IntentID), (*rule.Rule).Same) {
			w.unknown = unknownContent
			return nil
		}
	default:
		return nil
	}
	if code == "" {
		return nil
	}
	return behindQuestion(code)
}

func behindQuestion(code refusal.Code) *refusal.Refusal {
	return refusal.New(code, "As it was recorded, behind the question.")
}

// carried is a check whose outcome the record has.
func (w *worker) carried(name string) gate.Check {
	return func(_ context.Context, _ *gate.Gate, c *hooks.Call) hooks.Decision {
		code, r := w.behind(), (*refusal.Refusal)(nil)
		switch {
		case w.recorded.Decision == Refused && w.recorded.Check == name:
			r = w.asRecorded()
		case code != "" && of(code) == name:
			r = behindQuestion(code)
		default:
			if name == "freshness" && w.own != nil && w.own.blind && !w.law.blind && c.Effects.Command == nil && slices.ContainsFunc(c.Effects.Files, overwrites) {
				w.unknown = unknownSeen
			}
			return hooks.Allow()
		}
		if r.Code() == refusal.ReadRequired && w.law.blind {
			return hooks.Allow()
		}
		return hooks.Refuse(r)
	}
}

func overwrites(f *hooks.FileEffect) bool { return f.Mutates() && f.Op != change.Created }

func (w *worker) asRecorded() *refusal.Refusal {
	return refusal.New(refusal.Code(w.recorded.ErrorType), w.recorded.Reason)
}

// class is the check of a declared refactor, where it is known what the change was.
func (w *worker) class(check gate.Check) gate.Check {
	return func(ctx context.Context, g *gate.Gate, c *hooks.Call) hooks.Decision {
		if c.Known == nil && g.EnforceClass && c.Declared == mutation.Refactor && c.Class == hooks.Destructive && c.Effects.Command == nil {
			w.unknown = unknownClass
			return hooks.Allow()
		}
		return check(ctx, g, c)
	}
}

// others is the name of the step behind the gate: programs, an embedder's hooks, what was refused before a call came to be.
const others = "others"

func (w *worker) others(context.Context, *hooks.Call) (hooks.Decision, error) {
	name, _, _ := strings.Cut(w.recorded.Check, "/")
	own := slices.ContainsFunc(gate.Steps(), func(s gate.Step) bool { return s.Name == name })
	switch {
	case of(w.behind()) == others:
		return hooks.Refuse(behindQuestion(w.behind())), nil
	case own, w.recorded.Decision == Allowed:
		return hooks.Allow(), nil
	case w.recorded.Decision == Refused && w.recorded.ErrorType == string(refusal.IntentignorePathBlocked) && !w.law.ignore.Kinds().Secrets:
		return hooks.Allow(), nil // a search by the client itself, where nothing is secret
	case w.recorded.Decision == Refused:
		return hooks.Refuse(w.asRecorded()), nil
	}
	return hooks.Ask(hooks.PolicyAsk, refusal.New(refusal.ApprovalRequired, w.recorded.Reason)), nil
}

// contents fills in what the files held, where a rule will look.
func (w *worker) contents(call *hooks.Call) {
	w.lacks = map[string]bool{}
	looks := false
	for _, r := range w.law.rules(w.entry.IntentID) {
		looks = looks || r.Reads(contentFields()...)
	}
	for _, f := range call.Effects.Files {
		if !looks || !f.Mutates() {
			continue
		}
		known := false
		for _, c := range w.entry.Changes {
			if c.Path == f.Path {
				known = w.content(&f.Before, c.Before) && w.content(&f.After, c.After)
			}
		}
		w.lacks[f.Path] = !known
	}
}

func (w *worker) content(into *change.Version, of change.Version) bool {
	into.Hash = of.Hash
	if of.Hash == "" {
		return true
	}
	if of.OID == "" || w.o.Content == nil {
		return false
	}
	content, ok := w.o.Content(of.OID)
	into.Bytes = content
	return ok
}
