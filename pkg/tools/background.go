package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// earlyFailure is how long the start of a command in the background waits for
// its end: what fails at once says so in the answer.
const earlyFailure = 500 * time.Millisecond

// owner is whom a command in the background belongs to: the session, or the
// connection where there is none; "" where there is neither.
func owner(call *hooks.Call) string {
	switch {
	case call.Session != nil:
		return "session " + call.Session.PublicID()
	case call.Caller.Connection != "" && errors.Is(call.SessionErr, session.ErrNone):
		return "connection " + call.Caller.Connection + "\x00" + call.Caller.Principal
	}
	return ""
}

// start starts a command in the background. The command itself is a call of its own behind this one (Engine.Continue):
// journaled, and recorded when it ends. What this one records is that it was started.
func (c *commandCall) start(ctx context.Context) (*hooks.Outcome, error) {
	job, err := c.openJob(c.Clock())
	if err != nil {
		return nil, jobProblem(err)
	}
	behind := &behindCall{commandCall: *c}
	behind.job, behind.call = job, c.call.Detached()
	ended := make(chan hooks.Result, 1)
	go behind.run(context.WithoutCancel(ctx), ended)
	if failed := c.await(ctx, job, ended); failed != nil {
		return nil, failed
	}
	c.job = job
	return c.started(behind.profile.Warnings), nil
}

// started is the outcome of a call whose command has become a job.
func (c *commandCall) started(warnings []string) *hooks.Outcome {
	o := c.outcome(-1)
	o.Started = true
	return &hooks.Outcome{Command: o, Warnings: warnings, Settlement: &runningJob{c.job}}
}

func (c *commandCall) openJob(began time.Time) (*command.Job, error) {
	return c.Jobs.Open(command.JobSpec{
		Owner: owner(c.call), Connection: c.call.Caller.Connection, Line: c.args.Command, Cwd: c.cwd.Path, Intent: c.call.RecordedIntent(),
		Began: began, Over: c.over(),
	})
}

// await returns when the command has run for a moment, or has ended. A call
// that is cancelled so far takes its command with it.
func (c *commandCall) await(ctx context.Context, job *command.Job, ended <-chan hooks.Result) *refusal.Refusal {
	select {
	case <-job.Running():
	case result := <-ended:
		if result.IsError {
			return result.Refusal // it did not start
		}
		return nil
	}
	moment := time.NewTimer(earlyFailure)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-ended:
	case <-ctx.Done():
		job.Stop()
		<-job.Done()
	}
	return nil
}

// over says why a command in the background must end: what it was started for has ended.
func (c *commandCall) over() func() error {
	call, intents := c.call, c.Intents
	return func() error {
		if call.Session != nil && call.Session.ExpiresIn() <= 0 {
			return errors.New("its session has expired")
		}
		if call.Intent == nil {
			return nil
		}
		set, err := intents.Load()
		if err != nil {
			return nil // somebody is writing it; the next look tells
		}
		in, ok := set.Get(call.Intent.ID)
		switch {
		case !ok:
			return fmt.Errorf("its intent %s is gone", call.Intent.ID)
		case !in.Status.Selectable():
			return fmt.Errorf("its intent %s is %s", in.ID, in.Status)
		}
		return nil
	}
}

func jobProblem(err error) error {
	if errors.Is(err, command.ErrTooManyJobs) {
		return refusal.Newf(refusal.Busy, "At most %d commands of a session run in the background, and %d in all. Nothing was started.", command.MaxOwnJobs, command.MaxJobs).
			Suggest("Wait until one ends, or end one with stop_command (list_commands shows them); then send the call again.")
	}
	return refusal.Newf(refusal.Cancelled, "The server is ending (%v); the command was not started.", err)
}

// runningJob takes a start back that the ledger did not take.
type runningJob struct{ job *command.Job }

func (r *runningJob) Rollback(ctx context.Context) error {
	r.job.Stop()
	select {
	case <-r.job.Done():
		return errors.New("the command had started; it was ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *runningJob) Close() error { return nil }

// behindCall is a command in the background, or one that may go there, from its start to its end.
type behindCall struct{ commandCall }

var _ hooks.Planned = (*behindCall)(nil)

func (b *behindCall) run(ctx context.Context, ended chan<- hooks.Result) {
	result := b.engine.Continue(ctx, b.call, b)
	if b.parting != nil {
		b.job = b.parting.end() // also of one that never ran
	}
	_ = b.dropStage() // of one that has no result
	if b.job != nil {
		if result.IsError && b.result.OutputHash != "" {
			b.job.Ended(b.result, "", nil) // it ran, and there is no record of its end
		}
		b.job.Close()
	}
	ended <- result
}

// Result of a command in the background is for nobody: who wants to know asks list_commands.
func (b *behindCall) Result(o *hooks.Outcome) (hooks.Result, error) {
	if b.job == nil {
		return b.commandCall.Result(o)
	}
	changed, _ := changedFiles(o, nil)
	recordID := o.RecordID
	err := b.takeOver(o.RecordID)
	if s := b.stage; s != nil && s.taken != nil {
		changed, recordID = s.taken.ChangedFiles, s.taken.RecordID
	}
	b.job.Ended(b.result, recordID, changed)
	return hooks.Result{}, err
}

// startResult is the answer to the start of a command in the background.
func (c *commandCall) startResult(o *hooks.Outcome) (hooks.Result, error) {
	state := c.job.State()
	result := commandResult{
		DurationMS: state.Duration.Milliseconds(), ArtifactID: state.ArtifactID, ChangedFiles: []changedFile{}, Sandbox: o.Command.Sandbox,
		RecordID: o.RecordID, Warnings: append([]string{}, o.Warnings...), CommandID: state.ID, Running: state.Running, editedByOperator: editedByOperator{o.Edited},
	}
	var b strings.Builder
	if r := state.Result; r != nil {
		c.result = *r
		result.ProcessLimit = limitOf(r.Limit)
		result.ExitCode, result.TimedOut, result.Truncated = &r.ExitCode, r.TimedOut, r.Truncated
		fmt.Fprintf(&b, "The command has ended already, with exit code %d.\n", r.ExitCode)
		result.Output, result.RecordID = r.Output, cmp.Or(state.RecordID, o.RecordID)
		result.ChangedFiles = changedOf(state)
	} else {
		if chunk, err := c.Artifacts.For(c.call.Caller.Principal).ReadBytes(state.ArtifactID, 0, 0); err == nil {
			result.Output, result.Truncated = chunk.Text, chunk.Next > 0
		}
		if c.parting != nil {
			fmt.Fprintf(&b, "The command takes longer than %v, so it goes on without this call, for at most %v in all. Nothing has to be started again.\n", c.HandOver, c.timeout())
		}
		fmt.Fprintf(&b, "The command runs in the background as %s; read_command_output with artifact_id: %q reads what it prints.\n", state.ID, state.ArtifactID)
	}
	fmt.Fprintf(&b, "[sandbox: %s, record: %s]\n%s", result.Sandbox, o.RecordID, result.Output)
	b.WriteString(editedText(o) + warned(result.Warnings))
	return hooks.NewResult(b.String(), result)
}

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
