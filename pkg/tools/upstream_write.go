package tools

import (
	"cmp"
	"context"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// prepareWriting prepares a call of a server that may write the workspace: it is observed as a command is, one call of the server
// at a time.
func (c *upstreamCall) prepareWriting(ctx context.Context) (hooks.Prepared, error) {
	end, err := c.server.take(ctx)
	if err != nil {
		return nil, cancelledTurn()
	}
	baseline, err := c.Commands.Observer.Begin(ctx, &observe.Command{Judge: c.judge(), Cwd: ".", Reading: &shell.Reading{}})
	if err != nil {
		end()
		return nil, err
	}
	return &writingUpstream{c, baseline, end}, nil
}

// level is what holds the server's program. Whatever that is, it does not hold it to the scope of one call: the program runs for
// many.
func (c *upstreamCall) level() sandbox.Level {
	if c.Level == nil {
		return sandbox.None
	}
	return cmp.Or(c.Level(c.tool.Server), sandbox.None)
}

func (c *upstreamCall) judge() *observe.Judge {
	j := &observe.Judge{Ignore: c.call.Ignore, Places: c.Commands.Workspace.Inside(), Level: c.level()}
	if j.Level == sandbox.Full {
		j.Level, j.Apart = sandbox.Landlock, true
	}
	for _, one := range c.changes {
		j.Named = append(j.Named, one.effect.Path)
	}
	if c.call.Intent != nil {
		j.Intent, j.Scope = c.call.Intent.ID, c.call.Intent.Scope()
	}
	return j
}

// writingUpstream is a call that is about to be sent to a server that may write the workspace.
type writingUpstream struct {
	call     *upstreamCall
	baseline *observe.Baseline
	end      func() // of the server's turn
}

func (w *writingUpstream) Pending() *hooks.Pending {
	pending := w.baseline.Pending(w.call.asCommand(-1))
	pending.Outcome.About = map[string]any{record.DetailUpstream: w.call.told}
	return pending
}

// asCommand is the call as the record of a command has it.
func (c *upstreamCall) asCommand(exitCode int) *hooks.CommandOutcome {
	return &hooks.CommandOutcome{Line: c.tool.Server + " " + c.tool.Own, Cwd: ".", ExitCode: exitCode, Sandbox: string(c.level())}
}

func (w *writingUpstream) Discard() error {
	w.baseline.Discard()
	w.end()
	return nil
}

func (w *writingUpstream) Commit(ctx context.Context) (*hooks.Outcome, error) {
	defer w.end()
	defer w.baseline.Discard() // of no effect after Finish
	c, began := w.call, time.Now()
	unsent := c.send(ctx)
	if unsent != nil { // its program may have been started for the call all the same
		c.told.Problem = "it was not asked"
		c.sent = failedUpstream(refusal.From(unsent).Reason())
		c.sent.tell(&c.told)
	}
	command := c.asCommand(0)
	if command.DurationMS = time.Since(began).Milliseconds(); c.sent.failed {
		command.ExitCode = 1
	}
	command.OutputHash, command.Artifact = c.told.Result, c.told.ResultArtifact
	o := &hooks.Outcome{Sent: unsent == nil, Failed: c.sent.failed, Command: command, Warnings: c.warnings, About: map[string]any{record.DetailUpstream: c.told}}
	w.baseline.Finish(context.WithoutCancel(ctx), o) // also of a call that was cancelled
	if unsent != nil && len(o.Changed())+len(o.Violations) == 0 && command.Detail[observe.DetailUnseen] == nil {
		return nil, unsent
	}
	return o, nil
}
