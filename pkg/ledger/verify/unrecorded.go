package verify

import (
	"bytes"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// gapMark is how the detail of a record begins that counts what has no record. In a text of a record its quotes would
// be escaped.
var gapMark = []byte(`"gap":{`)

// noteGap keeps a record that may tell of a gap.
func (v *verification) noteGap(line headLine) {
	if bytes.Contains(line.line.Data, gapMark) {
		line.line.Data = bytes.Clone(line.line.Data)
		v.gaps = append(v.gaps, line)
	}
}

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
