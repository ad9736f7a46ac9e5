package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// errGoverned is the refusal of an operator's command to an agent.
var errGoverned = errors.New("this is a command for the operator, and it was started by a command of a governed server: " +
	"run it from a terminal of your own")

// operator is run for commands that change what agents may do. An agent that can run commands could otherwise widen its
// own scope. A process that left its session and its parents and cleared its environment is not recognised: only a
// sandbox, which this version does not have, could keep it from the files.
func (a *app) operator(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return a.run(func(cmd *cobra.Command, args []string) error {
		if a.governed() {
			return errGoverned
		}
		return body(cmd, args)
	})
}

// governed: an agent started this process, as far as can be seen.
func (a *app) governed() bool {
	marker, _ := a.lookup(command.MarkerVariable)
	return marker != "" || belowGovernedServer()
}
