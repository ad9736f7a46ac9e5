package segment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ProblemKind names what is wrong.
type ProblemKind string

// What verification and queries can find.
const (
	// ProblemMissing: a record follows one that is not in the ledger: it was changed or removed.
	ProblemMissing ProblemKind = "missing_predecessor"
	// ProblemIncomplete: what is missing here is whole on a branch that was not merged: see verify.Elsewhere.
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
	// ProblemSealed: what a seal, or another claim, vouches for is not in the ledger as it was.
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

// NumberProblems gives those of the problems their line that were found without counting, as far as they can be counted.
func NumberProblems(ctx context.Context, root *os.Root, problems []Problem) []Problem {
	problems = slices.Clone(problems)
	numbers := map[string]map[int64]int{}
	for _, p := range problems {
		if numbers[p.Segment] == nil {
			numbers[p.Segment] = map[int64]int{}
		}
		if p.ofLine && p.Line == 0 {
			numbers[p.Segment][p.offset] = 0
		}
	}
	for segment, at := range numbers {
		_ = LineNumbers(ctx, root, segment, at)
	}
	for i, p := range problems {
		if p.ofLine && p.Line == 0 {
			problems[i].Line = numbers[p.Segment][p.offset]
		}
	}
	return problems
}

// LineNumbers counts in one pass to the lines that begin at the offsets. Without an error, where none begins the number stays 0.
func LineNumbers(ctx context.Context, root *os.Root, segment string, at map[int64]int) error {
	places, _, err := List(ctx, root)
	i := slices.IndexFunc(places, func(x Extent) bool { return x.Name == segment })
	switch {
	case len(at) == 0:
		return nil
	case err == nil && i < 0:
		err = errors.New("it is gone")
	case err == nil:
		err = places[i].Read(ctx, root, false, func(line Line) error {
			if _, asked := at[line.Offset]; asked {
				at[line.Offset] = line.Number
			}
			return nil
		}, func(Problem) {})
	}
	if err != nil {
		return fmt.Errorf("count the lines of %s: %w", segment, err)
	}
	return nil
}
