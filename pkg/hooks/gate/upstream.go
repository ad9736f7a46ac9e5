package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// upstreamCommands is step 5 for the command lines that another server is given: whatever runs them there, they are held to the
// rules for commands. Calls that are classed as safe are, too.
func upstreamCommands(g *Gate, c *hooks.Call) hooks.Decision {
	u := c.Effects.Upstream
	if u == nil || len(u.Commands) == 0 {
		return hooks.Allow()
	}
	if NetworkDenied(c, g.Policy) {
		return hooks.Refuse(refusal.Newf(refusal.CommandBlocked, "The network is denied to commands, and nothing keeps those from it that %s runs.", u.Server).With("server", u.Server))
	}
	var asks []hooks.Check
	for i, command := range u.Commands {
		part := *c
		part.Effects.Command = &hooks.CommandEffect{Line: command.Line, Cwd: ".", Reading: command.Reading}
		switch verdict := judge(&part, g.Policy); verdict.Action {
		case policy.Deny:
			return hooks.Refuse(blocked(c, verdict).With("server", u.Server))
		case policy.Ask:
			asks = append(asks, hooks.Check{Name: fmt.Sprint(i + 1), Refusal: blocked(c, verdict).With("server", u.Server)})
		}
	}
	if len(asks) > 0 {
		return hooks.AskEach(hooks.PolicyAsk, asks...)
	}
	return hooks.Allow()
}

// secrets looks at what would go out to another server, whatever the class of its tool: what it only reads it gets all the same.
func secrets(_ context.Context, _ *Gate, c *hooks.Call) hooks.Decision {
	u := c.Effects.Upstream
	if u == nil || len(u.Secrets) == 0 {
		return hooks.Allow()
	}
	text := fmt.Sprintf("The arguments of %s, which would go to the server %s, hold what looks like a secret: %s.", c.Tool, u.Server, short(strings.Join(u.Secrets, "; ")))
	r := refusal.New(refusal.RuleViolation, text).With("server", u.Server).With("findings", u.Secrets[:min(len(u.Secrets), maxListed)]).
		Suggest("Make the call without it. If the server needs a secret, the user can give it one in a file of its own (servers review %s).", u.Server)
	switch u.OnSecrets {
	case "":
		return hooks.Allow(text)
	case hooks.PolicyRefuse:
		return hooks.Refuse(r)
	}
	return hooks.Ask(u.OnSecrets, r)
}

// upstreamFacts are what rules see of another server's call; nil for a call that is none.
func upstreamFacts(u *hooks.UpstreamEffect) *rule.Upstream {
	if u == nil {
		return nil
	}
	facts := &rule.Upstream{Server: u.Server, Tool: u.Tool, URLs: append([]string{}, u.URLs...), Commands: []string{}}
	for _, command := range u.Commands {
		facts.Commands = append(facts.Commands, command.Line)
	}
	facts.Arguments = sync.OnceValue(func() map[string]any {
		arguments := map[string]any{}
		if json.Unmarshal(u.Arguments, &arguments) != nil {
			facts.Missed = new(true)
		}
		return arguments
	})
	return facts
}
