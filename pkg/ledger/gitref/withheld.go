package gitref

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Withheld says what of the ledger stays on this machine.
type Withheld struct {
	Reads, Decisions, Lessons bool
	Marks                     bool // records that have marks of lines
}

// of is what goes out in the place of a line.
func (w Withheld) of(line []byte) []byte {
	if w == (Withheld{}) {
		return line
	}
	e, err := record.Parse(line)
	if err != nil {
		return line
	}
	switch {
	case w.Reads && e.Kind == record.KindRead,
		w.Decisions && e.Kind == record.KindDecision,
		w.Lessons && e.Kind == record.KindLifecycle && e.Call == "record_lesson",
		w.Marks && slices.ContainsFunc(e.Changes, func(c record.Change) bool { return len(c.Marks) > 0 }):
		return record.Withhold(line, e.Kind)
	}
	return line
}
