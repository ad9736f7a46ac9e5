package ledger

import (
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/query"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

// What reading and checking give.
type (
	Result      = query.Result
	RawLine     = segment.RawLine
	HashedLine  = segment.HashedLine
	Problem     = segment.Problem
	ProblemKind = segment.ProblemKind
)

// The kinds of problems.
const (
	ProblemMissing    = segment.ProblemMissing
	ProblemIncomplete = segment.ProblemIncomplete
	ProblemMalformed  = segment.ProblemMalformed
	ProblemTorn       = segment.ProblemTorn
	ProblemTooLong    = segment.ProblemTooLong
	ProblemUnreadable = segment.ProblemUnreadable
	ProblemArchive    = segment.ProblemArchive
	ProblemSealed     = segment.ProblemSealed
	ProblemUnrecorded = segment.ProblemUnrecorded
)

// The errors that a caller may test for.
var (
	ErrClosed         = errors.New("the ledger is closed") // the Ledger was used after Close
	ErrNotInitialized = segment.ErrNotInitialized
	ErrBusy           = segment.ErrBusy
	ErrUnavailable    = segment.ErrUnavailable
)
