package segment

import "errors"

// The errors that a caller may test for with errors.Is, by when they occur.
var (
	// ErrNotInitialized: the workspace has no .orchestration directory, so there is no ledger yet. Nothing was
	// written. The operator creates one with `orchestra-mcp init`.
	ErrNotInitialized = errors.New("the workspace has no .orchestration directory")

	// ErrBusy: another process held the lock on .orchestration for longer than Options.LockWait. Nothing was
	// written; the same append can be tried again.
	ErrBusy = errors.New("the ledger is locked by another process")

	// ErrUnavailable: the ledger cannot be written. Either the place does not allow it now (no permission, a link
	// or a directory where the file should be), or an earlier write or flush failed. The latter poisons this
	// Ledger: how much of that group is on disk is unknown, so everything after is refused until [Ledger.Reopen] has
	// checked what there is.
	ErrUnavailable = errors.New("the ledger cannot be written")
)
