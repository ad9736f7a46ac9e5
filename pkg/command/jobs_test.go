package command_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

func openJob(t *testing.T, jobs *command.Jobs, owner string) *command.Job {
	t.Helper()
	return check.Value(jobs.Open(command.JobSpec{Owner: owner, Connection: "line", Line: "sleep", Cwd: "."}))(t)
}

// runJob does what a command in the background does with its job.
func runJob(job *command.Job) {
	job.Started("out_of_" + job.ID())
	go func() {
		<-job.Context().Done()
		job.Ended(command.Result{Cancelled: true, ExitCode: 143}, "record of "+job.ID(), nil)
		job.Close()
	}()
}

func TestJobsAreTheirOwners(t *testing.T) {
	jobs := command.NewJobs(time.Now)
	job := openJob(t, jobs, "one")
	runJob(job)
	if !jobs.Holds("line") || jobs.Holds("other") || jobs.Holds("") {
		t.Error("the connection that started it does not count as busy, or another does")
	}
	if len(jobs.List("two")) != 0 || !jobs.Writes("out_of_"+job.ID()) {
		t.Error("the list of another owner has it, or its output does not count as being written")
	}
	if _, err := jobs.Stop(t.Context(), "two", job.ID()); !errors.Is(err, command.ErrNoJob) {
		t.Errorf("%v", err)
	}
	state, err := jobs.Stop(t.Context(), "one", job.ID())
	if err != nil || state.Running || state.EndedBy != command.ErrStopped.Error() || state.RecordID != "record of "+job.ID() || state.Result.ExitCode != 143 {
		t.Errorf("%+v %v", state, err)
	}
	check.That(t, !jobs.Holds("line"), "a connection is busy with what has ended")
	listed := jobs.List("one")
	check.That(t, len(listed) == 1 && !listed[0].Running && !jobs.Writes(state.ArtifactID), "%+v", listed)
	check.OK(t, jobs.Close(t.Context()))
	if _, err := jobs.Open(command.JobSpec{Owner: "one"}); !errors.Is(err, command.ErrServerEnded) {
		t.Errorf("%v", err)
	}
}

// One that is stopped before it runs says so; one that could not be started was ended by nobody.
func TestJobThatNeverRan(t *testing.T) {
	jobs := command.NewJobs(time.Now)
	for _, c := range []struct {
		stopped bool
		want    string
	}{{true, command.ErrStopped.Error()}, {false, ""}} {
		job := openJob(t, jobs, "one")
		if c.stopped {
			job.Stop()
		}
		job.Close()
		state := job.State()
		check.That(t, !state.Running && state.EndedBy == c.want, "%+v: %+v", c, state)
	}
	check.OK(t, jobs.Close(t.Context()))
}

func TestJobsAreBounded(t *testing.T) {
	jobs := command.NewJobs(time.Now)
	var first *command.Job
	for owner := range command.MaxJobs / command.MaxOwnJobs {
		for range command.MaxOwnJobs {
			job := openJob(t, jobs, string(rune('a'+owner)))
			runJob(job)
			if first == nil {
				first = job
			}
		}
		if _, err := jobs.Open(command.JobSpec{Owner: string(rune('a' + owner))}); !errors.Is(err, command.ErrTooManyJobs) {
			t.Errorf("one owner has too many: %v", err)
		}
	}
	if _, err := jobs.Open(command.JobSpec{Owner: "z"}); !errors.Is(err, command.ErrTooManyJobs) {
		t.Errorf("there are too many: %v", err)
	}
	first.Stop()
	<-first.Done()
	last := openJob(t, jobs, "z")
	runJob(last)
	for range 200 { // what has ended is forgotten in time
		if _, err := jobs.Stop(t.Context(), "z", last.ID()); err != nil {
			t.Fatal(err)
		}
		last = openJob(t, jobs, "z")
		runJob(last)
	}
	n := len(jobs.List("z"))
	check.That(t, n <= 100, "%d are remembered", n)
	check.OK(t, jobs.Close(t.Context()))
}

// A job ends when what it was started for is over, and says why.
func TestJobIsOver(t *testing.T) {
	jobs := command.NewJobsEvery(time.Now, time.Millisecond)
	over := make(chan struct{})
	job, err := jobs.Open(command.JobSpec{Owner: "one", Over: func() error {
		select {
		case <-over:
			return errors.New("its day is over")
		default:
			return nil
		}
	}})
	check.OK(t, err)
	runJob(job)
	close(over)
	<-job.Done()
	check.Equal(t, jobs.List("one")[0].EndedBy, "its day is over")
	check.OK(t, jobs.Close(t.Context()))
}

// Close waits no longer than it may.
func TestJobThatDoesNotEnd(t *testing.T) {
	jobs := command.NewJobs(time.Now)
	openJob(t, jobs, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := jobs.Close(ctx)
	check.That(t, errors.Is(err, context.Canceled), "%v", err)
}
