package review

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// traceLines finds for each changed line of a text whether a record of the range wrote or removed it.
func (r *review) traceLines(f *File, before, after side, related []*added) error {
	hunks := edit.Hunks(before.text, after.text)
	for _, h := range hunks {
		f.Lines.Removed += h[1]
		f.Lines.Added += h[3]
	}
	if len(hunks) == 0 { // the bytes differ and the text does not, as by a byte order mark
		f.Lines.Added = 1
	}
	closed := r.way(f, before, after, related)
	c := asked{before, after, r.names(before.path, after.path), related}
	written, err := r.writers(c, after)
	if err != nil {
		return err
	}
	gone, err := r.removers(c, before)
	if err != nil {
		return err
	}
	if restored, err := r.dropRestored(c, written, gone); err != nil {
		return err
	} else if restored {
		closed = nil
	}
	for _, line := range numbers(hunks, 2) {
		by := written[line]
		if by == nil {
			by = closed
		}
		if by == nil {
			f.Untraced = extend(f.Untraced, line)
			continue
		}
		f.Lines.Traced++
		r.intent(by.IntentID).Lines++
	}
	if closed != nil {
		f.Lines.Traced = f.Lines.Changed()
		return nil
	}
	for _, line := range numbers(hunks, 0) {
		if gone[line] != nil {
			f.Lines.Traced++
		} else {
			f.Removed++
		}
	}
	return nil
}

// numbers gives the 1-based numbers of the lines of all hunks on the old side (0) or the new one (2).
func numbers(hunks [][4]int, side int) (lines []int) {
	for _, h := range hunks {
		for i := range h[side+1] {
			lines = append(lines, h[side]+i)
		}
	}
	return lines
}

// extend adds a line to ascending ranges.
func extend(ranges []Range, line int) []Range {
	if n := len(ranges); n > 0 && ranges[n-1].End+1 == line {
		ranges[n-1].End = line
		return ranges
	}
	return append(ranges, Range{line, line})
}

// state is a content of a file, or its absence, by its hash.
type state struct{ path, hash string }

func (s side) state() state {
	if !s.there {
		return state{s.path, ""}
	}
	return state{s.path, string(workspace.HashOf(s.content))}
}

// way finds an unbroken way from one content to the other, notes it, and gives its last record; nil if there is none. One
// that begins at a file which git does not take for the same under an old name is noted, and explains no line.
func (r *review) way(f *File, before, after side, related []*added) *added {
	if before.there && before.content == nil || after.there && after.content == nil {
		return nil // too large to be read
	}
	from := before.state()
	last, steps, begin := leads(after, related, func(at state) bool {
		return at.hash == from.hash && (at.path == from.path || at.hash == "")
	})
	moved := last
	if last == nil && !before.there {
		moved, steps, begin = leads(after, related, r.stoodInBase)
	}
	if moved != nil {
		way := Way{Changes: steps}
		if begin.hash != "" {
			way.From = r.inRepository(begin.path)
		}
		r.ways[f.Path] = way
	}
	return last
}

// stoodInBase: a file that the range changed or removed had this content in the merge base.
func (r *review) stoodInBase(at state) bool {
	id, changed := r.olds[at.path]
	if !changed || at.hash == "" {
		return false
	}
	content, ok := r.blobs.content(id)
	return ok && string(workspace.HashOf(content)) == at.hash
}

// leads goes back from a content by the records that made it to where a way begins. It gives the last record of the way and
// its changes in order; nil if there is none without a gap.
func leads(after side, related []*added, begins func(state) bool) (last *added, steps []record.Change, at state) {
	at = after.state()
	for _, rec := range slices.Backward(related) {
		c := changeTo(rec, at)
		if c == nil {
			continue
		}
		if last == nil {
			last = rec
		}
		steps = append(steps, *c)
		at = state{c.Path, c.Before.Hash}
		if c.From != "" {
			at.path = c.From
		}
		if begins(at) {
			slices.Reverse(steps)
			return last, steps, at
		}
	}
	return nil, nil, at
}

// changeTo gives the change by which a record ended in a state.
func changeTo(rec *added, at state) *record.Change {
	for i := range rec.Changes {
		c := &rec.Changes[i]
		if c.Op != change.Unchanged && c.Path == at.path && c.After.Hash == at.hash {
			return c
		}
	}
	return nil
}

// maxNames bounds the names that one file had in a range.
const maxNames = 20

// names are those of a file at the ends of the range, the newest first, and those that git moved it through in between.
func (r *review) names(before, after string) []string {
	names := []string{after}
	for i := 0; i < len(names) && len(names) < maxNames; i++ {
		for _, old := range r.was[r.inRepository(names[i])] {
			if old, inside := strings.CutPrefix(old, r.prefix); inside && !slices.Contains(names, old) {
				names = append(names, old)
			}
		}
	}
	if !slices.Contains(names, before) {
		names = append(names, before)
	}
	return names
}

// writers gives the records that wrote lines of one end of a change. Where git alone knows of a rename, the records are those
// of the old name.
func (r *review) writers(c asked, of side) (credits, error) {
	written := credits{}
	if len(c.records) == 0 || !of.there {
		return written, nil
	}
	byHash := map[string]*added{}
	for _, rec := range c.records {
		byHash[rec.Hash] = rec
	}
	err := r.origins(c, of.content, func(line blame.Line) { written[line.Number] = byHash[line.Record.Hash] })
	return written, err
}

// origins gives the lines of a content that a record wrote.
func (r *review) origins(c asked, content []byte, visit func(blame.Line)) error {
	entries := make([]record.Entry, len(c.records))
	for i, rec := range c.records {
		entries[i] = rec.Entry
	}
	lines, err := blame.File(r.ctx, c.names[0], content, entries, r.contents, c.names[1:]...)
	if err != nil {
		return cmp.Or(context.Cause(r.ctx), err) // the reason for which blame was ended
	}
	for _, l := range lines {
		if l.Record != nil {
			visit(l)
		}
	}
	return nil
}

// removers gives the records that removed lines of one end of a change. Seen backward in time, who removed a line wrote it.
func (r *review) removers(c asked, of side) (credits, error) {
	back := asked{names: c.names}
	byHash := map[string]*added{}
	for _, rec := range slices.Backward(c.records) {
		back.records = append(back.records, turnedRound(rec))
		byHash[rec.Hash] = rec
	}
	gone, err := r.writers(back, of)
	for line, rec := range gone {
		gone[line] = byHash[rec.Hash]
	}
	return gone, err
}

// turnedRound gives the record of the opposite change.
func turnedRound(rec *added) *added {
	e := record.Entry{ID: rec.ID, Hash: rec.Hash, Time: time.UnixMilli(-rec.Time.UnixMilli())}
	for _, c := range rec.Changes {
		if c.Op != change.Unchanged {
			e.Changes = append(e.Changes, c.Inverse())
		}
	}
	return &added{Entry: e}
}

// contents gives a blob that a record names, if git has it.
func (r *review) contents(id string) ([]byte, bool) {
	if r.portable != nil && !r.portable[id] {
		return nil, false
	}
	return r.blobs.content(id)
}
