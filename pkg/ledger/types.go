package ledger

import (
	"context"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/query"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// What a record is; package record has the format.
type (
	Record      = record.Record
	Entry       = record.Entry
	Filter      = record.Filter
	Hash        = record.Hash
	Kind        = record.Kind
	Change      = record.Change
	Range       = record.Range
	LineMark    = record.LineMark
	LineMarks   = record.LineMarks
	Anchor      = record.Anchor
	Class       = record.Class
	Contributor = record.Contributor
	Client      = record.Client
	Decision    = record.Decision
	Command     = record.Command
	Violation   = record.Violation
	Part        = record.Part
)

// What reading and checking give.
type (
	Result      = query.Result
	RawLine     = segment.RawLine
	HashedLine  = segment.HashedLine
	Problem     = segment.Problem
	ProblemKind = segment.ProblemKind
	Report      = verify.Report
	Elsewhere   = verify.Elsewhere
)

// The constants of package record.
const (
	KindMutation  = record.KindMutation
	KindCommand   = record.KindCommand
	KindBuild     = record.KindBuild
	KindGit       = record.KindGit
	KindDecision  = record.KindDecision
	KindSelection = record.KindSelection
	KindLifecycle = record.KindLifecycle
	KindRead      = record.KindRead
	KindRecovered = record.KindRecovered
	KindWithheld  = record.KindWithheld

	ContributorAI      = record.ContributorAI
	ContributorHuman   = record.ContributorHuman
	ContributorMixed   = record.ContributorMixed
	ContributorUnknown = record.ContributorUnknown

	ViolationOutside = record.ViolationOutside
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

// The errors of the packages below that a caller may test for.
var (
	ErrInvalidRecord  = record.ErrInvalidRecord
	ErrTooLarge       = record.ErrTooLarge
	ErrMalformed      = record.ErrMalformed
	ErrNotInitialized = segment.ErrNotInitialized
	ErrBusy           = segment.ErrBusy
	ErrUnavailable    = segment.ErrUnavailable
)

// Kinds is [record.Kinds].
func Kinds() []Kind { return record.Kinds() }

// ChangeKinds is [record.ChangeKinds].
func ChangeKinds() []Kind { return record.ChangeKinds() }

// Parse is [record.Parse].
func Parse(line []byte) (Entry, error) { return record.Parse(line) }

// Encode is [record.Encode].
func Encode(e Entry) ([]byte, error) { return record.Encode(e) }

// EachLine is [locate.EachLine].
func EachLine(ctx context.Context, root *os.Root, visit func(RawLine) error) ([]Problem, error) {
	return locate.EachLine(ctx, root, visit)
}

// Verify is [verify.Verify].
func Verify(ctx context.Context, root *os.Root) (Report, error) { return verify.Verify(ctx, root) }
