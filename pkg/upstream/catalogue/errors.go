package catalogue

import "errors"

// The errors of books.
var (
	// ErrDamaged: the pin file cannot be read, or others than the user can write it. Nothing is trusted by it, and it stays as it is.
	ErrDamaged = errors.New("the pin file cannot be used")
	// ErrBusy: another process holds it too long.
	ErrBusy = errors.New("the pin file is in use")
	// ErrName: a tool that Trust was given is not one that the operator can trust.
	ErrName = errors.New("no such tool waits for trust")
	// ErrStale: the server lists a tool in another way than was shown.
	ErrStale = errors.New("the tool has changed since it was shown; look at it again")
)
