package sandbox

import "errors"

// Errors of this package, for errors.Is.
var (
	// ErrUnavailable: this machine cannot hold a command at the level. From Start, and in Ability.
	ErrUnavailable = errors.New("the sandbox is not to be had here")
	// ErrMoved: what the profile names was replaced or removed while the command was
	// being started, and nothing was started. It may work the next time.
	ErrMoved = errors.New("files were replaced or removed while the command was being started")
)
