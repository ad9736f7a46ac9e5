package fleet

import (
	"time"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Status is how a server fares.
type Status string

// The states of servers.
const (
	Idle     Status = "not started"
	Starting Status = "starting"
	Running  Status = "running"
	Failing  Status = "failing" // Why says why
	Ended    Status = "ended"   // with the fleet
)

// State is one server's. Its texts are safe to print.
type State struct {
	Name   string
	HTTP   bool
	Status Status
	// PID is its first process, for a program that runs. Level is how it is held, or would be.
	PID   int
	Level sandbox.Level
	// Since is when it was started.
	Since time.Time
	// Why is what the last start or life ended with, and Next when it can be started again.
	Why  string
	Next time.Time
	// Printed is the end of what a program that failed wrote to standard error.
	Printed string
	// Warnings are sentences about what the running program can or cannot reach.
	Warnings []string
	// Identity is what it said of itself.
	Identity mcpclient.Identity
	// InFlight is how many requests it has now, Dropped what it sent in vain.
	InFlight int
	Dropped  mcpclient.Dropped
}

// States are those of the servers, in the order of the definitions.
func (f *Fleet) States() []State {
	states := make([]State, len(f.servers))
	for i, s := range f.servers {
		states[i] = s.state()
	}
	return states
}

func (s *server) state() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{Name: s.def.Name, HTTP: s.def.HTTP(), Status: Idle, InFlight: len(s.slots)}
	if !s.def.HTTP() {
		state.Level, _ = s.fleet.o.Sandbox.Level() // what it requires, the start says
	}
	switch {
	case s.closed:
		state.Status = Ended
	case s.live != nil:
		state.Status, state.Since, state.PID = Running, s.live.since, s.live.pid()
		state.Identity, state.Dropped = s.live.client.Identity(), s.live.client.Dropped()
		if p := s.live.process; p != nil {
			state.Level, state.Warnings = p.level, p.warnings
		}
	case s.starting != nil:
		state.Status = Starting
	case s.why != nil:
		state.Status = Failing
	}
	if s.why != nil && s.live == nil {
		state.Why, state.Next, state.Printed = s.why.Error(), s.next, s.printed
	}
	return state
}
