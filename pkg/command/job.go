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
	id   string
	spec JobSpec
	jobs *Jobs

	ctx    context.Context
	cancel context.CancelCauseFunc
	began  time.Time

	start   sync.Once
	started chan struct{} // closed when the command runs
	close   sync.Once
	done    chan struct{} // closed when nothing is left of it

	mu       sync.Mutex
	artifact string
	result   *Result
	record   string
	report   any
	took     time.Duration
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
func (b *Job) ID() string { return b.id }

// Context ends when the job is to end.
func (b *Job) Context() context.Context { return b.ctx }

// Started says that the command runs; artifact names its output. It is for Spec.Started.
func (b *Job) Started(artifact string) {
	b.mu.Lock()
	b.artifact = artifact
	b.mu.Unlock()
	b.start.Do(func() { close(b.started) })
}

// Running is closed when the command runs.
func (b *Job) Running() <-chan struct{} { return b.started }

// Done is closed by Close.
func (b *Job) Done() <-chan struct{} { return b.done }

// Ended says how the command ended, and which record of the ledger tells of it. The report is for whoever lists jobs.
func (b *Job) Ended(result Result, record string, report any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result, b.record, b.report = &result, record, report
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
func (b *Job) Close() {
	b.close.Do(func() {
		b.mu.Lock()
		b.took = b.jobs.clock().Sub(b.began)
		b.mu.Unlock()
		close(b.done)
		b.cancel(errJobOver)
		b.jobs.forget()
		b.jobs.left.Done()
	})
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
	s := JobState{
		ID: b.id, Line: b.spec.Line, Cwd: b.spec.Cwd, Intent: b.spec.Intent, Running: b.running(), Began: b.began,
		Duration: b.took, ArtifactID: b.artifact, Result: b.result, RecordID: b.record, Report: b.report,
	}
	if s.Running {
		s.Duration = b.jobs.clock().Sub(b.began)
	}
	// One that was ended before it ran has no result.
	ended := b.result == nil && !s.Running && b.ctx.Err() != nil || b.result != nil && b.result.Cancelled
	if ended && !errors.Is(context.Cause(b.ctx), errJobOver) {
		s.EndedBy = context.Cause(b.ctx).Error()
	}
	return s
}
