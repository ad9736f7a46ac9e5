package intent

import (
	"errors"
	"fmt"
)

// Errors of reading.
var (
	// ErrNotInitialized: there is no .orchestration/active_intents.yaml.
	ErrNotInitialized = errors.New("workspace is not initialised: .orchestration/active_intents.yaml does not exist; " +
		"run orchestra-mcp init")
	// ErrUnreadable is what every *UnreadableError is.
	ErrUnreadable = errors.New("intent files cannot be read")
)

// Errors of writing. In each case the file is as it was.
var (
	// ErrBusy: another process held the lock for too long.
	ErrBusy = errors.New("the intent files are locked by another process: try again")
	// ErrUnknownIntent: no intent has this id.
	ErrUnknownIntent = errors.New("no such intent")
	// ErrDuplicateID: an intent with this id exists.
	ErrDuplicateID = errors.New("an intent with this id exists")
	// ErrInvalid: the values given cannot stand in the file.
	ErrInvalid = errors.New("invalid intent")
	// ErrUnrestricted: the intent has no scope to add to; a first entry would narrow it to that entry.
	ErrUnrestricted = errors.New("the intent has no owned_scope, so every path is in its scope already")
	// ErrChanged: the file is no longer the one that a Plan was worked out on.
	ErrChanged = errors.New("active_intents.yaml was changed meanwhile")
	// ErrLayout: the file's layout is one that cannot be edited without touching more than was meant.
	ErrLayout = errors.New("the layout of active_intents.yaml does not allow this change: make it by hand")
)

// UnreadableError says where a file of the operator's cannot be understood.
type UnreadableError struct {
	File         string // relative to the workspace
	Line, Column int    // from 1; 0 if the file as a whole is meant
	Reason       string

	cause error // of the system, where the file could not be opened
}

// Unwrap gives the system's reason, if there is one.
func (e *UnreadableError) Unwrap() error { return e.cause }

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s: %s", e.Position(), e.Reason)
}

// Position returns file, line and column in the form that editors understand.
func (e *UnreadableError) Position() string {
	switch {
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
}

// Is makes errors.Is(err, ErrUnreadable) true.
func (e *UnreadableError) Is(target error) bool { return target == ErrUnreadable }
