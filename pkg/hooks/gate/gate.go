// Package gate has the pre-hooks that are shipped, in the order of SPEC 7:
//
//	1 classify · 2 workspace initialised · 3 intent · 4 paths · 5 command policy   (before anything is read)
//	6 rules · 7 freshness · 8 declared class · 9 ledger writable · 10 approvals    (before anything is changed)
//
// The operator's programs (hooks/external) are asked behind all of them.
//
// Step 1 is the engine's: a tool without a class is destructive. Governance
// tools skip 3 to 8 and 10.
//
// The gate promises that a destructive call which passes it touches only paths
// that the selected intent owns, on content that the session has seen. It
// decides from the effects alone; that what it saw is what executes is the
// promise of package workspace. What a command does beyond its
// redirections to literal names it does not see.
package gate

import (
	"context"
	"errors"
	"slices"

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
	// AllowUninitialized lets calls through where there is no
	// active_intents.yaml.
	AllowUninitialized bool
	// ScopeRequired refuses intents without owned_scope.
	ScopeRequired bool
	// EnforceClass refuses a declared refactor that is not proven; QuietClass
	// leaves out the warning.
	EnforceClass, QuietClass bool
	// Commands are the settings' rules for commands; those of the intent are
	// added for each call.
	Commands policy.Policy
	// NetworkDenied says that commands may not connect.
	NetworkDenied bool
	// Rules are those of the settings; they hold under every intent.
	Rules []*rule.Rule
	// Sandbox is what has to hold commands.
	Sandbox sandbox.Want
	// UnjudgedAuto lets commands that cannot be judged through where the sandbox
	// holds them and nothing is asked about or denied; elsewhere
	// Commands.Unjudged holds for them.
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

// Register adds the shipped gate to the engine, in order.
func Register(e *hooks.Engine, intents Intents, fresh *Freshness, l Ledger, p Policy) {
	e.SetQuietClass(p.QuietClass)
	at := func(stage hooks.Stage, name string, check func(*hooks.Call) hooks.Decision) {
		e.AddGate(stage, hooks.PreFunc(name, func(_ context.Context, call *hooks.Call) (hooks.Decision, error) {
			return check(call), nil
		}))
	}
	at(hooks.AtTargets, "initialized", func(c *hooks.Call) hooks.Decision { return initialized(c, intents, p) })
	at(hooks.AtTargets, "intent", func(c *hooks.Call) hooks.Decision { return selected(c, p) })
	at(hooks.AtTargets, "path", path)
	at(hooks.AtTargets, "protected", protected)
	at(hooks.AtTargets, "ignored", func(c *hooks.Call) hooks.Decision { return ignored(c, p) })
	at(hooks.AtTargets, "scope", func(c *hooks.Call) hooks.Decision { return scope(c, p) })
	at(hooks.AtTargets, "program-config", func(c *hooks.Call) hooks.Decision { return programConfig(c, p) })
	at(hooks.AtTargets, "command", func(c *hooks.Call) hooks.Decision { return command(c, p) })

	// What a line did when it was rehearsed is judged as what it redirects to.
	at(hooks.AtPlan, "git", rehearsed(path))
	at(hooks.AtPlan, "protected", rehearsed(protected))
	at(hooks.AtPlan, "ignored", rehearsed(func(c *hooks.Call) hooks.Decision { return ignored(c, p) }))
	at(hooks.AtPlan, "scope", rehearsed(func(c *hooks.Call) hooks.Decision {
		c.Effects.Files = slices.DeleteFunc(c.Effects.Files, func(f *hooks.FileEffect) bool { return f.Reproduced })
		return scope(c, p)
	}))
	at(hooks.AtPlan, "program-config", rehearsed(func(c *hooks.Call) hooks.Decision { return programConfig(c, p) }))

	e.AddGate(hooks.AtPlan, hooks.PreFunc("rules", func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
		return rules(ctx, c, p), nil
	}))
	at(hooks.AtPlan, "freshness", fresh.check)
	e.AddGate(hooks.AtPlan, hooks.PreFunc("class", func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
		return class(ctx, c, p), nil
	}))
	e.AddGate(hooks.AtPlan, hooks.PreFunc("ledger", func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
		return writable(ctx, c, l), nil
	}))
	at(hooks.AtPlan, "approval", needsApproval)
	at(hooks.AtPlan, "selection", func(c *hooks.Call) hooks.Decision { return selection(c, p) })
	e.SetFreshness(fresh)
}

// skips reports whether steps 3 to 8 and 10 do not apply: they judge
// mutations under an intent.
func skips(c *hooks.Call) bool { return c.Class != hooks.Destructive }

func writable(ctx context.Context, c *hooks.Call, l Ledger) hooks.Decision {
	if c.Class == hooks.Safe {
		return hooks.Allow()
	}
	err := l.Writable(ctx)
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

// needsApproval puts calls under an `approve:` intent to the operator, and what
// a tool says has to be put there.
func needsApproval(c *hooks.Call) hooks.Decision {
	if asks := c.Effects.Asks; asks != nil {
		return hooks.Ask(hooks.PolicyAsk, asks)
	}
	if skips(c) || c.Intent == nil || !c.Ignore.NeedsApproval(c.Intent.ID) {
		return hooks.Allow()
	}
	return hooks.Ask(hooks.PolicyAsk, refusal.Newf(refusal.ApprovalRequired,
		"Every change under %s needs the operator's approval (.intentignore).", c.Intent.ID).
		With("intent_id", c.Intent.ID))
}

// selection puts each selection to the operator where the settings say so. One
// that cannot be made is the tool's to refuse: nobody is asked about it.
func selection(c *hooks.Call, p Policy) hooks.Decision {
	id := c.Effects.Selects
	if id == "" || !p.AskSelection || c.Intents == nil {
		return hooks.Allow()
	}
	in, ok := c.Intents.Get(id)
	if !ok || Usable(in, c.Intents) != nil {
		return hooks.Allow()
	}
	return hooks.Ask(hooks.PolicyAsk, refusal.Newf(refusal.ApprovalRequired,
		"Selecting %s needs the operator's approval (approvals.select_intent).", in.ID).With("intent_id", in.ID))
}
