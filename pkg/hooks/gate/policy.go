package gate

import (
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// command is step 5. Commands are not parsed in this version, so a rule that
// somebody declared cannot be evaluated: the call is refused rather than let
// through unjudged.
func command(c *hooks.Call, p Policy) hooks.Decision {
	if c.Effects.Command == nil || skips(c) {
		return hooks.Allow()
	}
	if p.SandboxRequired {
		return hooks.Refuse(refusal.New(refusal.SandboxUnavailable,
			"The settings require a sandbox for commands, and this version has none."))
	}
	if p.CommandRules {
		return hooks.Refuse(refusal.New(refusal.CommandBlocked,
			"The settings declare rules for commands, and this version cannot evaluate them, so no command runs."))
	}
	if in := c.Intent; in != nil && (len(in.Commands.Ask) > 0 || len(in.Commands.Deny) > 0 || in.Commands.Network == "deny") {
		return hooks.Refuse(refusal.Newf(refusal.CommandBlocked,
			"%s declares rules for commands (ask, deny or network), and this version cannot evaluate them, so no command runs under it.", in.ID).
			With("intent_id", in.ID))
	}
	return hooks.Allow()
}

// class is step 8.
func class(c *hooks.Call, p Policy) hooks.Decision {
	if skips(c) || !p.EnforceClass || c.Declared != mutation.Refactor {
		return hooks.Allow()
	}
	var files []mutation.File
	for _, f := range c.Effects.Files {
		files = append(files, mutation.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	if v := mutation.Judge(files); v.Evidence == mutation.Unproven {
		return hooks.Refuse(refusal.Newf(refusal.MutationClassMismatch, "Declared %s, but %s.", c.Declared, v.Reason).
			With("declared", string(c.Declared)).With("computed", string(mutation.Evolution)))
	}
	return hooks.Allow()
}
