package gate

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// strictly is a check for the operator's own call: nobody is asked, and a workspace without intents is one as well.
func strictly(check Check) Check {
	return func(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
		own := *g
		own.Policy = Policy{AllowUninitialized: true, IgnoredPath: hooks.PolicyRefuse}
		return check(ctx, &own, c)
	}
}

// operatorRules are the rules about a command: see OfCommands.
func operatorRules(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if c.Effects.Command == nil {
		return hooks.Allow()
	}
	return rules(ctx, g, c).Seen()
}

// OfCommands is a hook for those calls of an operator that run a command: the line is not the operator's own, for it
// stands in a file that others may have written.
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
func operatorIntent(_ context.Context, _ *Gate, c *hooks.Call) hooks.Decision {
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
func operatorScope(_ context.Context, _ *Gate, c *hooks.Call) hooks.Decision {
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
