package command

import "errors"

// Errors of this package, for errors.Is.
var (
	// ErrUnsupported: this operating system has no way to run commands under control. From Shell and Run.
	ErrUnsupported = errors.New("commands are not supported on this operating system")

	// ErrNoShell: neither bash nor sh was found. From Shell and Run.
	ErrNoShell = errors.New("no shell was found")

	// ErrInvalidSpec: the command line, the directory or a limit cannot be used; nothing was started. From Run.
	ErrInvalidSpec = errors.New("the command cannot be run as given")

	// ErrNotStarted: the context had ended before the command was started; nothing was started. From Run.
	ErrNotStarted = errors.New("the command was not started")

	// ErrTooManyJobs: too many commands run in the background, of this owner or of all. From Jobs.Open.
	ErrTooManyJobs = errors.New("too many commands run in the background")

	// ErrNoJob: the owner has no command in the background by this id. From Jobs.Stop.
	ErrNoJob = errors.New("no such command in the background")

	// ErrNoArtifact: there is no stored output by this id. It may have been pruned, or the cache deleted. From the
	// reading methods of Artifacts.
	ErrNoArtifact = errors.New("no such command output")
)
