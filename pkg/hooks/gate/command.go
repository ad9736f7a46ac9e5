package gate

import (
	"context"
	"fmt"
	stdpath "path"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// command is step 5: the rules of the settings and of the intent, over what the line was read to run.
func command(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if c.Effects.Command == nil || skips(c) {
		return upstreamCommands(g, c)
	}
	if r := unenforceable(c, g.Policy); r != nil {
		return hooks.Refuse(r)
	}
	switch verdict := judge(c, g.Policy); verdict.Action {
	case policy.Deny:
		return hooks.Refuse(blocked(c, verdict))
	case policy.Ask:
		return hooks.Ask(hooks.PolicyAsk, blocked(c, verdict))
	}
	return hooks.Allow()
}

// operatorCommand is command for the operator's own call: what would be asked is noted.
func operatorCommand(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if c.Effects.Command == nil || skips(c) {
		return hooks.Allow()
	}
	if verdict := judge(c, g.Policy); verdict.Action == policy.Ask && unenforceable(c, g.Policy) == nil {
		return hooks.Allow(blocked(c, verdict).Reason() + " The operator let it through.")
	}
	return command(ctx, g, c)
}

// unenforceable is the refusal where somebody counts on a boundary that is not to be had here.
func unenforceable(c *hooks.Call, p Policy) *refusal.Refusal {
	level, err := p.Sandbox.Level()
	if err != nil {
		return refusal.Newf(refusal.SandboxUnavailable, "No command runs: %v.", err).
			With("required", p.Sandbox.AtLeast).With("sandbox", level)
	}
	if !NetworkDenied(c, p) || p.Sandbox.DeniesNetwork() {
		return nil
	}
	r := refusal.Newf(refusal.CommandBlocked,
		"The settings deny the network to commands, and at sandbox level %s nothing keeps them from it, so no command runs.", level)
	if in := c.Intent; !p.NetworkDenied {
		r = refusal.Newf(refusal.CommandBlocked,
			"%s denies the network to commands, and at sandbox level %s nothing keeps them from it, so no command runs under it.", in.ID, level).
			With("intent_id", in.ID)
	}
	if why := p.Sandbox.NoSeatbelt(); why != nil {
		r = r.With("seatbelt", why.Error())
	}
	return r.With("sandbox", level)
}

// NetworkDenied reports whether the command of a call may not connect.
func NetworkDenied(c *hooks.Call, p Policy) bool {
	return p.NetworkDenied || c.Intent != nil && c.Intent.Commands.Network == "deny"
}

func judge(c *hooks.Call, p Policy) policy.Verdict {
	all := p.Commands
	if c.Intent != nil {
		all.Sources = append(all.Sources[:len(all.Sources):len(all.Sources)], intentRules(c))
	}
	// Below landlock nothing counts as enforced: who turns seatbelt on is asked as before.
	if level, err := p.Sandbox.Level(); p.UnjudgedAuto && err == nil && level.AtLeast(sandbox.Landlock) {
		all.Unjudged, all.Doubtful = policy.Allow, policy.Ask
		if all.Restricts() { // what hides a program could hide one that a rule names
			all.Unjudged = policy.Ask
		}
	}
	if c.Effects.Command.Reading == nil {
		return policy.Verdict{Action: max(all.Unjudged, policy.Ask), Unjudged: []string{"nothing has read the line"}}
	}
	if all.Root != "" {
		all.Dir = stdpath.Join(all.Root, c.Effects.Command.Cwd)
	}
	return all.Judge(c.Effects.Command.Reading)
}

// blocked says which simple command was stopped by which rule.
func blocked(c *hooks.Call, v policy.Verdict) *refusal.Refusal {
	does := map[policy.Action]string{policy.Deny: "is denied", policy.Ask: "needs the operator's approval"}[v.Action]
	var r *refusal.Refusal
	switch {
	case v.Rule != "":
		r = refusal.Newf(refusal.CommandBlocked, "The command %q %s by the rule %q of %s.", short(v.Program), does, v.Rule, v.Source).
			With("rule", v.Rule).With("rule_of", v.Source)
		if len(v.Unjudged) > 0 {
			r = refusal.Newf(refusal.CommandBlocked, "The command %q %s: the rule %q of %s could concern it, and an argument that it names is not literal.",
				short(v.Program), does, v.Rule, v.Source).With("rule", v.Rule).With("rule_of", v.Source).With("unjudged", v.Unjudged)
		}
	case len(v.Unjudged) > 0:
		r = refusal.Newf(refusal.CommandBlocked, "The line %s, because what it runs or writes cannot be known: %s.", does, short(strings.Join(v.Unjudged, "; "))).
			With("unjudged", v.Unjudged).
			Suggest("Name programs and the targets of redirections literally, and run the steps one by one; or ask the operator.")
	default:
		r = refusal.Newf(refusal.CommandBlocked, "The command %q %s: no rule names it, and commands.default says so.", short(v.Program), does)
	}
	if c.Intent != nil {
		r = r.With("intent_id", c.Intent.ID)
	}
	if v.Program != "" {
		r = r.With("program", short(v.Program))
	}
	return r
}

func short(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s…", strings.ToValidUTF8(text[:most], ""))
}

// intentRules are those of the intent. What it allows beyond the settings is left out until the operator has trusted it.
func intentRules(c *hooks.Call) policy.Source {
	rules := c.Intent.CommandPolicy()
	if c.Intents == nil || len(c.Intents.Commands(c.Intent).Allow) == 0 {
		rules.Allow = nil
	}
	return rules
}
