package fleet

import (
	"cmp"
	"errors"
	"fmt"
)

// Error is what a request came to, with the name of the server. Its text is safe to print, and says what to do where that is known.
type Error struct {
	Server string
	Err    error
	text   string // of Err, without secrets
}

func (e *Error) Error() string {
	return fmt.Sprintf("server %s: %s", e.Server, cmp.Or(e.text, e.Err.Error()))
}

// Unwrap gives the reason: one of this package's, an *mcpclient.Error without secrets, *mcpclient.AuthError, or another. Only the text
// of the Error itself is safe to print.
func (e *Error) Unwrap() error { return e.Err }

// Errors, for errors.Is.
var (
	// ErrUnknown: there is no server of the name.
	ErrUnknown = errors.New("no such server is declared")
	// ErrResting: the server has ended or did not start, and it is too early to start it again. The text says why and when.
	ErrResting = errors.New("the server is not running")
	// ErrEnded: the server ended, or the fleet was closed, while it had the request. Whether it did what it was asked to is not known.
	ErrEnded = errors.New("the server ended")
	// ErrTimeout: the server did not answer in time. Whether it did, or still does, what it was asked to is not known.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrNotTrusted: the tool is not, or not any more, the one that was pinned. It was not called.
	ErrNotTrusted = errors.New("the tool is not the one that was trusted")
	// ErrOutput: the result does not have the form that the tool's own output schema promises.
	ErrOutput = errors.New("the result is against the tool's own output schema")
	// ErrSecrets: the file of secrets cannot be used. The text says what to type.
	ErrSecrets = errors.New("the file of secrets cannot be used")
	// ErrHeld: the program cannot be held as the settings require, or its profile could not be made.
	ErrHeld = errors.New("the program cannot be held")
	// ErrClosed: the fleet was closed before the request.
	ErrClosed = errors.New("this server is ending")
)

// unsent is why a request did not reach its server.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// NotSent reports whether an error says that the server was never asked. Of a request that it may have got nobody knows what it did.
func NotSent(err error) bool {
	_, is := errors.AsType[unsent](err)
	return is
}
