package blame

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Confidence says how a line was followed to its record: the weakest step on the way.
type Confidence string

// The confidences, from the strongest to the weakest.
const (
	// Exact: through hunks whose hashes meet, and where a change from outside lies between, with the same text at the
	// same line number.
	Exact Confidence = "exact"
	// Shifted: a change from outside moved the line up or down, its text is the same.
	Shifted Confidence = "shifted"
	// Reformatted: a change from outside changed its white space.
	Reformatted Confidence = "reformatted"
	// Moved: a change from outside put it elsewhere, with its block.
	Moved Confidence = "moved"
	// Untracked: no record explains the line.
	Untracked Confidence = "untracked"
)

// strength orders confidences; a higher one is weaker.
type strength uint8

const (
	exact strength = iota
	shifted
	reformatted
	moved
)

var byStrength = []Confidence{exact: Exact, shifted: Shifted, reformatted: Reformatted, moved: Moved}

func (s strength) confidence() Confidence { return byStrength[s] }

// strength of Untracked is that of Exact: no step on its way was a weak one.
func (c Confidence) strength() strength { return strength(max(slices.Index(byStrength, c), 0)) }

// Line is one line of a file and where it comes from.
type Line struct {
	Number     int // 1-based
	Text       string
	Confidence Confidence
	// Record wrote the line; nil if the line is untracked. Path and Origin are the file and the 1-based line
	// number that it had right after that record.
	Record *record.Entry
	Path   string
	Origin int
	Commit *Commit // where git has the line from; set by Workspace alone, if it asked git
}

// Touch is a record in the story of one line.
type Touch struct {
	Record     *record.Entry
	Path       string
	Line       int // 1-based, right after the record
	Text       string
	HasText    bool // the text is known
	Confidence Confidence
}

// Contents gives the content of a blob by its git object id, if it is known.
type Contents func(oid string) ([]byte, bool)

// File tells for each line of the content now, at path, which of the records wrote it. records are those that changed
// the file under this and its older names, the oldest first; others do no harm. Names of which no record tells that they are
// older ones are given. contents may be nil. The errors are the context's, and workspace.ErrBinary for what has no lines.
func File(ctx context.Context, path string, now []byte, records []record.Entry, contents Contents, older ...string) ([]Line, error) {
	texts, err := textLines(now)
	if err != nil {
		return nil, fmt.Errorf("blame %s: %w", path, err)
	}
	return newHistory(path, records, contents, older...).file(ctx, path, now, texts)
}

// file tells where the lines of a content come from; texts are those of now.
func (h *history) file(ctx context.Context, path string, now []byte, texts []string) ([]Line, error) {
	lines := make([]Line, len(texts))
	marks := make([]mark, len(texts))
	ids := h.idsOf(texts)
	for i, text := range texts {
		lines[i] = Line{Number: i + 1, Text: text, Confidence: Untracked}
		marks[i] = mark{line: i, at: i, text: ids[i]}
	}
	return lines, h.fill(ctx, nil, lines, h.state(path, now, ids), len(h.steps), marks)
}

// state is a content that a file has or had; ids are those of its lines.
func (h *history) state(path string, content []byte, ids []lineID) state {
	return state{node: node{h.name(path), string(workspace.HashOf(content))}, content: &cells{lines: ids}}
}

// Written names a line as a record wrote it. It stands once: of two lines that seem to come from there, one is a copy.
type Written struct {
	record, path string
	line         int
	text         string // without white space: the parts of one line that was broken are several
}

// Written is what the line was when its record wrote it. The line must not be untracked.
func (l Line) Written() Written {
	return Written{l.Record.Hash, l.Path, l.Origin, record.Squeeze(l.Text)}
}

// allWritten gives what the lines that are answered were.
func allWritten(lines []Line) map[Written]bool {
	given := map[Written]bool{}
	for _, l := range lines {
		if l.Record != nil {
			given[l.Written()] = true
		}
	}
	return given
}

// fill follows marks from a state over the steps before limit, and notes in lines what it finds. Those lines of records that
// stand elsewhere are none of these.
func (h *history) fill(ctx context.Context, elsewhere map[Written]bool, lines []Line, at state, limit int, marks []mark) error {
	t := tracer{ctx: ctx, history: h}
	given := allWritten(lines)
	maps.Copy(given, elsewhere)
	t.found = func(m mark, s *step) bool {
		l := lines[m.line]
		l.Record, l.Confidence, l.Path, l.Origin = s.entry, m.strength.confidence(), s.change.Path, m.at+1
		if o := l.Written(); !given[o] {
			lines[m.line], given[o] = l, true
		}
		return false
	}
	if err := t.walk(at, limit, marks); err != nil {
		return fmt.Errorf("blame %s: %w", at.path, err)
	}
	return nil
}

// story tells which records, the newest first, wrote line number line of the content now or the lines in whose place it stands.
func (h *history) story(ctx context.Context, path string, line int, now []byte, texts []string, limit int) ([]Touch, error) {
	var touches []Touch
	t := tracer{ctx: ctx, history: h}
	t.found = func(m mark, s *step) bool {
		touch := Touch{Record: s.entry, Path: s.change.Path, Line: m.at + 1, Confidence: m.strength.confidence()}
		if touch.HasText = !m.lost && !h.isLoose(m.text); touch.HasText {
			touch.Text = h.text(m.text)
		} else if after, ok := h.blob(s.change.After.OID, s.change.After.Hash); ok && m.at < len(after) {
			touch.Text, touch.HasText = h.text(after[m.at]), true
		}
		touches = append(touches, touch)
		return true
	}
	ids := h.idsOf(texts)
	if err := t.walk(h.state(path, now, ids), limit, []mark{{at: line - 1, text: ids[line-1]}}); err != nil {
		return nil, fmt.Errorf("blame %s: %w", path, err)
	}
	return touches, nil
}
