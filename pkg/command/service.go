package command

import (
	"cmp"
	"fmt"
	"os"
	"sync"
	"time"
)

// closeGrace is how long a service may take to end when its input has ended, before it is asked to by SIGTERM.
const closeGrace = 500 * time.Millisecond

// Service is a program that lives beside the server and talks with it by its standard streams, such as an MCP server whose client
// we are. It is held, counted, marked and killed as a command is, and dies with its descendants when its first process does.
type Service struct {
	// Input and Output are our ends of its standard input and output; Errors is that of its standard error. Who started it reads both
	// outputs until they end: a service whose pipe is full stands still. End closes Input; the outputs are the caller's to close, after
	// Done.
	Input, Output, Errors *os.File

	shell *process
	pid   int
	ask   func() // to end
	asked chan struct{}
	done  chan struct{}
	// result is how it ended, for when done is closed.
	result Result

	holding sync.Mutex
	ending  bool // it is not held any more
}

// Serve starts a service. Of spec it takes Command or Program, Dir, Env, Level, Profile and MaxProcesses. A service takes no turn
// from commands and has no time limit: it lives until it ends, End is called or this process dies. The errors are those of Run.
func (r *Runner) Serve(spec Spec) (*Service, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	spec.MaxProcesses = cmp.Or(spec.MaxProcesses, r.maxProcesses)
	ours, theirs, err := openPipes(true, true)
	if err != nil {
		return nil, fmt.Errorf("start a service: %w", err)
	}
	shell, err := r.startSteadily(&spec, theirs)
	theirs.close()
	if err != nil {
		ours.close()
		return nil, fmt.Errorf("start a service in %s: %w", spec.Dir.Name(), err)
	}
	s := &Service{
		Input: ours.input, Output: ours.output, Errors: ours.errors,
		shell: shell, pid: shell.id(), asked: make(chan struct{}), done: make(chan struct{}),
	}
	s.ask = sync.OnceFunc(func() { close(s.asked) })
	go s.live()
	return s, nil
}

// PID is its first process, which at the level full is the one that holds it.
func (s *Service) PID() int { return s.pid }

// Done is closed when nothing of the service is left, whatever ended it.
func (s *Service) Done() <-chan struct{} { return s.done }

// Result says how it ended: ExitCode, Signal, Limit, Survivors, Warnings. It is for when Done is closed.
func (s *Service) Result() Result { return s.result }

// End has the service end, and returns at once: its input ends, half a second later it is told to end, and is killed soon after, all in
// about a second. It may be called more than once, and at any time.
func (s *Service) End() { s.ask() }

// Hold stops all of the service until Release, on Windows nothing of it: it does nothing in between, whatever it has begun. What it
// is sent waits for it. When it ends, neither has an effect.
func (s *Service) Hold() { s.unlessEnding(s.shell.hold) }

// Release has what Hold stopped go on.
func (s *Service) Release() { s.unlessEnding(s.shell.resume) }

func (s *Service) unlessEnding(do func()) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if !s.ending {
		do()
	}
}

// live waits for the end and leaves nothing running.
func (s *Service) live() {
	defer close(s.done)
	select {
	case <-s.shell.ended:
	case <-s.shell.tooMany():
	case <-s.asked:
		s.Release() // it may end by itself
		s.Input.Close()
		if !within(closeGrace, s.shell.ended) {
			s.shell.interrupt()
			within(termGrace, s.shell.ended)
		}
	}
	s.unlessEnding(func() { s.ending = true })
	s.result.Survivors = s.shell.sweep(killGrace)
	s.shell.bounded(&s.result)
	s.result.ExitCode, s.result.Signal = s.shell.reap()
	s.Input.Close()
}
