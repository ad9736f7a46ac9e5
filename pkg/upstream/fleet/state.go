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
	// PID is its first process, and Level how it is held; for a program that runs.
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
