package operator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ErrNoRecord: no record has this id or hash.
var ErrNoRecord = errors.New("there is no record")

// Ambiguous is the error for a name that is the beginning of several records' names.
type Ambiguous struct {
	Name    string
	Matches []record.Entry
}

func (a *Ambiguous) Error() string {
	return fmt.Sprintf("%s is the beginning of several records", a.Name)
}

// NameOf is what Find takes to find a record: its id, else the hash of its line.
func NameOf(e record.Entry) string { return cmp.Or(e.ID, e.Hash) }

// Who names who made a record: a human, the model without its provider, else the client; and for whom, if that came over a
// transport that has authenticated them.
func Who(e record.Entry) string {
	who := maker(e)
	if e.Principal == "" || strings.HasPrefix(e.Principal, auth.LocalPrefix) {
		return who
	}
	return strings.TrimSpace(who + " (" + e.Principal + ")")
}

func maker(e record.Entry) string {
	switch c := e.Contributor; {
	case c.Type == record.ContributorHuman:
		return c.Type
	case c.ModelID != "":
		return path.Base(c.ModelID)
	case e.Client.Name != "":
		return e.Client.Name
	default:
		return c.Type
	}
}

// Record is a record of the ledger, on several lines if it was spread.
type Record struct {
	Lines []record.Entry // the record's first part is the first
}

// First is the line that says what all lines say.
func (r Record) First() record.Entry { return r.Lines[0] }

// Changes are the changes of all lines.
func (r Record) Changes() (changes []record.Change) {
	for _, line := range r.Lines {
		changes = append(changes, line.Changes...)
	}
	return changes
}

// Find finds each name: the id of a record or its beginning, or the hash of its line or its beginning, in lower-case hex. It
// reads the whole ledger. Errors: ErrNoRecord, *Ambiguous.
func (w *Workspace) Find(ctx context.Context, names []string) ([]Record, []ledger.Problem, error) {
	matches := make([][]record.Entry, len(names))
	problems, err := w.Ledger.ScanLines(ctx, wantsNames(names), func(e record.Entry) error {
		for i, name := range names {
			if isNamed(e, name) {
				matches[i] = append(matches[i], e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, problems, err
	}
	found := make([]Record, len(names))
	for i, name := range names {
		if found[i], err = w.one(ctx, name, matches[i]); err != nil {
			return nil, problems, err
		}
	}
	return found, problems, nil
}

// Record finds a record by its whole id, or the whole hash of its line, at a cost that does not grow with the ledger.
func (w *Workspace) Record(ctx context.Context, id string) (Record, error) {
	found, err := w.Ledger.Query(ctx, record.Filter{ID: id, Newest: true, Limit: 1})
	if err != nil {
		return Record{}, err
	}
	return w.one(ctx, id, found.Entries)
}

func isNamed(e record.Entry, name string) bool {
	return strings.HasPrefix(e.ID, name) || strings.HasPrefix(e.Hash, name)
}

// wantsNames looks for ids in the text of a line, and hashes it only for names that can be the beginning of a hash.
func wantsNames(names []string) func(line []byte) bool {
	var ids [][]byte
	var hashes []string
	for _, name := range names {
		ids = append(ids, []byte(`"id":"`+name))
		if !strings.Contains(name, "-") {
			hashes = append(hashes, name)
		}
	}
	return func(line []byte) bool {
		if slices.ContainsFunc(ids, func(id []byte) bool { return bytes.Contains(line, id) }) {
			return true
		}
		if len(hashes) == 0 {
			return false
		}
		sum := sha256.Sum256(line)
		hash := hex.EncodeToString(sum[:])
		return slices.ContainsFunc(hashes, func(name string) bool { return strings.HasPrefix(hash, name) })
	}
}

// one makes sure that the matches of a name are one record, and brings its other lines.
func (w *Workspace) one(ctx context.Context, name string, matches []record.Entry) (Record, error) {
	whole := map[string]record.Entry{}
	for _, e := range matches {
		if e.ID == name || e.Hash == name {
			whole = map[string]record.Entry{recordID(e): e}
			break
		}
		whole[recordID(e)] = e
	}
	switch {
	case len(whole) == 0:
		return Record{}, fmt.Errorf("%w %s in the ledger", ErrNoRecord, name)
	case len(whole) > 1:
		return Record{}, &Ambiguous{name, matches}
	}
	for _, e := range whole {
		if e.Part == nil {
			return Record{[]record.Entry{e}}, nil
		}
		return w.parts(ctx, e.Part.Of)
	}
	return Record{}, nil
}

// recordID is the same for all lines of a record.
func recordID(e record.Entry) string {
	if e.Part != nil {
		return e.Part.Of
	}
	return NameOf(e)
}

// parts brings all lines of a record that was spread, in their order.
func (w *Workspace) parts(ctx context.Context, of string) (Record, error) {
	var r Record
	mark := []byte(`"of":"` + of + `"`)
	_, err := w.Ledger.ScanLines(ctx, func(line []byte) bool { return bytes.Contains(line, mark) }, func(e record.Entry) error {
		if e.Part != nil && e.Part.Of == of {
			r.Lines = append(r.Lines, e)
		}
		return nil
	})
	slices.SortStableFunc(r.Lines, func(a, b record.Entry) int { return a.Part.Index - b.Part.Index })
	return r, err
}

// Mention is a record that is about a given one.
type Mention struct {
	How   string // in words that stand before the record that mentions
	Entry record.Entry
}

// Mentions finds, by the hash of the first line of each record, the records that are about one of the found: that undo or retract it, or answer the same question to
// the operator.
func (w *Workspace) Mentions(ctx context.Context, found []Record) (map[string][]Mention, error) {
	var marks [][]byte
	for _, r := range found {
		marks = append(marks, []byte(`"`+r.First().ID+`"`))
		if d := r.First().Decision; d != nil && d.Approval != "" {
			marks = append(marks, []byte(`"`+d.Approval+`"`))
		}
	}
	all := map[string][]Mention{}
	_, err := w.Ledger.ScanLines(ctx, func(line []byte) bool {
		return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(line, mark) })
	}, func(e record.Entry) error {
		for _, r := range found {
			if how := mentionOf(r.First(), e); how != "" {
				all[r.First().Hash] = append(all[r.First().Hash], Mention{how, e})
			}
		}
		return nil
	})
	return all, err
}

func mentionOf(about, by record.Entry) string {
	switch {
	case by.Hash == about.Hash || about.ID == "":
		return ""
	case slices.Contains(brief.References(by, brief.UndoesInPart), about.ID):
		return "undone in part by"
	case slices.Contains(brief.References(by, brief.Undoes), about.ID):
		return "undone by"
	case slices.Contains(brief.References(by, brief.Retracts), about.ID):
		return "retracted by"
	case about.Decision != nil && by.Decision != nil && about.Decision.Approval != "" && about.Decision.Approval == by.Decision.Approval:
		return "same question"
	}
	return ""
}
