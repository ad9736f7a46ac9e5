package ledger

import "errors"

// The errors that a caller may test for with errors.Is, by when they occur.
var (
	// ErrNotInitialized: the workspace has no .orchestration directory, so there is no ledger yet. Nothing was
	// written. The operator creates one with `orchestra-mcp init`.
	ErrNotInitialized = errors.New("the workspace has no .orchestration directory")

	// ErrBusy: another process held the lock on .orchestration for longer than Options.LockWait. Nothing was
	// written; the same append can be tried again.
	ErrBusy = errors.New("the ledger is locked by another process")

	// ErrInvalidRecord: the record breaks the format (an unknown kind, a path that leaves the workspace, text that
	// is not UTF-8, a range that ends before it starts). Nothing was written. [Record.Check] finds it beforehand.
	ErrInvalidRecord = errors.New("the record cannot be written as given")

	// ErrTooLarge: a record is larger than a line may be, and not because of its changes (those are spread over
	// several lines). Nothing was written.
	ErrTooLarge = errors.New("the record is too large for one ledger line")

	// ErrMalformed: a line is not a record: not JSON, a duplicate key, a field of another type.
	ErrMalformed = errors.New("the line is not a ledger record")

	// ErrUnavailable: the ledger cannot be written. Either the place does not allow it now (no permission, a link
	// or a directory where the file should be), or an earlier write or flush failed. The latter poisons this
	// Ledger: how much of that group is on disk is unknown, so everything after is refused until [Ledger.Reopen] has
	// checked what there is.
	ErrUnavailable = errors.New("the ledger cannot be written")

	// ErrClosed: the Ledger was used after Close.
	ErrClosed = errors.New("the ledger is closed")
)
