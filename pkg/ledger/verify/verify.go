// Package verify checks the chain of a ledger, and what others claim of it.
//
// # Promise
//
// [Verify] finds every edit and every removal of a line that some surviving record follows, without a key; [VerifyClaims]
// also those of lines that a claim covers, followed or not. It reads all segments and archives, and parses heads only. A
// branch that is incomplete here, and whole elsewhere, is told from one that was changed ([Elsewhere]).
//
// # Non-promise
//
// The chain has no key. The edit of a head, and a ledger that was written anew as a whole, are seen by claims alone, and
// whether to believe a claim is for the caller to know.
package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Report is the result of Verify.
type Report struct {
	Records  int               `json:"records"`        // of ours, each counted once
	Heads    []string          `json:"heads"`          // hashes of the lines that no record follows; nothing protects these but a seal
	Foreign  int               `json:"foreign"`        // lines of other tools, each counted once
	Leaves   int               `json:"foreign_leaves"` // of these, those that no record follows
	Sealed   int               `json:"sealed"`         // records under a trusted [Claim] that holds
	Unsealed int               `json:"unsealed"`       // the other records
	Problems []segment.Problem `json:"problems"`

	// Withheld counts, of the records, those that others kept back when they sent the rest. A kind that this version does
	// not know counts as [record.KindWithheld].
	Withheld map[record.Kind]int `json:"withheld,omitempty"`
}

// Verify checks the chain over all segments without a key: every edit or removal of a line that some surviving record
// follows is a problem. It cannot see the edit or removal of a head, nor a ledger that was written anew as a whole.
// Heads must at least be whole; of the other lines no JSON is parsed. A workspace without a ledger has an empty one.
func Verify(ctx context.Context, root *os.Root) (Report, error) {
	report, _, err := VerifyClaims(ctx, root, nil, nil)
	return report, err
}

func readAll(ctx context.Context, root *os.Root) (v *verification, err error) {
	err = segment.UnlessRotated(func() error {
		v, err = readOnce(ctx, root)
		return err
	})
	return v, err
}

func readOnce(ctx context.Context, root *os.Root) (*verification, error) {
	places, problems, err := segment.List(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("verify the ledger: %w", err)
	}
	v := &verification{
		report: Report{Problems: problems}, lines: newLineage(), followers: map[record.Hash]follower{}, open: map[record.Hash]headLine{}, missing: map[segment.Problem][]record.Hash{}, withheld: map[record.Hash]record.Kind{},
	}
	for _, place := range places {
		if err := v.read(ctx, root, place); err != nil {
			return nil, fmt.Errorf("verify the ledger: %s: %w", place.Name, err)
		}
	}
	v.findMissing()
	v.checkHeads()
	return v, nil
}

func (v *verification) finish() Report {
	slices.SortStableFunc(v.report.Problems, func(a, b segment.Problem) int {
		return cmp.Or(strings.Compare(a.Segment, b.Segment), a.Line-b.Line)
	})
	for _, kind := range v.withheld {
		if v.report.Withheld == nil {
			v.report.Withheld = map[record.Kind]int{}
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
		v.report.Problems = []segment.Problem{}
	}
	return v.report
}

type verification struct {
	report    Report
	lines     *lineage
	followers map[record.Hash]follower // of predecessors that had not been seen when their follower was
	open      map[record.Hash]headLine // lines that nobody follows so far, but the last
	last      headLine                 // read, which mostly the next one follows
	missing   map[segment.Problem][]record.Hash
	gaps      []headLine // records that may tell of what has none
	withheld  map[record.Hash]record.Kind
}

// headLine keeps the text of a line that no hash protects.
type headLine struct {
	id      record.Hash
	number  int32 // in the lineage
	segment string
	line    segment.Line
}

// follower is the line that names a predecessor.
type follower struct {
	segment string
	line    int
	record  string
}

func (v *verification) read(ctx context.Context, root *os.Root, place segment.Extent) error {
	damaged := false
	err := place.Read(ctx, root, false, func(line segment.Line) error {
		v.line(place.Name, line)
		return nil
	}, func(p segment.Problem) {
		damaged = true
		v.add(p)
	})
	if err == nil && place.Archived() && !damaged {
		if err := place.CheckName(root); err != nil {
			v.add(segment.Problem{Kind: segment.ProblemArchive, Segment: place.Name, Detail: err.Error()})
		}
	}
	return err
}

func (v *verification) line(place string, line segment.Line) {
	if line.TooLong {
		v.add(segment.LineProblem(place, line, record.ErrMalformed))
		return
	}
	prev, kind := record.Classify(line.Data)
	if kind == record.LineBlank {
		return
	}
	if kind == record.LineGarbage || line.Torn && !jsontext.Value(line.Data).IsValid() {
		v.add(segment.LineProblem(place, line, record.ErrMalformed))
		return
	}
	id := record.Identity(line.Data)
	_, withheld := record.StandsFor(line.Data)
	n, fresh := v.lines.add(id, prev, kind == record.LineRecord)
	if fresh && withheld {
		v.withheld[id] = record.WithheldKind(line.Data)
	}
	if !fresh {
		if !withheld {
			delete(v.withheld, id)
		}
		return
	}
	if kind == record.LineForeign {
		v.report.Foreign++
		return
	}
	v.report.Records++
	v.keepLast()
	v.last.line.Data = append(v.last.line.Data[:0], line.Data...)
	line.Data = v.last.line.Data
	v.last = headLine{id: id, number: n, segment: place, line: line}
	if bytes.Contains(line.Data, gapMark) {
		gap := v.last
		gap.line.Data = bytes.Clone(line.Data)
		v.gaps = append(v.gaps, gap)
	}
	for _, p := range prev {
		delete(v.open, p)
		if !v.lines.has(p) {
			v.followers[p] = follower{segment: place, line: line.Number, record: recordName(line.Data, id)}
		}
	}
}

// keepLast takes a copy of the last line's text if nobody follows it so far.
func (v *verification) keepLast() {
	if v.last.segment == "" || v.lines.nodes[v.last.number].standing&followed != 0 {
		return
	}
	head := v.last
	head.line.Data = bytes.Clone(head.line.Data)
	v.open[head.id] = head
}

func (v *verification) findMissing() {
	for p, by := range v.followers {
		if !v.lines.has(p) {
			v.addMissing(segment.Problem{
				Kind: segment.ProblemMissing, Segment: by.segment, Line: by.line, Record: by.record,
				Detail: fmt.Sprintf("the record before it, with hash %s, was changed or removed", p),
			}, p)
		}
	}
}

// checkHeads parses the lines that could have been cut or joined without any hash to tell.
func (v *verification) checkHeads() {
	v.keepLast()
	for _, head := range v.open {
		if _, err := record.Parse(head.line.Data); err != nil {
			v.add(segment.LineProblem(head.segment, head.line, err))
		}
	}
}

func (v *verification) add(p segment.Problem) { v.report.Problems = append(v.report.Problems, p) }

// addMissing keeps which lines are missing.
func (v *verification) addMissing(p segment.Problem, ids ...record.Hash) {
	v.add(p)
	v.missing[p] = ids
}

func recordName(line []byte, id record.Hash) string {
	if e, err := record.Parse(line); err == nil && e.ID != "" {
		return e.ID
	}
	return id.String()
}

// gapMark is how the detail of a record begins that counts what has no record. In a text of a record its quotes would be escaped.
var gapMark = []byte(`"gap":{`)

// tellGaps makes a problem of each gap that no trusted claim covers: who seals a ledger has seen what it lacks.
func (v *verification) tellGaps(sealed []bool) {
	for _, gap := range v.gaps {
		e, err := record.Parse(gap.line.Data)
		if err != nil {
			continue // a problem by itself
		}
		told, ok := e.Detail["gap"].(map[string]any)
		if !ok || e.Kind != record.KindRecovered || sealed[gap.number] {
			continue
		}
		decisions := told["decisions"]
		if decisions == nil {
			decisions = 0
		}
		v.add(segment.Problem{Kind: segment.ProblemUnrecorded, Segment: gap.segment, Line: gap.line.Number, Record: e.ID,
			Detail: fmt.Sprintf("from %v to %v the ledger could not be written: %v calls and %v decisions have no record",
				told["since"], told["until"], told["calls"], decisions)})
	}
}
