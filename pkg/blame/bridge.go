package blame

import (
	"maps"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// head is the version in HEAD beside the present one.
type head struct {
	path string
	match
}

// atHead finds that version. It gives nil without git, or where git knows nothing of the file.
func (q *question) atHead() *head {
	if q.git == nil {
		return nil
	}
	for _, path := range q.names { // a move that is not committed yet leaves it under an older name
		if _, texts, ok := q.at("HEAD", path); ok {
			t := q.own.lineTable
			return &head{path, compare(t, &cells{lines: t.idsOf(texts)}, &cells{lines: t.idsOf(q.texts)})}
		}
	}
	return nil
}

// addCommits sets the commit of the lines that are asked for, as far as they are in HEAD's version.
func (q *question) addCommits(h *head, lines []Line, wanted func(Line) bool, moves bool) error {
	if h == nil {
		return q.ctx.Err()
	}
	var ask []int
	for i, l := range lines {
		if wanted(l) && h.from[i] >= 0 {
			ask = append(ask, h.from[i])
		}
	}
	if len(ask) == 0 {
		return nil
	}
	commits, known := map[int]*Commit(nil), false
	if !moves {
		commits, known = q.ahead.answer(h.path, len(ask), len(lines))
	}
	if !known {
		var err error
		if commits, err = q.git.blame(q.ctx, h.path, ask, moves); err != nil {
			return q.ctx.Err() // what git cannot tell is not known
		}
	}
	for i, l := range lines {
		if c := commits[h.from[i]]; wanted(l) && c != nil {
			commit := *c
			commit.strength = h.kind[i]
			lines[i].Commit = &commit
		}
	}
	return nil
}

// askGit answers for lines that no record explains yet. Most often git has them from commits of the file itself; only
// for what is still unexplained then, and could be, it is asked for moves.
func (q *question) askGit(lines []Line) ([]Line, error) {
	h := q.atHead()
	if err := q.addCommits(h, lines, isUntracked, false); err != nil || h == nil {
		return lines, err
	}
	lines, err := q.underOldNames(lines)
	if err != nil {
		return nil, err
	}
	if err := q.followCommits(lines, isUntracked); err != nil {
		return nil, err
	}
	movable, begun, err := q.movable(lines)
	if err != nil {
		return lines, err
	}
	if len(movable) > 0 {
		isMovable := func(l Line) bool { return movable[l.Number] }
		if err := q.addCommits(h, lines, isMovable, true); err != nil {
			return nil, err
		}
		if err := q.followCommits(lines, isMovable); err != nil {
			return nil, err
		}
	}
	maps.Copy(begun, movable)
	return lines, q.elsewhere(lines, begun)
}

// clockSlack is how far the clocks of those who commit and those who record may be apart.
const clockSlack = 24 * time.Hour

// movable gives the numbers of untracked lines that could have been moved since there are records: in runs with as many
// letters as git wants of a moved block, from commits that are not older than the ledger, where a record may know them. Those that git's history begins
// with come apart, because git can tell no more of them.
func (q *question) movable(lines []Line) (movable, begun map[int]bool, err error) {
	first, err := q.Ledger.Query(q.ctx, record.Filter{Kinds: record.ChangeKinds(), Limit: 1})
	if err != nil || len(first.Entries) == 0 {
		return nil, nil, err
	}
	since := first.Entries[0].Time.Add(-clockSlack)
	of := func(root bool) map[int]bool {
		return blocks(lines, func(l Line) bool {
			return isUntracked(l) && l.Commit != nil && l.Commit.root == root && !l.Commit.Time.Before(since)
		})
	}
	movable, begun = of(false), of(true)
	if can, err := q.canBeMoved(lines, movable); err != nil || !can {
		return nil, begun, err
	}
	return movable, begun, nil
}

// blocks gives the numbers of such lines where they stand together with enough letters.
func blocks(lines []Line, such func(Line) bool) map[int]bool {
	numbers := map[int]bool{}
	for i := 0; i < len(lines); {
		last, sum := i, 0
		for last < len(lines) && such(lines[last]) {
			sum += record.Weight(lines[last].Text)
			last++
		}
		for k := i; sum >= blockWeight && k < last; k++ {
			numbers[lines[k].Number] = true
		}
		i = max(last, i+1)
	}
	return numbers
}

// source is a file in a commit.
type source struct{ commit, path string }

// followCommits answers for lines from where git has them: the records of that path until that commit.
func (q *question) followCommits(lines []Line, asked func(Line) bool) error {
	wanted := map[source][]int{}
	fromPath := map[string]int{}
	var sources []source
	for i, l := range lines {
		if l.Commit == nil {
			continue
		}
		fromPath[l.Commit.Path]++
		if !asked(l) {
			continue
		}
		at := source{l.Commit.ID, l.Commit.Path}
		if wanted[at] == nil {
			sources = append(sources, at)
		}
		wanted[at] = append(wanted[at], i)
	}
	given := allWritten(lines)
	for _, at := range sources {
		numbers := map[int]bool{}
		for _, i := range wanted[at] {
			numbers[lines[i].Commit.Line] = true
		}
		there, err := q.atCommit(lines[wanted[at][0]].Commit, numbers)
		if err != nil {
			return err
		}
		for _, i := range wanted[at] {
			c := lines[i].Commit
			if c.Line <= len(there) && there[c.Line-1].Record != nil && !given[there[c.Line-1].Written()] {
				renamed := 2*fromPath[c.Path] >= len(lines)
				lines[i].take(there[c.Line-1], c.over(lines[i].Number, q.path, renamed))
				given[there[c.Line-1].Written()] = true // git takes a copy for a move
			}
		}
	}
	return nil
}

// take takes over the answer for the line in a commit, which is no surer than the way to it.
func (l *Line) take(there Line, way strength) {
	l.Record, l.Path, l.Origin = there.Record, there.Path, there.Origin
	l.Confidence = max(there.Confidence.strength(), way).confidence()
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

// atCommit answers for lines of a file as it was in a commit, by their numbers; others may stay empty. It gives nothing where no record can tell of it.
func (q *question) atCommit(c *Commit, wanted map[int]bool) ([]Line, error) {
	h, limit, err := q.until(c)
	if err != nil || limit == 0 {
		return nil, err
	}
	content, ok := q.blobAt(c.ID, c.Path)
	if !ok {
		return nil, q.ctx.Err()
	}
	hash := string(workspace.HashOf(content))
	ids := slices.Clone(h.linesOf(content, hash))
	lines, marks := make([]Line, len(ids)), make([]mark, len(ids))
	for i, id := range ids {
		lines[i].Text = h.text(id)
		marks[i] = mark{line: i, at: i, text: id, escort: !wanted[i+1]}
	}
	return lines, h.fill(q.ctx, nil, lines, state{node: node{h.name(c.Path), hash}, content: &cells{lines: ids}}, limit, marks)
}

// until gives the history of a commit's file, and how many of its steps can have led to the commit. Commits know their
// time by the second, and clocks differ: what stands in the ledger before a record that is older than the commit is
// older too.
func (q *question) until(c *Commit) (*history, int, error) {
	h := q.own
	if !q.isOwn(c.Path) {
		if h = q.others[c.Path]; h == nil {
			records, err := q.records(c.Path)
			if err != nil {
				return nil, 0, err
			}
			h = newHistory(c.Path, records, q.contents)
			q.others[c.Path] = h
		}
	}
	limit := len(h.steps)
	for limit > 0 && !h.steps[limit-1].entry.Time.Before(c.Time.Add(time.Second)) {
		limit--
	}
	return h, limit, nil
}

// at gives a file as a commit has it, and its lines; not what has none.
func (q *question) at(commit, path string) (content []byte, texts []string, ok bool) {
	if content, ok = q.blobAt(commit, path); !ok {
		return nil, nil, false
	}
	texts, err := textLines(content)
	return content, texts, err == nil
}

func (q *question) blobAt(commit, path string) (content []byte, ok bool) {
	return q.blobs.blob(commit + ":" + q.git.inRepository(path))
}

// storyInGit is the story of a line that was followed through a commit.
func (q *question) storyInGit(l Line) ([]Touch, error) {
	h, limit, err := q.until(l.Commit)
	if err != nil || limit == 0 {
		return nil, err
	}
	content, texts, ok := q.at(l.Commit.ID, l.Commit.Path)
	if !ok || l.Commit.Line > len(texts) {
		return nil, q.ctx.Err()
	}
	story, err := h.story(q.ctx, l.Commit.Path, l.Commit.Line, content, texts, limit)
	for i := range story {
		story[i].Confidence = max(story[i].Confidence.strength(), l.Confidence.strength()).confidence()
	}
	return story, err
}
