package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/pkg/command"
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

// usageErrorf is a command line that cannot be meant so. Strings among the arguments are made safe for a terminal, as they
// are by mistakef and foundf.
func usageErrorf(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, printer.Safe(args)...), help: true}
}

// mistakef is a command line that names what is not there, or asks for what is not possible now. How the command is used
// would not help.
func mistakef(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, printer.Safe(args)...)}
}

// foundf ends a check that found what the message says.
func foundf(format string, args ...any) *exitError {
	return &exitError{code: exitFound, err: fmt.Errorf(format, printer.Safe(args)...)}
}

// foundSomething ends a check that has printed what it found.
func foundSomething() *exitError { return &exitError{code: exitFound} }

// found ends a check that has printed what it found, if anything.
func found(something bool) error {
	if something {
		return foundSomething()
	}
	return nil
}

// body is what a subcommand does.
type body func(ctx context.Context, args []string) error

// withoutJSON is the annotation of a subcommand that prints nothing for a script: why.
const withoutJSON = "without JSON"

// command completes a subcommand that prints JSON with --json. It takes no arguments unless it says which.
func (a *app) command(cmd *cobra.Command, do body) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	cmd.RunE = coded(do)
	return cmd
}

// operatorCommand is command for what only the operator may do.
func (a *app) operatorCommand(cmd *cobra.Command, do body) *cobra.Command {
	return a.command(cmd, a.operator(do))
}

// coded makes an ordinary error of a command one of code 3; one that wraps an exitError keeps its code.
func coded(do body) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd.Context(), args)
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

// errGoverned is the refusal of an operator's command to an agent.
var errGoverned = errors.New("this is a command for the operator, and it was started by a command of a governed server: " +
	"run it from a terminal of your own")

// operator is for commands that change what agents may do. An agent that can run commands could otherwise widen its own
// scope. A process that left its session and its parents and cleared its environment is not recognised: only a sandbox
// keeps it from the files.
func (a *app) operator(do body) body {
	return func(ctx context.Context, args []string) error {
		if a.governed() {
			return errGoverned
		}
		return do(ctx, args)
	}
}

// governed: an agent started this process, as far as can be seen.
func (a *app) governed() bool {
	marker, _ := a.lookup(command.MarkerVariable)
	return marker != "" || belowGovernedServer()
}

// paged lets a command print through the pager.
func (a *app) paged(do body) body {
	return func(ctx context.Context, args []string) error { return a.Paged(func() error { return do(ctx, args) }) }
}

// interruptible ends a command's context by an interrupt, so that it can clean up.
func interruptible(do body) body {
	return func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		return do(ctx, args)
	}
}

// inWorkspace opens the workspace for the time of a command.
func (a *app) inWorkspace(do func(ctx context.Context, root *os.Root) error) body {
	return func(ctx context.Context, _ []string) error {
		return a.withWorkspace(func(root *os.Root) error { return do(ctx, root) })
	}
}

// answer prints what a command found: as JSON with --json, else as show does.
func (a *app) answer(value any, show func()) {
	if a.json {
		a.JSON(value)
	} else {
		show()
	}
}

// warn tells on standard error what an answer cannot say.
func (a *app) warn(format string, args ...any) { a.tell("orchestra-mcp: "+format, args...) }

// tell is warn without the program's name.
func (a *app) tell(format string, args ...any) {
	printer.Fprintf(a.err, format+"\n", args...)
}
