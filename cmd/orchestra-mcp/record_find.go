package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// minPrefix is how much of an id must be given, as for git's: fewer digits would often mean another record tomorrow.
const minPrefix = 4

// maxCandidates bounds how many records an ambiguous name is explained with.
const maxCandidates = 10

// foundRecord is what one name on the command line stands for: a record, on several lines if it was spread.
type foundRecord struct {
	lines []record.Entry // the record's first part is the first
}

func (r foundRecord) first() record.Entry { return r.lines[0] }

// findRecords finds each name: the id of a record or its beginning, or the hash of its line or its beginning. A name
// that is no record's, or several records', is a usage error that lists these.
func (q *question) findRecords(ctx context.Context, names []string) ([]foundRecord, []ledger.Problem, error) {
	for _, name := range names {
		if len(name) < minPrefix || strings.Trim(name, "0123456789abcdef-") != "" {
			return nil, nil, usageErrorf("%q is no record: give its id or the hash of its line as log shows them, at least the first %d characters",
				printable.Clip(name, 80), minPrefix)
		}
	}
	matches := make([][]record.Entry, len(names))
	problems, err := q.records.ScanLines(ctx, wantsNames(names), func(e record.Entry) error {
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
	found := make([]foundRecord, len(names))
	for i, name := range names {
		if found[i], err = q.oneRecord(ctx, name, matches[i]); err != nil {
			return nil, problems, err
		}
	}
	return found, problems, nil
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

// oneRecord makes sure that the matches of a name are one record, and brings its other lines.
func (q *question) oneRecord(ctx context.Context, name string, matches []record.Entry) (foundRecord, error) {
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
		return foundRecord{}, mistakef("there is no record %s in the ledger; orchestra-mcp log lists them", name)
	case len(whole) > 1:
		return foundRecord{}, mistakef("%s is the beginning of %d records; give more of it:\n%s", name, len(whole), printer.Raw(q.candidates(matches)))
	}
	for _, e := range whole {
		if e.Part == nil {
			return foundRecord{[]record.Entry{e}}, nil
		}
		return q.parts(ctx, e.Part.Of)
	}
	return foundRecord{}, nil
}

// recordID is the same for all lines of a record.
func recordID(e record.Entry) string {
	if e.Part != nil {
		return e.Part.Of
	}
	return nameOf(e)
}

func (q *question) candidates(matches []record.Entry) string {
	var list []string
	for _, e := range matches[:min(len(matches), maxCandidates)] {
		list = append(list, fmt.Sprintf("  %s  %s  %s", printable.Text(printable.Clip(nameOf(e), 80)), e.Time.In(q.now().Location()).Format("2006-01-02 15:04:05"), brief.Line(e)))
	}
	if more := len(matches) - maxCandidates; more > 0 {
		list = append(list, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(list, "\n")
}

// parts brings all lines of a record that was spread, in their order.
func (q *question) parts(ctx context.Context, of string) (foundRecord, error) {
	var r foundRecord
	mark := []byte(`"of":"` + of + `"`)
	_, err := q.records.ScanLines(ctx, func(line []byte) bool { return bytes.Contains(line, mark) }, func(e record.Entry) error {
		if e.Part != nil && e.Part.Of == of {
			r.lines = append(r.lines, e)
		}
		return nil
	})
	slices.SortStableFunc(r.lines, func(a, b record.Entry) int { return a.Part.Index - b.Part.Index })
	return r, err
}

// mention is a later record that is about a given one.
type mention struct {
	how   string // in words that stand before the record that mentions
	entry record.Entry
}

// mentions finds the records that are about one of the found: that undo or retract it, or answer the same question to
// the operator.
func (q *question) mentions(ctx context.Context, found []foundRecord) (map[string][]mention, error) {
	var marks [][]byte
	for _, r := range found {
		marks = append(marks, []byte(`"`+r.first().ID+`"`))
		if d := r.first().Decision; d != nil && d.Approval != "" {
			marks = append(marks, []byte(`"`+d.Approval+`"`))
		}
	}
	all := map[string][]mention{}
	_, err := q.records.ScanLines(ctx, func(line []byte) bool {
		return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(line, mark) })
	}, func(e record.Entry) error {
		for _, r := range found {
			if how := mentionOf(r.first(), e); how != "" {
				all[r.first().Hash] = append(all[r.first().Hash], mention{how, e})
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
