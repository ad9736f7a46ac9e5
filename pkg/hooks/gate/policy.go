package gate

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

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
