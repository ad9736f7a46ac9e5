package gate

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// RegisterOperator adds the gate for calls that an operator makes at the
// command line, after seeing what they do. What would be put to the operator
// is a note; what only bars agents from going on (no session, an intent that
// is done, unread content) does not apply, nor do rules and external hooks
// to changes that the operator has looked at. Files that do not parse, paths
// that lead elsewhere, protected paths, and what .intentignore closes or keeps
// secret are refused as always: an operator lifts those rules where they
// stand. So are commands that the settings, the intent, a rule or a hook close
// (OfCommands).
func RegisterOperator(e *hooks.Engine, intents Intents, l Ledger, settings Policy) {
	p := Policy{AllowUninitialized: true, IgnoredPath: hooks.PolicyRefuse}
	at := func(stage hooks.Stage, name string, check func(*hooks.Call) hooks.Decision) {
		e.AddGate(stage, hooks.PreFunc(name, func(_ context.Context, call *hooks.Call) (hooks.Decision, error) {
			return check(call), nil
		}))
	}
	at(hooks.AtTargets, "initialized", func(c *hooks.Call) hooks.Decision { return initialized(c, intents, p) })
	at(hooks.AtTargets, "intent", operatorIntent)
	at(hooks.AtTargets, "path", path)
	at(hooks.AtTargets, "protected", protected)
	at(hooks.AtTargets, "ignored", func(c *hooks.Call) hooks.Decision { return ignored(c, p) })
	at(hooks.AtTargets, "scope", operatorScope)
	at(hooks.AtTargets, "command", func(c *hooks.Call) hooks.Decision { return operatorCommand(c, settings) })
	e.AddGate(hooks.AtPlan, OfCommands(hooks.PreFunc("rules", func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
		return rules(ctx, c, settings), nil
	})))
	e.AddGate(hooks.AtPlan, hooks.PreFunc("ledger", func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
		return writable(ctx, c, l), nil
	}))
}

// OfCommands is a hook for those calls of an operator that run a command: the
// line is not the operator's own, for it stands in a file that others may have
// written.
func OfCommands(h hooks.PreHook) hooks.PreHook {
	return hooks.PreFunc(h.Name(), func(ctx context.Context, c *hooks.Call) (hooks.Decision, error) {
		if c.Effects.Command == nil {
			return hooks.Allow(), nil
		}
		d, err := h.Before(ctx, c)
		return d.Seen(), err
	})
}

// operatorIntent takes the intent that the call names, whatever became of it.
func operatorIntent(c *hooks.Call) hooks.Decision {
	if c.IntentID == "" {
		return hooks.Allow()
	}
	if c.Intents != nil {
		if in, ok := c.Intents.Get(c.IntentID); ok {
			c.Intent = in
			return hooks.Allow()
		}
	}
	c.Intent = &intent.Intent{ID: c.IntentID}
	return hooks.Allow()
}

// operatorScope notes what an agent would not have been let through with.
func operatorScope(c *hooks.Call) hooks.Decision {
	if c.Class == hooks.Governance { // the intents themselves belong to no scope
		return hooks.Allow()
	}
	var notes []string
	for _, path := range mutated(c) {
		if c.Intent != nil && c.Intent.Scope() != nil && !c.Intent.Scope().Match(path) {
			notes = append(notes, fmt.Sprintf("%s is out of the scope of %s; the operator let it through", path, c.Intent.ID))
		}
	}
	for _, f := range c.Effects.Files {
		if f.Protection == workspace.ProtectProgramConfig {
			notes = append(notes, fmt.Sprintf("%s can make other programs run code; the operator let it through", strictest(f)))
		}
	}
	return hooks.Allow(notes...)
}
