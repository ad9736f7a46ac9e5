package tools

import (
	"context"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// HandOverTime is after how long a command in the foreground goes on in the background, where its call is fragile: clients
// that give a call a minute are the shortest to wait.
const HandOverTime = 50 * time.Second

// handsOver tells whether a command can go on without its call.
func (c *commandCall) handsOver() bool {
	return c.call.Fragile && !c.args.Background && c.HandOver > 0 && owner(c.call) != ""
}

// wait runs a command in the foreground that may come to be one in the background. It runs as one of those does, in a call
// of its own behind this one, which has the journal, the record and the result; this call waits for the result, and leaves
// when that takes long.
func (c *commandCall) wait(ctx context.Context) (*hooks.Outcome, error) {
	c.parting = newParting(ctx)
	behind := &behindCall{commandCall: *c}
	behind.call, behind.listener = c.call.Detached(), c.call
	began, ended := c.Clock(), make(chan hooks.Result, 1)
	go behind.run(c.parting.ctx, ended)
	whole := func(result hooks.Result) (*hooks.Outcome, error) {
		c.answer = &result
		return &hooks.Outcome{Continued: true}, nil
	}
	patience := time.NewTimer(c.HandOver)
	defer patience.Stop()
	select {
	case result := <-ended:
		return whole(result)
	case <-patience.C:
	}
	// Until it runs, the command uses what ends with this call.
	select {
	case result := <-ended:
		return whole(result)
	case <-c.parting.begun:
	}
	c.job = c.parting.leave(func() (*command.Job, error) { return c.openJob(began) })
	if c.job == nil {
		return whole(<-ended)
	}
	return c.started(nil), nil
}

// parting is between a command and the call that waits for it: they end together, or the command goes on as a job.
type parting struct {
	ctx    context.Context // of the command
	cancel context.CancelCauseFunc
	with   func() bool // stops ending the command with the call

	begun    chan struct{} // closed when the command runs
	artifact string        // of its output, set before

	mu    sync.Mutex
	ended bool
	job   *command.Job
}

func newParting(ctx context.Context) *parting {
	p := &parting{begun: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	p.with = context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
	return p
}

// leave makes a command that has begun a job. It is nil where it stays with its call: it has ended, the call has been
// cancelled, or there is no place in the background.
func (p *parting) leave(open func() (*command.Job, error)) *command.Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	job, err := open()
	if err != nil {
		return nil
	}
	if !p.with() {
		job.Close()
		return nil
	}
	context.AfterFunc(job.Context(), func() { p.cancel(context.Cause(job.Context())) })
	p.job = job
	job.Started(p.artifact)
	return job
}

// started is command.Spec.Started.
func (p *parting) started(artifact string) {
	p.artifact = artifact
	close(p.begun)
}

// end says that the command has ended, and returns the job that it was then.
func (p *parting) end() *command.Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	return p.job
}
