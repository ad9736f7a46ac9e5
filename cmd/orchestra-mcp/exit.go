package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes of every subcommand.
const (
	exitDone   = 0
	exitFound  = 1 // the check found something
	exitUsage  = 2
	exitFailed = 3 // could not run
)

// exitError is an error with the exit code that it means. An empty text is not printed: the command has said it all.
type exitError struct {
	code int
	err  error
	help bool // how the command is used is worth telling
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf is a command line that cannot be meant so.
func usageErrorf(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), help: true}
}

// mistakef is a command line that names what is not there, or asks for what is not possible now. How the command is used
// would not help.
func mistakef(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// foundf ends a check that found what the message says.
func foundf(format string, args ...any) *exitError {
	return &exitError{code: exitFound, err: fmt.Errorf(format, args...)}
}

// foundSomething ends a check that has printed what it found.
func foundSomething() *exitError { return &exitError{code: exitFound} }

// run makes an ordinary error of a command one of code 3; one that wraps an exitError keeps its code.
func (a *app) run(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := body(cmd, args)
		var exit *exitError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &exit) && err == error(exit):
			return exit
		case exit != nil:
			return &exitError{exit.code, err, exit.help}
		default:
			return &exitError{code: exitFailed, err: err}
		}
	}
}
