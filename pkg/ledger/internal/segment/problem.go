package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	uncounted := map[string][]*Problem{}
	for i := range problems {
		if p := &problems[i]; p.Line == 0 && p.ofLine {
			uncounted[p.Segment] = append(uncounted[p.Segment], p)
		}
	}
	for segment, list := range uncounted {
		slices.SortFunc(list, func(a, b *Problem) int { return cmp.Compare(a.offset, b.offset) })
		offsets := make([]int64, len(list))
		for i, p := range list {
			offsets[i] = p.offset
		}
		numbers, err := LineNumbers(ctx, root, segment, offsets)
		for i := 0; err == nil && i < len(list); i++ {
			list[i].Line = numbers[i]
		}
	}
	return problems
}

// LineNumbers counts in one pass to each of the offsets, which are sorted.
func LineNumbers(ctx context.Context, root *os.Root, segment string, offsets []int64) ([]int, error) {
	places, _, err := List(ctx, root)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(places, func(x Extent) bool { return x.Name == segment })
	if i < 0 {
		return nil, fmt.Errorf("count the lines of %s: it is gone", segment)
	}
	file, size, err := places[i].Open(root)
	if err != nil {
		return nil, fmt.Errorf("count the lines of %s: %w", segment, err)
	}
	defer file.Close()
	numbers := make([]int, len(offsets))
	number, from := 1, int64(0)
	for n, offset := range offsets {
		if offset > size {
			return nil, fmt.Errorf("count the lines of %s: it has changed meanwhile", segment)
		}
		breaks, err := countBreaks(ctx, io.NewSectionReader(file, from, offset-from))
		if err != nil {
			return nil, fmt.Errorf("count the lines of %s: %w", segment, err)
		}
		number, from = number+breaks, offset
		numbers[n] = number
	}
	return numbers, nil
}

func countBreaks(ctx context.Context, r io.Reader) (breaks int, err error) {
	buf := make([]byte, 4*readBlock)
	for {
		n, err := r.Read(buf)
		breaks += bytes.Count(buf[:n], []byte("\n"))
		switch {
		case errors.Is(err, io.EOF):
			return breaks, nil
		case err != nil:
			return breaks, err
		case ctx.Err() != nil:
			return breaks, ctx.Err()
		}
	}
}
