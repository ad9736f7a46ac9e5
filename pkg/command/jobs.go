package command

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// MaxOwnJobs is how many commands one owner can have in the background, MaxJobs how many all of them can have.
	MaxOwnJobs = 8
	MaxJobs    = 32
	// MaxJobTime ends a command in the background that nothing else ends.
	MaxJobTime = 24 * time.Hour
	// keptJobs is how many are remembered after their end.
	keptJobs = 64
	// overInterval is how often it is looked whether what a command was started for is over.
	overInterval = 2 * time.Second
)

// Why a command in the background was ended before it ended by itself, as the cause of its context.
var (
	ErrStopped     = errors.New("stopped by its session")
	ErrServerEnded = errors.New("ended with the server")
)

// Jobs are the commands that run in the background of one server. It does not start them: it gives each a place, an
// owner and a context, which ends with the server. It is for concurrent use.
type Jobs struct {
	clock func() time.Time
	every time.Duration

	base context.Context
	end  context.CancelCauseFunc

	mu     sync.Mutex
	jobs   []*Job // in the order of their start
	closed bool
	left   sync.WaitGroup
}

// NewJobs returns a table without jobs. Close ends it.
func NewJobs(clock func() time.Time) *Jobs {
	j := &Jobs{clock: clock, every: overInterval}
	j.base, j.end = context.WithCancelCause(context.Background())
	return j
}

// JobSpec is what is known of a job before it starts.
type JobSpec struct {
	// Owner is who can see and stop it; not empty.
	Owner string
	// Connection is the one that started it; "" for none.
	Connection string
	// Line is shown in lists; Cwd and Intent too.
	Line, Cwd, Intent string
	// Began is when the command began; zero is now.
	Began time.Time
	// Over, if set, is asked now and then, and says why the job must end; nil as long as it may go on.
	Over func() error
}

// Open gives a job its place: ErrTooManyJobs, or ErrServerEnded after Close. Job.Close gives it back.
func (j *Jobs) Open(spec JobSpec) (*Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, ErrServerEnded
	}
	own, all := 0, 0
	for _, job := range j.jobs {
		if job.running() {
			all++
			if job.spec.Owner == spec.Owner {
				own++
			}
		}
	}
	if own >= MaxOwnJobs || all >= MaxJobs {
		return nil, ErrTooManyJobs
	}
	job := &Job{spec: spec, jobs: j, started: make(chan struct{}), done: make(chan struct{})}
	job.start, job.close = sync.OnceFunc(func() { close(job.started) }), sync.OnceFunc(job.finish)
	job.state = JobState{ID: newID(jobPrefix), Line: spec.Line, Cwd: spec.Cwd, Intent: spec.Intent, Began: spec.Began}
	if spec.Began.IsZero() {
		job.state.Began = j.clock()
	}
	job.ctx, job.cancel = context.WithCancelCause(j.base)
	j.jobs = append(j.jobs, job)
	j.left.Add(1)
	if spec.Over != nil {
		go job.watch()
	}
	return job, nil
}

// any reports whether a job runs of which something holds.
func (j *Jobs) any(holds func(*Job) bool) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.jobs, func(job *Job) bool { return job.running() && holds(job) })
}

// List returns the jobs of an owner: those that run, and the last that ended, in the order of their start.
func (j *Jobs) List(owner string) []JobState {
	j.mu.Lock()
	defer j.mu.Unlock()
	var states []JobState
	for _, job := range j.jobs {
		if job.spec.Owner == owner {
			states = append(states, job.State())
		}
	}
	return states
}

// Stop ends a job of an owner and returns when nothing is left of it, or ctx is done. A job that has ended is left as
// it is. ErrNoJob: there is none, or it is another's.
func (j *Jobs) Stop(ctx context.Context, owner, id string) (JobState, error) {
	j.mu.Lock()
	at := slices.IndexFunc(j.jobs, func(job *Job) bool { return job.ID() == id && job.spec.Owner == owner })
	if at < 0 {
		j.mu.Unlock()
		return JobState{}, ErrNoJob
	}
	job := j.jobs[at]
	j.mu.Unlock()
	job.Stop()
	select {
	case <-job.done:
		return job.State(), nil
	case <-ctx.Done():
		return job.State(), context.Cause(ctx)
	}
}

// Writes reports whether a job is still writing the output.
func (j *Jobs) Writes(artifact string) bool {
	return artifact != "" && j.any(func(job *Job) bool { return job.State().ArtifactID == artifact })
}

// Holds reports whether a job runs that a connection started.
func (j *Jobs) Holds(connection string) bool {
	return connection != "" && j.any(func(job *Job) bool { return job.spec.Connection == connection })
}

// Close ends all jobs and returns when the last one is closed, or ctx is done.
func (j *Jobs) Close(ctx context.Context) error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.end(ErrServerEnded)
	done := make(chan struct{})
	go func() {
		j.left.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forget drops the oldest of those that have ended.
func (j *Jobs) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	ended := 0
	for i := len(j.jobs) - 1; i >= 0; i-- {
		if j.jobs[i].running() {
			continue
		}
		if ended++; ended > keptJobs {
			j.jobs = slices.Delete(j.jobs, i, i+1)
		}
	}
}

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
