// Package gate has the pre-hooks that are shipped, in the order of SPEC 7:
//
//	1 classify · 2 workspace initialised · 3 intent · 4 paths · 5 command policy   (before anything is read)
//	6 rules · 7 freshness · 8 declared class · 9 ledger writable · 10 approvals    (before anything is changed)
//
// The operator's programs (hooks/external) are asked behind all of them.
//
// What would go out to another server is looked at for secrets behind step 5, and its safe calls pass 5 and the settings' rules too.
//
// Step 1 is the engine's: a tool without a class is destructive. Governance tools skip 3 to 8 and 10.
//
// The gate promises that a destructive call which passes it touches only paths that the selected intent owns, on
// content that the session has seen. It decides from the effects alone; that what it saw is what executes is the
// promise of package workspace. What a command does beyond its redirections to literal names it does not see.
package gate

import (
	"context"
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// Policy is what the settings say to the gate.
type Policy struct {
	// AllowUninitialized lets calls through where there is no active_intents.yaml.
	AllowUninitialized bool
	// ScopeRequired refuses intents without owned_scope.
	ScopeRequired bool
	// EnforceClass refuses a declared refactor that is not proven; QuietClass leaves out the warning.
	EnforceClass, QuietClass bool
	// Commands are the settings' rules for commands; those of the intent are added for each call.
	Commands policy.Policy
	// NetworkDenied says that commands may not connect.
	NetworkDenied bool
	// Rules are those of the settings; they hold under every intent.
	Rules []*rule.Rule
	// Sandbox is what has to hold commands.
	Sandbox sandbox.Want
	// UnjudgedAuto lets commands that cannot be judged through where the sandbox holds them and nothing is asked about
	// or denied; elsewhere Commands.Unjudged holds for them.
	UnjudgedAuto bool

	// AskSelection puts each selection of an intent to the operator.
	AskSelection bool

	MissingIntent, ScopeViolation, IgnoredPath, ProgramConfig hooks.Policy
}

// Intents loads the snapshot that a call is judged by.
type Intents interface {
	Load() (*intent.Set, error)
	Ignore() (*intent.Ignore, error)
}

// Ledger is asked whether it can take a record.
type Ledger interface {
	Writable(ctx context.Context) error
}

// Gate is what its steps ask.
type Gate struct {
	Intents Intents
	Fresh   *Freshness
	Ledger  Ledger
	// Evaluate asks a rule; nil is rule.Rule.Holds. It is for who judges a call again whose contents may be gone.
	Evaluate func(context.Context, *rule.Rule, *rule.Facts) (bool, error)
	Policy
}

// Check decides about a call at one step.
type Check func(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision

// Step is one line of the gate.
type Step struct {
	Stage hooks.Stage
	Name  string
	// Agent is what an agent's call has to pass, and Operator what a call has to that an operator makes at the command
	// line; nil lets it through.
	Agent, Operator Check
}

// Steps is the shipped gate, in order.
//
// An operator has seen what the call does. What would be asked is a note; what only keeps agents from going on (no
// session, an intent that is done, content that nobody read) does not apply, nor do rules to changes that the operator
// has looked at. Files that do not parse, paths that lead elsewhere, protected paths, and what .intentignore closes or
// keeps secret are refused as always: an operator lifts those rules where they stand. So are commands that the settings,
// the intent or a rule close (OfCommands).
func Steps() []Step {
	return []Step{
		{hooks.AtTargets, "initialized", initialized, strictly(initialized)},
		{hooks.AtTargets, "intent", selected, operatorIntent},
		{hooks.AtTargets, "path", path, path},
		{hooks.AtTargets, "protected", protected, protected},
		{hooks.AtTargets, "ignored", ignored, strictly(ignored)},
		{hooks.AtTargets, "scope", scope, operatorScope},
		{hooks.AtTargets, "program-config", programConfig, nil},
		{hooks.AtTargets, "command", command, operatorCommand},
		{hooks.AtTargets, "secrets", secrets, nil},
		// What a line did when it was rehearsed is judged as what it redirects to.
		{hooks.AtPlan, "git", rehearsed(path), nil},
		{hooks.AtPlan, "protected", rehearsed(protected), nil},
		{hooks.AtPlan, "ignored", rehearsed(ignored), nil},
		{hooks.AtPlan, "scope", rehearsed(scopeOfRehearsed), nil},
		{hooks.AtPlan, "program-config", rehearsed(programConfig), nil},
		{hooks.AtPlan, "rules", rules, operatorRules},
		{hooks.AtPlan, "freshness", freshness, nil},
		{hooks.AtPlan, "class", class, nil},
		{hooks.AtPlan, "ledger", writable, writable},
		{hooks.AtPlan, "approval", needsApproval, nil},
		{hooks.AtPlan, "selection", selection, nil},
	}
}

// Hooks are the steps for the calls of agents, or of an operator, for an engine.
func (g *Gate) Hooks(operator bool) (steps []hooks.Step) {
	for _, s := range Steps() {
		check := s.Agent
		if operator {
			check = s.Operator
		}
		if check != nil {
			steps = append(steps, hooks.Step{Stage: s.Stage, Hook: hooks.PreFunc(s.Name, func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
				return check(ctx, g, c), nil
			})})
		}
	}
	return steps
}

// skips reports whether steps 3 to 8 and 10 do not apply: they judge mutations under an intent.
func skips(c *hooks.Call) bool { return c.Class != hooks.Destructive }

func writable(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if c.Class == hooks.Safe {
		return hooks.Allow()
	}
	err := g.Ledger.Writable(ctx)
	if c.Untracked && errors.Is(err, ledger.ErrNotInitialized) {
		return hooks.Allow("no intents file and no ledger: this has no record")
	}
	if short := refusal.Exhausted(err); short != nil {
		return hooks.Refuse(short)
	}
	if errors.Is(err, ledger.ErrBusy) {
		return hooks.Refuse(refusal.Newf(refusal.Busy, "Another process held the ledger for too long: %v. Nothing was changed.", err))
	}
	if err != nil {
		return hooks.Refuse(refusal.Newf(refusal.LedgerUnavailable, "The ledger cannot take a record: %v. Nothing was changed.", err))
	}
	if c.Untracked && c.Intents == nil {
		return hooks.Allow("no intents file: recorded as " + hooks.UntrackedIntent)
	}
	return hooks.Allow()
}

// needsApproval puts calls under an `approve:` intent to the operator, and what a tool says has to be put there.
func needsApproval(_ context.Context, _ *Gate, c *hooks.Call) hooks.Decision {
	if asks := c.Effects.Asks; asks != nil {
		return hooks.Ask(hooks.PolicyAsk, asks)
	}
	if skips(c) || c.Effects.Answered || c.Intent == nil || !c.Ignore.NeedsApproval(c.Intent.ID) {
		return hooks.Allow()
	}
	return hooks.Ask(hooks.PolicyAsk, refusal.Newf(refusal.ApprovalRequired,
		"Every change under %s needs the operator's approval (.intentignore).", c.Intent.ID).
		With("intent_id", c.Intent.ID))
}

// selection puts each selection to the operator where the settings say so. One
// that cannot be made is the tool's to refuse: nobody is asked about it.
func selection(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	id := c.Effects.Selects
	if id == "" || !g.AskSelection || c.Intents == nil {
		return hooks.Allow()
	}
	in, ok := c.Intents.Get(id)
	if !ok || Usable(in, c.Intents) != nil {
		return hooks.Allow()
	}
	return hooks.Ask(hooks.PolicyAsk, refusal.Newf(refusal.ApprovalRequired,
		"Selecting %s needs the operator's approval (approvals.select_intent).", in.ID).With("intent_id", in.ID))
}
