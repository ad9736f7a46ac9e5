package blame

import "errors"

// Errors that a caller may test for.
var (
	// ErrNoSuchLine: the file has fewer lines.
	ErrNoSuchLine = errors.New("no such line")
	// ErrNotAFile: the path names nothing, or no regular file of a size that can be blamed.
	ErrNotAFile = errors.New("not a file that can be blamed")
)
