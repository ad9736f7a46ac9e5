package segment

import (
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ProblemKind names what is wrong.
type ProblemKind string

// What verification and queries can find.
const (
	// ProblemMissing: a record follows one that is not in the ledger: it was changed or removed.
	ProblemMissing ProblemKind = "missing_predecessor"
	// ProblemIncomplete: what is missing here is whole on a branch that was not merged: see [Elsewhere].
	ProblemIncomplete ProblemKind = "incomplete_branch"
	// ProblemMalformed: a line is neither a record nor another tool's JSON object, such as a conflict marker.
	ProblemMalformed ProblemKind = "malformed_line"
	// ProblemTorn: the last line of a segment has no newline and is not whole. The next append sets it aside.
	ProblemTorn ProblemKind = "torn_line"
	// ProblemTooLong: a line is longer than any that this package writes.
	ProblemTooLong ProblemKind = "line_too_long"
	// ProblemUnreadable: a segment is not a regular file, or cannot be read.
	ProblemUnreadable ProblemKind = "unreadable_segment"
	// ProblemArchive: an archive is damaged, or is not the file that was archived under its name.
	ProblemArchive ProblemKind = "damaged_archive"
	// ProblemSealed: what a seal, or another [Claim], vouches for is not in the ledger as it was.
	ProblemSealed ProblemKind = "sealed_record_missing"
	// ProblemUnrecorded: a record, or a note beside the ledger, counts calls or decisions that have none, and no trusted
	// claim covers it.
	ProblemUnrecorded ProblemKind = "unrecorded"
)

// Problem is one finding.
type Problem struct {
	Kind    ProblemKind `json:"kind"`
	Segment string      `json:"segment"`         // relative to .orchestration
	Line    int         `json:"line,omitzero"`   // 1-based; 0 if lines were not counted
	Record  string      `json:"record,omitzero"` // the record's id, else its hash, where there is one
	Detail  string      `json:"detail"`

	offset int64 // of the line, if it is about one
	ofLine bool
}

func LineProblem(segment string, line Line, err error) Problem {
	p := Problem{Kind: ProblemMalformed, Segment: segment, Line: line.Number, offset: line.Offset, ofLine: true}
	detail := err.Error()
	switch {
	case line.TooLong:
		p.Kind, detail = ProblemTooLong, fmt.Sprintf("%d bytes", line.Size)
	case line.Torn:
		p.Kind = ProblemTorn
	case errors.Is(err, record.ErrMalformed):
	default:
		p.Kind = ProblemUnreadable
	}
	p.Detail = fmt.Sprintf("at byte %d: %s", line.Offset, detail)
	return p
}

func DamageProblem(segment string, d *framed.Damage) Problem {
	return Problem{Kind: ProblemArchive, Segment: segment, Detail: d.Error()}
}
