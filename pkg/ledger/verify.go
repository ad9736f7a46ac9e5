package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
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

// Report is the result of Verify.
type Report struct {
	Records  int       `json:"records"`        // of ours, each counted once
	Heads    []string  `json:"heads"`          // hashes of the lines that no record follows; nothing protects these but a seal
	Foreign  int       `json:"foreign"`        // lines of other tools, each counted once
	Leaves   int       `json:"foreign_leaves"` // of these, those that no record follows
	Sealed   int       `json:"sealed"`         // records under a trusted [Claim] that holds
	Unsealed int       `json:"unsealed"`       // the other records
	Problems []Problem `json:"problems"`

	// Withheld counts, of the records, those that others kept back when they sent the rest. A kind that this version does
	// not know counts as [KindWithheld].
	Withheld map[Kind]int `json:"withheld,omitempty"`
}

// Verify checks the chain over all segments without a key: every edit or removal of a line that some surviving record
// follows is a problem. It cannot see the edit or removal of a head, nor a ledger that was written anew as a whole.
// Heads must at least be whole; of the other lines no JSON is parsed. A workspace without a ledger has an empty one.
func Verify(ctx context.Context, root *os.Root) (Report, error) {
	report, _, err := VerifyClaims(ctx, root, nil, nil)
	return report, err
}

func readAll(ctx context.Context, root *os.Root) (v *verification, err error) {
	err = unlessRotated(func() error {
		v, err = readOnce(ctx, root)
		return err
	})
	return v, err
}

func readOnce(ctx context.Context, root *os.Root) (*verification, error) {
	places, problems, err := extents(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("verify the ledger: %w", err)
	}
	v := &verification{
		report: Report{Problems: problems}, lines: newLineage(), followers: map[digest]follower{}, open: map[digest]headLine{}, missing: map[Problem][]digest{}, withheld: map[digest]Kind{},
	}
	for _, place := range places {
		if err := v.read(ctx, root, place); err != nil {
			return nil, fmt.Errorf("verify the ledger: %s: %w", place.name, err)
		}
	}
	v.findMissing()
	v.checkHeads()
	return v, nil
}

func (v *verification) finish() Report {
	v.sortProblems()
	for _, kind := range v.withheld {
		if v.report.Withheld == nil {
			v.report.Withheld = map[Kind]int{}
		}
		v.report.Withheld[kind]++
	}
	v.report.Unsealed = v.report.Records - v.report.Sealed
	v.report.Heads = []string{}
	for _, head := range v.lines.heads() {
		v.report.Heads = append(v.report.Heads, head.String())
		if !v.lines.nodes[v.lines.index[head]].record {
			v.report.Leaves++
		}
	}
	if v.report.Problems == nil {
		v.report.Problems = []Problem{}
	}
	return v.report
}

type verification struct {
	report    Report
	lines     *lineage
	followers map[digest]follower // of predecessors that had not been seen when their follower was
	open      map[digest]headLine // lines that nobody follows so far, but the last
	last      headLine            // read, which mostly the next one follows
	missing   map[Problem][]digest
	gaps      []headLine // records that may tell of what has none
	withheld  map[digest]Kind
}

// headLine keeps the text of a line that no hash protects.
type headLine struct {
	id      digest
	number  int32 // in the lineage
	segment string
	line    rawLine
}

// follower is the line that names a predecessor.
type follower struct {
	segment string
	line    int
	record  string
}

func (v *verification) read(ctx context.Context, root *os.Root, place extent) error {
	file, size, err := place.open(root)
	if errors.Is(err, errRotated) {
		return err
	}
	if err != nil {
		v.add(Problem{Kind: ProblemUnreadable, Segment: place.name, Detail: err.Error()})
		return nil
	}
	defer file.Close()
	damaged := false
	err = readLines(file, size, false, func(line rawLine) error {
		v.line(place.name, line)
		return ctx.Err()
	}, func(d *framed.Damage) {
		damaged = true
		v.add(damageProblem(place.name, d))
	})
	if a, is := file.(archive); is && err == nil && !damaged {
		if err := a.checkName(place.name); err != nil {
			v.add(Problem{Kind: ProblemArchive, Segment: place.name, Detail: err.Error()})
		}
	}
	return err
}

func (v *verification) line(segment string, line rawLine) {
	if line.tooLong {
		v.add(lineProblem(segment, line, ErrMalformed))
		return
	}
	prev, kind := classify(line.data)
	if kind == lineBlank {
		return
	}
	if kind == lineGarbage || line.torn && !jsontext.Value(line.data).IsValid() {
		v.add(lineProblem(segment, line, ErrMalformed))
		return
	}
	id := identity(line.data)
	_, withheld := standsFor(line.data)
	n, fresh := v.lines.add(id, prev, kind == lineRecord)
	if fresh && withheld {
		v.withheld[id] = withheldKind(line.data)
	}
	if !fresh {
		if !withheld {
			delete(v.withheld, id)
		}
		return
	}
	if kind == lineForeign {
		v.report.Foreign++
		return
	}
	v.report.Records++
	v.keepLast()
	v.last.line.data = append(v.last.line.data[:0], line.data...)
	line.data = v.last.line.data
	v.last = headLine{id: id, number: n, segment: segment, line: line}
	v.noteGap(v.last)
	for _, p := range prev {
		delete(v.open, p)
		if !v.lines.has(p) {
			v.followers[p] = follower{segment: segment, line: line.number, record: recordName(line.data, id)}
		}
	}
}

// keepLast takes a copy of the last line's text if nobody follows it so far.
func (v *verification) keepLast() {
	if v.last.segment == "" || v.lines.nodes[v.last.number].standing&followed != 0 {
		return
	}
	head := v.last
	head.line.data = bytes.Clone(head.line.data)
	v.open[head.id] = head
}

func (v *verification) findMissing() {
	for p, by := range v.followers {
		if !v.lines.has(p) {
			v.addMissing(Problem{
				Kind: ProblemMissing, Segment: by.segment, Line: by.line, Record: by.record,
				Detail: fmt.Sprintf("the record before it, with hash %s, was changed or removed", p),
			}, p)
		}
	}
}

// checkHeads parses the lines that could have been cut or joined without any hash to tell.
func (v *verification) checkHeads() {
	v.keepLast()
	for _, head := range v.open {
		if _, err := Parse(head.line.data); err != nil {
			v.add(lineProblem(head.segment, head.line, err))
		}
	}
}

func (v *verification) sortProblems() {
	slices.SortStableFunc(v.report.Problems, func(a, b Problem) int {
		if a.Segment != b.Segment {
			return strings.Compare(a.Segment, b.Segment)
		}
		return a.Line - b.Line
	})
}

func (v *verification) add(p Problem) { v.report.Problems = append(v.report.Problems, p) }

// addMissing keeps which lines are missing.
func (v *verification) addMissing(p Problem, ids ...digest) {
	v.add(p)
	v.missing[p] = ids
}

func recordName(line []byte, id digest) string {
	if e, err := Parse(line); err == nil && e.ID != "" {
		return e.ID
	}
	return id.String()
}

func lineProblem(segment string, line rawLine, err error) Problem {
	p := Problem{Kind: ProblemMalformed, Segment: segment, Line: line.number, offset: line.offset, ofLine: true}
	detail := err.Error()
	switch {
	case line.tooLong:
		p.Kind, detail = ProblemTooLong, fmt.Sprintf("%d bytes", line.size)
	case line.torn:
		p.Kind = ProblemTorn
	case errors.Is(err, ErrMalformed):
	default:
		p.Kind = ProblemUnreadable
	}
	p.Detail = fmt.Sprintf("at byte %d: %s", line.offset, detail)
	return p
}
