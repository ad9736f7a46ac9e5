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
