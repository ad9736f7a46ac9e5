package command

import (
	"cmp"
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

	mu       sync.Mutex
	jobs     []*Job // in the order of their start
	closed   bool
	watching bool
	left     sync.WaitGroup
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
		if !job.running() {
			continue
		}
		all++
		if job.spec.Owner == spec.Owner {
			own++
		}
	}
	if own >= MaxOwnJobs || all >= MaxJobs {
		return nil, ErrTooManyJobs
	}
	job := &Job{
		id: newID(jobPrefix), spec: spec, jobs: j, began: spec.Began,
		started: make(chan struct{}), done: make(chan struct{}),
	}
	if job.began.IsZero() {
		job.began = j.clock()
	}
	job.ctx, job.cancel = context.WithCancelCause(j.base)
	j.jobs = append(j.jobs, job)
	j.left.Add(1)
	if !j.watching {
		j.watching = true
		go j.watch()
	}
	return job, nil
}

// watch ends the jobs that are over, and itself with the last job.
func (j *Jobs) watch() {
	tick := time.NewTicker(j.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-j.base.Done():
			return
		}
		for _, job := range j.runningNow() {
			if job.spec.Over == nil {
				continue
			}
			if err := job.spec.Over(); err != nil {
				job.cancel(err)
			}
		}
		if j.rest() {
			return
		}
	}
}

// rest reports that nothing runs and that the watch is over.
func (j *Jobs) rest() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watching = slices.ContainsFunc(j.jobs, (*Job).running)
	return !j.watching
}

func (j *Jobs) runningNow() []*Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.jobs), func(job *Job) bool { return !job.running() })
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
	job := j.find(owner, id)
	if job == nil {
		return JobState{}, ErrNoJob
	}
	job.Stop()
	select {
	case <-job.done:
	case <-ctx.Done():
		return job.State(), context.Cause(ctx)
	}
	return job.State(), nil
}

func (j *Jobs) find(owner, id string) *Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := slices.IndexFunc(j.jobs, func(job *Job) bool { return job.id == id && job.spec.Owner == owner })
	if at < 0 {
		return nil
	}
	return j.jobs[at]
}

// Writes reports whether a job is still writing the output.
func (j *Jobs) Writes(artifact string) bool {
	return artifact != "" && slices.ContainsFunc(j.runningNow(), func(job *Job) bool { return job.State().ArtifactID == artifact })
}

// Holds reports whether a job runs that a connection started.
func (j *Jobs) Holds(connection string) bool {
	return connection != "" && slices.ContainsFunc(j.runningNow(), func(job *Job) bool { return job.spec.Connection == connection })
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
		return cmp.Or(context.Cause(ctx), ctx.Err())
	}
}

// forget drops the oldest of those that have ended.
func (j *Jobs) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	ended := 0
	for _, job := range j.jobs {
		if !job.running() {
			ended++
		}
	}
	j.jobs = slices.DeleteFunc(j.jobs, func(job *Job) bool {
		if ended <= keptJobs || job.running() {
			return false
		}
		ended--
		return true
	})
}
