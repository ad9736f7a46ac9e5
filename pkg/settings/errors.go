package settings

import (
	"errors"
	"fmt"
)

// Errors of this package, for errors.Is.
var (
	// ErrInvalid: a settings file, variable or flag does not say what it must; nothing was loaded. From Load. For a
	// file, errors.As finds the *PositionError of each mistake.
	ErrInvalid = errors.New("invalid settings")

	// ErrTrust: the operator's list of trusted contents cannot be read or written. From Trusted.
	ErrTrust = errors.New("list of trusted contents")
)

// PositionError is one mistake in a settings file.
type PositionError struct {
	File    string
	Line    int // from 1
	Column  int // from 1, 0 if unknown
	Message string
}

func (e *PositionError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

func (e *PositionError) Unwrap() error { return ErrInvalid }
