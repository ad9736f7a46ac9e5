package blame

import (
	"path"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// underOldNames answers anew, if git has lines from a path that is no more, or if records tell of one with the same last
// name: the file's name before a rename that no record tells of. Its records are then the file's own.
func (q *question) underOldNames(lines []Line) ([]Line, error) {
	found := len(q.past)
	gone := q.goneNames(lines)
	namesakes, err := q.namesakes(gone)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(gone, namesakes) {
		records, err := q.records(name)
		if err != nil {
			return nil, err
		}
		q.oldNames = append(q.oldNames, name)
		q.past = appendNew(q.past, records)
	}
	if len(q.past) == found {
		return lines, nil
	}
	q.own = newHistory(q.path, q.past, q.contents, q.oldNames...)
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
		if !q.stands(l.Commit.Path) {
			gone = append(gone, l.Commit.Path)
		}
	}
	return gone
}

// maxNamesakes bounds how many records are looked at for paths with the same last name.
const maxNamesakes = 512

// namesakes gives the paths with the file's last name that records tell of, and that HEAD has no more: whole directories
// are moved, histories rewritten and cut off, and then git does not know the old name.
func (q *question) namesakes(known []string) (gone []string, err error) {
	found, err := q.Ledger.Query(q.ctx, record.Filter{Name: path.Base(q.path), Kinds: record.ChangeKinds(), Newest: true, Limit: maxNamesakes, Without: q.past})
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, e := range append(found.Entries, q.past...) {
		for _, c := range e.Changes {
			if asked[c.Path] || path.Base(c.Path) != path.Base(q.path) || slices.Contains(q.names, c.Path) || slices.Contains(known, c.Path) {
				continue
			}
			asked[c.Path] = true
			if len(gone) < maxNames && !q.stands(c.Path) {
				gone = append(gone, c.Path)
			}
		}
	}
	return gone, nil
}

// stands reports whether HEAD has a path of the workspace.
func (q *question) stands(path string) bool {
	_, ok := q.blobs.blob("HEAD:" + q.git.inRepository(path))
	return ok
}

// isOwn reports whether a path is the file's, or was.
func (q *question) isOwn(path string) bool {
	return slices.Contains(q.names, path) || slices.Contains(q.oldNames, path)
}

// appendNew adds the entries that are not there yet.
func appendNew(entries, more []record.Entry) []record.Entry {
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
