package undo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// minPrefix is how much of an id must be given. What is undone is shown before it is done.
const minPrefix = 4

// change is one recorded change of files, its lines put together.
type recorded struct {
	record.Entry
	files []fileChange
}

// fileChange is one file of a change, and the ledger line that it stands in.
type fileChange struct {
	record.Change
	line string // the line's hash
}

// lookup finds records. It remembers what it has read: a plan asks for the same paths again.
type lookup struct {
	ctx      context.Context
	ledger   *ledger.Ledger
	underWay func() ([]Touch, error)
	// takers are the records that took others back, the oldest first.
	takers []record.Entry
	// undone names for each record that was taken back the record that did.
	undone map[string]string
	// without are the records that have no effect because they are chosen, or because all they did was to take back.
	without  map[string]bool
	byPath   map[string][]record.Entry
	problems []ledger.Problem
}

// choose gives what is asked for, newest first.
func (l *lookup) choose(r Request) ([]recorded, error) {
	if err := l.findUndoing(); err != nil {
		return nil, err
	}
	if r.IntentID != "" {
		return l.standing(r.IntentID)
	}
	var lines []record.Entry
	for _, prefix := range r.Records {
		found, err := l.find(prefix)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if !slices.ContainsFunc(lines, func(have record.Entry) bool { return have.Hash == e.Hash }) {
				lines = append(lines, e)
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b record.Entry) int { return a.Time.Compare(b.Time) })
	changes := together(lines)
	slices.Reverse(changes)
	return changes, oneIntent(changes)
}

// findUndoing finds the records that took others back, and from them what is undone now.
func (l *lookup) findUndoing() error {
	var found []record.Entry
	err := l.scan([]string{`"` + brief.Undoes + `"`, `"` + brief.Retracts + `"`}, func(e record.Entry) {
		if len(takenBack(e)) > 0 {
			e.Raw, e.Changes = nil, nil
			found = append(found, e)
		}
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b record.Entry) int { return a.Time.Compare(b.Time) })
	l.takers = found
	l.resolve(nil)
	return nil
}

// resolve works out what is undone, where the chosen records are taken back too. An undo that was itself undone counts
// for nothing.
func (l *lookup) resolve(chosen []string) {
	l.undone, l.without = map[string]string{}, map[string]bool{}
	for _, id := range chosen {
		l.without[id] = true
	}
	for _, e := range slices.Backward(l.takers) {
		taken := l.without[e.ID] || l.undone[e.ID] != ""
		l.without[e.ID] = taken || len(inPart(e)) == 0
		if taken {
			continue
		}
		for _, id := range takenBack(e) {
			l.undone[id] = e.ID
		}
	}
}

// cancelled reports that a record has no effect in the tree: something took it back, it is being taken back, or all that
// it did was to take back.
func (l *lookup) cancelled(id string) bool { return l.undone[id] != "" || l.without[id] }

// takenBack are the records that an entry took back. Only kinds that change files can have done so: what else a line
// says under these names is somebody's text.
func takenBack(e record.Entry) []string {
	if e.Detail["partial"] != nil {
		return nil // a crash kept it from doing all of it
	}
	part := inPart(e)
	undoes := slices.DeleteFunc(brief.References(e, brief.Undoes), func(id string) bool { return slices.Contains(part, id) })
	switch e.Kind {
	case record.KindMutation:
		return undoes
	case record.KindRecovered:
		return append(brief.References(e, brief.Retracts), undoes...)
	}
	return nil
}

// inPart are the records that an undo took back in part.
func inPart(e record.Entry) []string { return brief.References(e, brief.UndoesInPart) }

// standing gives the changes of an intent that nothing took back. An undo and what it took back are both gone from it.
func (l *lookup) standing(intentID string) ([]recorded, error) {
	found, err := l.read([]string{intentID}, record.Filter{IntentID: intentID, Kinds: record.ChangeKinds()}.Matches)
	if err != nil {
		return nil, err
	}
	changes := slices.DeleteFunc(together(found), func(c recorded) bool {
		return l.cancelled(c.ID) || len(c.files) == 0 || len(inPart(c.Entry)) > 0
	})
	slices.Reverse(changes)
	return changes, nil
}

// find gives the lines of the one record whose id begins with prefix.
func (l *lookup) find(prefix string) ([]record.Entry, error) {
	prefix = strings.ToLower(prefix)
	if len(prefix) < minPrefix || strings.Trim(prefix, "0123456789abcdef-") != "" {
		return nil, fmt.Errorf("%w: %q is not an id, nor the first %d or more characters of one", ErrNoRecord, prefix, minPrefix)
	}
	ids := map[string]bool{}
	lines, err := l.lines(prefix)
	for _, e := range lines {
		ids[whole(e)] = true
	}
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0 && l.isUnderWay(prefix):
		return nil, fmt.Errorf("%w: the call %s has not ended; undo it when it has", ErrNotYet, prefix)
	case len(ids) == 0:
		return nil, fmt.Errorf("%w: no record has an id that begins with %s; orchestra-mcp log shows those that there are", ErrNoRecord, prefix)
	case len(ids) > 1:
		return nil, fmt.Errorf("%w: %s; give more of the one that you mean", ErrAmbiguous, prefix)
	}
	id := whole(lines[0])
	if lines[0].Part != nil {
		if lines, err = l.lines(id); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(lines, func(e record.Entry) bool { return len(e.Changes) > 0 }) {
		if c := lines[0].Command; c != nil && c.Started {
			return nil, l.startOnly(id, c.Job)
		}
		if taken, err := l.takenOver(id); taken != "" || err != nil {
			return l.find(taken)
		}
		return nil, fmt.Errorf("%w: %s is a record of kind %s that names no changed files", ErrNoRecord, id, lines[0].Kind)
	}
	return lines, nil
}

// takenOver is the record of what was taken over of the layer of a command; "" where nothing was.
func (l *lookup) takenOver(command string) (id string, err error) {
	err = l.scan([]string{`"ran":"` + command}, func(e record.Entry) {
		if e.Detail["ran"] == command {
			id = whole(e)
		}
	})
	return id, err
}

// lines gives the ledger lines of records whose id, or whose whole's id, begins with prefix.
func (l *lookup) lines(prefix string) ([]record.Entry, error) {
	var found []record.Entry
	err := l.scan([]string{`"id":"` + prefix, `"of":"` + prefix}, func(e record.Entry) {
		if strings.HasPrefix(e.ID, prefix) || strings.HasPrefix(whole(e), prefix) {
			found = append(found, e)
		}
	})
	return found, err
}

// whole is the id of the record that a line is a part of.
func whole(e record.Entry) string {
	if e.Part != nil {
		return e.Part.Of
	}
	return e.ID
}

// together makes one change of the parts of a record, in the order of the first ones.
func together(lines []record.Entry) []recorded {
	var changes []recorded
	place := map[string]int{}
	for _, e := range lines {
		id := whole(e)
		at, ok := place[id]
		if !ok {
			at = len(changes)
			place[id] = at
			changes = append(changes, recorded{Entry: e})
			changes[at].ID = id
		}
		for _, c := range e.Changes {
			if c.Op != change.Unchanged {
				changes[at].files = append(changes[at].files, fileChange{c, e.Hash})
			}
		}
	}
	return changes
}

// after gives the records on a path that follow a ledger line.
func (l *lookup) after(path string, c recorded, line string) ([]record.Entry, error) {
	entries, err := l.history(path)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(entries, func(e record.Entry) bool { return e.Hash == line }); i >= 0 {
		return entries[i+1:], nil
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e record.Entry) bool { return !e.Time.After(c.Time) }), nil
}

// follow gives the path that a file has in the tree in which all chosen changes after this one are taken back, as the
// records tell that came after it and still have an effect. It begins at a path, and the ledger line of the change there; ""
// is none. A file that was deleted is not followed into another that came to stand at its path, unless that has the very
// content.
func (l *lookup) follow(c recorded, path, line string) (at string, deleted bool, err error) {
	gone := ""
	for {
		later, err := l.after(path, c, line)
		if err != nil {
			return "", false, err
		}
		moved := false
		for _, e := range later {
			if l.cancelled(whole(e)) {
				continue
			}
			for _, next := range e.Changes {
				switch {
				case next.Op == change.Deleted && next.Path == path:
					gone = next.Before.Hash
				case next.Op == change.Created && next.Path == path && next.After.Hash == gone:
					gone = ""
				case next.Op == change.Moved && next.From == path && gone == "":
					path, line, moved = next.Path, e.Hash, true
				}
			}
			if moved {
				break
			}
		}
		if !moved {
			return path, gone != "", nil
		}
	}
}
