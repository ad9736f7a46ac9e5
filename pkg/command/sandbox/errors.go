package sandbox

import "errors"

// Errors of this package, for errors.Is.
var (
	// ErrUnavailable: this machine cannot hold a command at the level. From
	// Start, and in Ability.
	ErrUnavailable = errors.New("the sandbox is not to be had here")
)
