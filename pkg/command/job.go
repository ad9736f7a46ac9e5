package command

import (
	"context"
	"errors"
	"sync"
	"time"
)

const jobPrefix = "cmd_"

// Job is one command in the background.
type Job struct {
	spec JobSpec
	jobs *Jobs

	ctx    context.Context
	cancel context.CancelCauseFunc

	started chan struct{} // closed by start, when the command runs
	start   func()
	done    chan struct{} // closed by close, when nothing is left of it
	close   func()

	mu    sync.Mutex
	state JobState // but for what State works out
}

// JobState is a job at one moment.
type JobState struct {
	ID, Line, Cwd, Intent string
	Running               bool
	Began                 time.Time
	// Duration is until now, or until the end.
	Duration   time.Duration
	ArtifactID string
	// Result is there once the command has ended; nil for one that runs or that could not be started.
	Result *Result
	// RecordID is the ledger's record of the end, as Ended was told.
	RecordID string
	Report   any
	// EndedBy says why it was ended before it ended by itself; "" if it was not.
	EndedBy string
}

// ID names the job for its owner.
func (b *Job) ID() string { return b.state.ID }

// Context ends when the job is to end.
func (b *Job) Context() context.Context { return b.ctx }

// Started says that the command runs; artifact names its output. It is for Spec.Started.
func (b *Job) Started(artifact string) {
	b.mu.Lock()
	b.state.ArtifactID = artifact
	b.mu.Unlock()
	b.start()
}

// Running is closed when the command runs.
func (b *Job) Running() <-chan struct{} { return b.started }

// Done is closed by Close.
func (b *Job) Done() <-chan struct{} { return b.done }

// Ended says how the command ended, and which record of the ledger tells of it. The report is for whoever lists jobs.
func (b *Job) Ended(result Result, record string, report any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Result, b.state.RecordID, b.state.Report = &result, record, report
}

// Stop has the job end; Done tells when it has.
func (b *Job) Stop() { b.cancel(ErrStopped) }

// EndedBy says why the job was ended before it ended by itself; "" if it was not.
func (b *Job) EndedBy() string {
	if b.ctx.Err() == nil {
		return ""
	}
	return context.Cause(b.ctx).Error()
}

// Close gives the place of the job back. What is known of it stays in lists for a while.
func (b *Job) Close() { b.close() }

func (b *Job) finish() {
	b.mu.Lock()
	b.state.Duration = b.jobs.clock().Sub(b.state.Began)
	b.mu.Unlock()
	close(b.done)
	b.cancel(errJobOver)
	b.jobs.forget()
	b.jobs.left.Done()
}

// watch ends a job that is over.
func (b *Job) watch() {
	tick := time.NewTicker(b.jobs.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := b.spec.Over(); err != nil {
				b.cancel(err)
			}
		case <-b.ctx.Done():
			return
		}
	}
}

// errJobOver is the cause of the context of a job that ended by itself.
var errJobOver = errors.New("it has ended")

func (b *Job) running() bool {
	select {
	case <-b.done:
		return false
	default:
		return true
	}
}

// State is what is known of the job now.
func (b *Job) State() JobState {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state
	if s.Running = b.running(); s.Running {
		s.Duration = b.jobs.clock().Sub(s.Began)
	}
	// One that was ended before it ran has no result.
	ended := s.Result == nil && !s.Running && b.ctx.Err() != nil || s.Result != nil && s.Result.Cancelled
	if why := context.Cause(b.ctx); ended && !errors.Is(why, errJobOver) {
		s.EndedBy = why.Error()
	}
	return s
}
