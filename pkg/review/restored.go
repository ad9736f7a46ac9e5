package review

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// credits say which record wrote a line, or took it out, by its number.
type credits map[int]*added

// change is what is asked about one file: its two ends, the records of the range on it, the oldest first, and its names.
type asked struct {
	before, after side
	names         []string
	records       []*added
}

// dropRestored takes out of written and gone what a person brought back: a line that a record wrote, that then was taken out,
// and that stands there again without a record; and one that a record took out, that came back, and is out again. It
// reports whether there was such.
func (r *review) dropRestored(c asked, written, gone credits) (some bool, err error) {
	wrote := lineage{review: r, names: c.names, given: written}
	wrote.has = r.standing(c, written)
	if wrote.undone, err = c.undone(written, func(later asked) (credits, error) { return r.removers(later, later.after) }); err != nil {
		return false, err
	}
	took := lineage{review: r, names: c.names, given: gone}
	took.has = func(content []byte) (map[int]bool, error) { return missingLines(c.before.text, content), nil }
	if took.undone, err = c.undone(gone, func(later asked) (credits, error) { return r.writers(later, later.before) }); err != nil {
		return false, err
	}
	forgiven, err := r.broughtByUndo(c, written)
	if err != nil {
		return false, err
	}
	for _, l := range []*lineage{&wrote, &took} {
		back, err := l.restored()
		if err != nil {
			return false, err
		}
		for _, line := range back {
			if l == &wrote && forgiven[line] {
				continue
			}
			delete(l.given, line)
			some = true
		}
	}
	return some, nil
}

// maxCredited bounds for how many records of a file the later ones are asked about their lines.
const maxCredited = 16

// undone gives for lines the later record that did the opposite of what was done by the record to which they are given.
func (c asked) undone(given credits, opposite func(later asked) (credits, error)) (credits, error) {
	found := credits{}
	has := map[*added]bool{}
	for _, rec := range given {
		has[rec] = true
	}
	asked := 0
	for i, rec := range slices.Backward(c.records) {
		if !has[rec] || i+1 == len(c.records) {
			continue
		}
		if asked++; asked > maxCredited {
			break
		}
		later := c
		later.records = c.records[i+1:]
		by, err := opposite(later)
		if err != nil {
			return nil, err
		}
		for line, other := range by {
			if given[line] == rec {
				found[line] = other
			}
		}
	}
	return found, nil
}

// broughtByUndo gives the lines that an undo brought back: they are given to who wrote them first, and a record tells of it.
func (r *review) broughtByUndo(c asked, written credits) (map[int]bool, error) {
	lines := map[int]bool{}
	if !slices.ContainsFunc(c.records, func(rec *added) bool { return len(brief.References(rec.Entry, brief.Undoes)) > 0 }) {
		return lines, nil
	}
	plain := c
	plain.records = nil
	for _, rec := range c.records {
		copied := *rec
		copied.Detail = nil // so that an undo is a change like others
		plain.records = append(plain.records, &copied)
	}
	again, err := r.writers(plain, c.after)
	for line, rec := range again {
		lines[line] = written[line] != nil && rec.hash != written[line].hash
	}
	return lines, err
}

// standing tells of contents of the file which of the lines at HEAD that are given to records they have, as those.
func (r *review) standing(c asked, given credits) func(content []byte) (map[int]bool, error) {
	var wanted map[blame.Written]int // the lines at HEAD
	return func(content []byte) (map[int]bool, error) {
		lines := map[int]bool{}
		if _, err := workspace.Decode(content); err != nil {
			return lines, nil // a binary content has no lines
		}
		if wanted == nil {
			wanted = map[blame.Written]int{}
			if err := r.origins(c, c.after.content, func(l blame.Line) { wanted[l.Written()] = l.Number }); err != nil {
				return nil, err
			}
		}
		err := r.origins(c, content, func(l blame.Line) {
			if line, is := wanted[l.Written()]; is && given[line] != nil {
				lines[line] = true
			}
		})
		return lines, err
	}
}

func missingLines(text string, content []byte) map[int]bool {
	missing := map[int]bool{}
	other, err := workspace.Decode(content)
	if err != nil {
		return missing
	}
	for _, line := range numbers(edit.Hunks(text, other.String), 0) {
		missing[line] = true
	}
	return missing
}
