package blame

import (
	"errors"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// addCommits sets the commit of each line that is in HEAD's version of the file, from line first to last; 0 is the end.
// Without git, or where git knows nothing of the file, it does nothing.
func (q *question) addCommits(lines []Line, first, last int) error {
	if q.git == nil {
		return nil
	}
	path, head, ok := q.atHead()
	if !ok {
		return q.ctx.Err()
	}
	old, err := textLines(head)
	if err != nil {
		return nil // binary there, text here: no line came from it
	}
	commits, err := q.git.blame(q.ctx, path)
	if err != nil || len(commits) != len(old) {
		return q.ctx.Err() // what git cannot tell is not known
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	m := compare(knownCells(old), knownCells(texts))
	if last == 0 {
		last = len(lines)
	}
	for i := first - 1; i < last; i++ {
		if from := m.from[i]; from >= 0 {
			lines[i].Commit = &commits[from]
			commits[from].strength = m.kind[i]
		}
	}
	return nil
}

// atHead gives the file as it is in HEAD; a move that is not committed yet leaves it under an older name.
func (q *question) atHead() (path string, content []byte, ok bool) {
	for _, path := range q.names {
		if content, ok := q.blobs.content("HEAD:" + q.git.inRepository(path)); ok {
			return path, content, true
		}
	}
	return "", nil, false
}

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
	again, err := file(q.ctx, q.path, q.now, q.past, q.contents)
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
		if !q.blobs.exists("HEAD:" + q.git.inRepository(l.Commit.Path)) {
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

// source is a file in a commit.
type source struct{ commit, path string }

// followCommits answers for untracked lines from where git has them: the records of that path until that commit.
func (q *question) followCommits(lines []Line) error {
	answers := map[source][]Line{}
	fromPath := map[string]int{}
	for _, l := range lines {
		if l.Commit != nil {
			fromPath[l.Commit.Path]++
		}
	}
	for i := range lines {
		c := lines[i].Commit
		if lines[i].Record != nil || c == nil {
			continue
		}
		at := source{c.ID, c.Path}
		if _, asked := answers[at]; !asked {
			answer, err := q.atCommit(c)
			if err != nil {
				return err
			}
			answers[at] = answer
		}
		if there := answers[at]; c.Line <= len(there) && there[c.Line-1].Record != nil {
			renamed := 2*fromPath[c.Path] >= len(lines)
			lines[i].take(there[c.Line-1], c.over(lines[i].Number, q.path, renamed))
		}
	}
	return nil
}

// take takes over the answer for the line in a commit, which is no surer than the way to it.
func (l *Line) take(there Line, way strength) {
	l.Record, l.Path, l.Origin = there.Record, there.Path, there.Origin
	l.Confidence = max(there.strength(), way).confidence()
}

func (l *Line) strength() strength {
	switch l.Confidence {
	case Shifted:
		return shifted
	case Reformatted:
		return reformatted
	case Moved:
		return moved
	default:
		return exact
	}
}

// over gives the strength of the way from the commit to a line: another path that is not the file's old name is a move.
func (c *Commit) over(number int, path string, renamed bool) strength {
	switch {
	case c.Path != path && !renamed:
		return moved
	case c.Line != number:
		return max(c.strength, shifted)
	}
	return c.strength
}

// atCommit blames a file as it was in a commit. It gives nothing where no record can tell of it.
func (q *question) atCommit(c *Commit) ([]Line, error) {
	content, records, err := q.contentAt(c)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	lines, err := File(q.ctx, c.Path, content, records, q.contents)
	if err != nil && q.ctx.Err() == nil {
		return nil, nil // no text in that commit
	}
	return lines, err
}

// contentAt gives a file as it was in a commit, and the records that can tell of it.
func (q *question) contentAt(c *Commit) ([]byte, []ledger.Entry, error) {
	all, err := q.records(c.Path)
	if err != nil {
		return nil, nil, err
	}
	// Commits know their time by the second, and clocks differ: what stands in the ledger before a record that is older
	// than the commit is older too.
	until := c.Time.Add(time.Second)
	records := all
	for len(records) > 0 && !records[len(records)-1].Time.Before(until) {
		records = records[:len(records)-1]
	}
	if len(records) == 0 {
		return nil, nil, nil
	}
	content, ok := q.blobs.content(c.ID + ":" + q.git.inRepository(c.Path))
	if !ok {
		return nil, nil, q.ctx.Err()
	}
	return content, records, nil
}

// storyInGit is the story of a line that was followed through a commit.
func (q *question) storyInGit(l Line) ([]Touch, error) {
	content, records, err := q.contentAt(l.Commit)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	story, err := Story(q.ctx, l.Commit.Path, l.Commit.Line, content, records, q.contents)
	if errors.Is(err, ErrNoSuchLine) {
		return nil, nil
	}
	for i := range story {
		t := &story[i]
		at := Line{Confidence: t.Confidence}
		t.Confidence = max(at.strength(), l.strength()).confidence()
	}
	return story, err
}
