package catalogue

import "errors"

// The errors of books.
var (
	// ErrDamaged: the pin file cannot be read, or others than the user can write it. Nothing is trusted by it, and it stays as it is.
	ErrDamaged = errors.New("the pin file cannot be used")
	// ErrBusy: another process holds it too long.
	ErrBusy = errors.New("the pin file is in use")
	// ErrName: a name that Trust was given is not in quarantine.
	ErrName = errors.New("no such tool waits for trust")
)
