package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

const (
	// termGrace is how long a command that has to end may clean up after SIGTERM, before it is killed.
	termGrace = 250 * time.Millisecond
	// drainGrace is how long what a shell left running may go on printing, such as `> >(tee log)` does. Then it is killed.
	drainGrace = 500 * time.Millisecond
	// killGrace is how long processes may take to die.
	killGrace = 5 * time.Second
	// startsAgain is how often a command is started again because files were replaced meanwhile, as editors and the
	// server's own tools do.
	startsAgain = 5
	// maxRunning is how many commands run at a time, those in the background included; the others wait for their turn, in
	// which no timeout passes.
	maxRunning = 64 + MaxJobs
)

// Options are what a Runner needs from its server.
type Options struct {
	// Artifacts keeps the outputs; nil keeps none.
	Artifacts *Artifacts

	// MaxProcesses bounds the processes of a command whose Spec gives no bound; 0 is DefaultMaxProcesses.
	MaxProcesses int

	// AdoptOrphans makes the whole process the parent of processes that lose theirs (Linux: PR_SET_CHILD_SUBREAPER), so
	// that a command's daemon cannot hide by losing its parent. It is for a server that has its process to itself:
	// only one Runner may have it, and every child of this process that is in a session of its own and was not started
	// by this Runner is taken for a command's and killed with it.
	AdoptOrphans bool
}

// Runner runs commands. It is for concurrent use.
type Runner struct {
	artifacts    *Artifacts
	maxProcesses int
	shell        string
	dialect      string
	family       *family
	start        func(shell string, spec *Spec, theirs streams) (*process, error) // the family's
	running      chan struct{}                                                    // holds one token for each command
}

// NewRunner returns a Runner, or ErrUnsupported or ErrNoShell.
func NewRunner(options Options) (*Runner, error) {
	shell, dialect, err := Shell()
	if err != nil {
		return nil, err
	}
	family, err := newFamily(options.AdoptOrphans)
	if err != nil {
		return nil, err
	}
	return &Runner{
		artifacts: options.Artifacts, maxProcesses: cmp.Or(options.MaxProcesses, DefaultMaxProcesses), shell: shell, dialect: dialect, family: family,
		start: family.start, running: make(chan struct{}, maxRunning),
	}, nil
}

// Shell returns the program that runs the commands and its dialect, as the function Shell does.
func (r *Runner) Shell() (path, dialect string) { return r.shell, r.dialect }

// MaxProcesses is how many processes a command can have whose Spec gives no bound.
func (r *Runner) MaxProcesses() int { return r.maxProcesses }

// Running is how many commands run now.
func (r *Runner) Running() int { return len(r.running) }

// Run runs one command to its end and returns what became of it. The error is not nil only if nothing was started:
// ErrInvalidSpec, ErrNotStarted if ctx has ended already, or what the system said.
func (r *Runner) Run(ctx context.Context, spec Spec) (Result, error) {
	if err := spec.validate(); err != nil {
		return Result{}, err
	}
	if spec.MaxProcesses == 0 {
		spec.MaxProcesses = r.maxProcesses
	}
	select {
	case r.running <- struct{}{}:
		defer func() { <-r.running }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, context.Cause(ctx))
	}
	var result Result
	out := newSink(r.createArtifact(&spec, &result), startProgress(spec.Progress))
	apart := newSink(nil, nil)
	started := time.Now()
	err := r.run(ctx, &spec, out, apart, &result)
	result.Duration = time.Since(started)
	out.progress.stop()
	out.finish(&result)
	if spec.Apart {
		result.Errors = apart.text(&Result{})
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// createArtifact returns nil if the output cannot be kept: that is no reason not to run a command.
func (r *Runner) createArtifact(spec *Spec, result *Result) *ArtifactWriter {
	if r.artifacts == nil || spec.Unkept {
		return nil
	}
	artifact, err := r.artifacts.For(spec.Owner).CreateAs(cmp.Or(spec.Artifact, NewArtifactID()), cmp.Or(spec.OutputCap, DefaultOutputCap))
	if err != nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("The output is not kept: %v", err))
		return nil
	}
	return artifact
}

// run starts the shell, waits for what comes first of its end, the time and the context, and leaves nothing running.
func (r *Runner) run(ctx context.Context, spec *Spec, out, apart *sink, result *Result) error {
	ours, theirs, err := openStreams(spec)
	if err != nil {
		return fmt.Errorf("start command: %w", err)
	}
	defer ours.close()
	shell, err := r.startSteadily(spec, theirs)
	if spec.Through == nil {
		theirs.close()
	}
	if err != nil {
		return fmt.Errorf("start command in %s: %w", spec.Dir.Name(), err)
	}
	if spec.Started != nil {
		spec.Started(out.artifactID())
	}
	ours.feed(spec.Input)
	drained := ours.drain(out, apart)

	await(ctx, cmp.Or(spec.Timeout, DefaultTimeout), shell, result)
	switch {
	case result.TimedOut || result.Cancelled:
	case spec.Through != nil:
		result.Left = lingers(shell)
	default: // what the shell left running may go on printing
		select {
		case <-drained:
		case <-time.After(drainGrace):
		case <-shell.tooMany():
		}
	}
	result.Survivors = shell.sweep(killGrace)
	shell.bounded(result)
	if !within(drainGrace, drained) {
		ours.hurry()
		<-drained
	}
	result.ExitCode, result.Signal = shell.reap()
	result.Single = shell.single() && len(result.Survivors) == 0
	if len(result.Survivors) > 0 {
		result.Warnings = append(result.Warnings,
			fmt.Sprintf("Processes of the command could not be ended: %v.", result.Survivors))
	}
	return nil
}

func (r *Runner) startSteadily(spec *Spec, theirs streams) (*process, error) {
	shell, err := r.start(r.shell, spec, theirs)
	for again := 0; errors.Is(err, sandbox.ErrMoved) && again < startsAgain; again++ {
		shell, err = r.start(r.shell, spec, theirs)
	}
	return shell, err
}

// await returns when the shell has ended, or has been told to end and had its time for it.
func await(ctx context.Context, timeout time.Duration, shell *process, result *Result) {
	select {
	case <-shell.ended:
		return
	case <-time.After(timeout):
		result.TimedOut = true
	case <-ctx.Done():
		result.Cancelled = true
	case <-shell.tooMany():
		return // it is not asked: each moment makes more of them
	}
	shell.interrupt()
	within(termGrace, shell.ended)
}

// lingers gives what the shell left running its time to print, and reports whether it still runs then.
func lingers(shell *process) bool {
	late := time.After(drainGrace)
	for pause := time.Millisecond; shell.busy(); pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-late:
			return true
		case <-shell.tooMany():
			return true
		case <-time.After(pause):
		}
	}
	return false
}

// EndAbandoned ends what commands of servers left that died without ending them (SIGKILL), and returns the process ids.
// It is for a server that has its process to itself, and takes some milliseconds. A server that lives is left alone, and
// so is one in another container.
func (r *Runner) EndAbandoned() []int { return r.family.endAbandoned() }

// EndAbandonedBy does so when a process has died that is about to: it has closed its files, and may still count as alive.
func (r *Runner) EndAbandonedBy(pid int) []int {
	awaitEnd(pid)
	return r.EndAbandoned()
}

// within reports whether done is closed before the grace is over.
func within(grace time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(grace):
		return false
	}
}
