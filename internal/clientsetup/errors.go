package clientsetup

import "errors"

// Errors that a caller may test for. All are returned by [New] and [Plan.Apply] before anything is written.
var (
	// ErrUnknownClient: the name is not one of [Names].
	ErrUnknownClient = errors.New("unknown client")
	// ErrUnmergeable: an existing file does not parse, or has a shape that we cannot add to without losing something.
	ErrUnmergeable = errors.New("cannot be merged")
	// ErrOutside: a workspace file is a link that leads out of the workspace.
	ErrOutside = errors.New("leads out of the workspace")
	// ErrNotManaged: the client has no file of administrators on this system.
	ErrNotManaged = errors.New("has no administrators' file for hooks")
	// ErrChanged: a file is no longer what it was when the plan was made.
	ErrChanged = errors.New("changed meanwhile")
)

// errKept: what is to be taken out was changed by hand, and stays.
var errKept = errors.New("kept")
