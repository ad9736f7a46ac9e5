package approval

import "errors"

// Errors that callers may test for.
var (
	// ErrUnknown: no such request or grant, or it expired, or it is not authentic.
	ErrUnknown = errors.New("no such request or grant; it may have expired")
	// ErrFull: too many requests are pending, or they are too large.
	ErrFull = errors.New("too many requests are pending; the operator has to answer some first")
	// ErrPending: the request has no answer yet.
	ErrPending = errors.New("the request has no answer yet")
	// ErrAnswered: the request has an answer already.
	ErrAnswered = errors.New("the request has been answered already")
	// ErrNotGrantable: the request can be approved once only.
	ErrNotGrantable = errors.New("this can be approved once only, not for the intent")
	// ErrState: a round-trip state that we did not make, or that is altered, expired or somebody else's.
	ErrState = errors.New("the state is not one that was given out to this caller, or it has expired")
	// ErrNoUserDir: there is no user directory, so no other process can see what this one asks.
	ErrNoUserDir = errors.New("there is no directory for the user's own settings; set HOME or XDG_CONFIG_HOME")
)
