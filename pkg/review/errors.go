package review

import "errors"

// Errors that a caller may test for. In each case nothing was judged.
var (
	// ErrNoRepository: there is no git, or no repository around the workspace.
	ErrNoRepository = errors.New("there is no git repository to review")
	// ErrUnknownRevision: the repository does not have one of the two commits.
	ErrUnknownRevision = errors.New("not a commit that this repository has")
	// ErrShallow: the clone lacks history, so that what the range has in it cannot be told.
	ErrShallow = errors.New("the clone is shallow")
	// ErrUnrelated: the two commits have no commit in common.
	ErrUnrelated = errors.New("the two commits have no history in common")
	// ErrEmptyRange: the head has no commit that the base has not.
	ErrEmptyRange = errors.New("the range is empty")
	// ErrNotGoverned: neither side has a governed workspace in this place.
	ErrNotGoverned = errors.New("there is no governed workspace in these commits")
	// ErrNoLedger: the ledger is not in these commits, and the ref that carries it is not at hand.
	ErrNoLedger = errors.New("the ledger is not here")
	// ErrPartial: the clone lacks a file's content.
	ErrPartial = errors.New("the clone is partial: a content is not at hand")
)
