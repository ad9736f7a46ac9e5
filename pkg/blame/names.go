package blame

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// underOldNames answers anew, if git has lines from a path that is no more: the file's name before a rename that no
// record tells of. Its records are then the file's own.
func (q *question) underOldNames(lines []Line) ([]Line, error) {
	found := len(q.past.records)
	for _, name := range q.goneNames(lines) {
		records, err := q.records(name)
		if err != nil {
			return nil, err
		}
		q.past.names = append(q.past.names, name)
		q.past.records = appendNew(q.past.records, records)
	}
	if len(q.past.records) == found {
		return lines, nil
	}
	q.own = newHistory(q.path, q.past, q.contents)
	again, err := q.own.file(q.ctx, q.path, q.now, q.texts)
	for i := range again {
		again[i].Commit = lines[i].Commit
	}
	return again, err
}

// maxNames bounds how many names a file had.
const maxNames = 16

// goneNames gives the paths that lines come from and that HEAD has no more.
func (q *question) goneNames(lines []Line) (gone []string) {
	asked := map[string]bool{}
	for _, l := range lines {
		if l.Commit == nil || asked[l.Commit.Path] || slices.Contains(q.names, l.Commit.Path) || len(asked) > maxNames {
			continue
		}
		asked[l.Commit.Path] = true
		if !q.blobs.exists(q.revision + ":" + q.git.inRepository(l.Commit.Path)) {
			gone = append(gone, l.Commit.Path)
		}
	}
	return gone
}

// appendNew adds the entries that are not there yet.
func appendNew(entries, more []ledger.Entry) []ledger.Entry {
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Hash] = true
	}
	entries = slices.Clone(entries)
	for _, e := range more {
		if !there[e.Hash] {
			entries = append(entries, e)
		}
	}
	return entries
}
