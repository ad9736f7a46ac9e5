package tools

import (
	"cmp"
	"context"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Client is what is different where a client runs the command, in a shell of its own.
type Client struct {
	// Passed is called when nothing stands against the command any more; it is then prepared.
	Passed func() error
	// Run has the command run, and returns when it has ended. Nil: this server runs it.
	Run func(ctx context.Context, r *ClientRun) (command.Result, error)
	// Asks is what the operator has to say yes to; nil for nothing.
	Asks *refusal.Refusal
	// Lasting: it may run for hours. Nested: the client may run it in a sandbox of its own.
	Lasting, Nested bool
}

// ClientRun is how a client is to run a command.
type ClientRun struct {
	Call *hooks.Call
	Spec command.Spec
	// Own is what the profile sets in the environment.
	Own []string
	// Weaker is for a client whose own sandbox does not let the level of Spec be made: the level landlock. Nil where the settings
	// want no less.
	Weaker *sandbox.Profile
	// Ran is the level at which it ran in the end; Run sets it where that is another one.
	Ran sandbox.Level
}

// ClientCommand is execute_command for a command that a client runs.
func ClientCommand(commands *Commands, engine *hooks.Engine, client Client) hooks.Tool {
	t := &commandTool{Commands: commands, engine: engine, client: client}
	return define[commandArgs, commandResult](hooks.Spec{Name: "execute_command", Class: hooks.Destructive}, t.targets, schema.Numbers{"line": commandBytes, "timeout": 1})
}

func (c *commandCall) run(ctx context.Context, spec command.Spec) (command.Result, error) {
	if c.client.Run == nil {
		return c.Runner.Run(ctx, spec)
	}
	r := &ClientRun{Call: c.call, Spec: spec, Own: append(c.profile.Environment(nil), c.gitSettings()...)}
	weaker, err := c.weaker(ctx)
	if err != nil {
		return command.Result{}, err
	}
	if weaker != nil {
		defer weaker.Close()
		r.Weaker = weaker.Sandbox
	}
	result, err := c.client.Run(ctx, r)
	c.profile.Level = cmp.Or(r.Ran, c.profile.Level)
	return result, err
}
