package gate

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// class is step 8.
func class(ctx context.Context, c *hooks.Call, p Policy) hooks.Decision {
	if skips(c) || !p.EnforceClass || c.Declared != mutation.Refactor {
		return hooks.Allow()
	}
	var files []mutation.File
	for _, f := range c.Effects.Files {
		if c.Effects.Command != nil && f.Mutates() {
			continue // a redirection: nobody knows yet what it writes
		}
		files = append(files, mutation.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	if v := mutation.Judge(ctx, files); v.Evidence == mutation.Unproven {
		return hooks.Refuse(refusal.Newf(refusal.MutationClassMismatch, "Declared %s, but %s.", c.Declared, v.Reason).
			With("declared", string(c.Declared)).With("computed", string(mutation.Evolution)))
	}
	return hooks.Allow()
}
