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
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
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
			return &exitError{exit.code, err}
		default:
			return &exitError{exitFailed, err}
		}
	}
}
