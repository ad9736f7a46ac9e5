package record

import "errors"

// The errors that a caller may test for with errors.Is, by when they occur.
var (
	// ErrInvalidRecord: the record breaks the format (an unknown kind, a path that leaves the workspace, text that
	// is not UTF-8, a range that ends before it starts). Nothing was written. [Record.Check] finds it beforehand.
	ErrInvalidRecord = errors.New("the record cannot be written as given")

	// ErrTooLarge: a record is larger than a line may be, and not because of its changes (those are spread over
	// several lines). Nothing was written.
	ErrTooLarge = errors.New("the record is too large for one ledger line")

	// ErrMalformed: a line is not a record: not JSON, a duplicate key, a field of another type.
	ErrMalformed = errors.New("the line is not a ledger record")
)
