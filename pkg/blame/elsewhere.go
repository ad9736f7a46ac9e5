package blame

import (
	"cmp"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// maxElsewhere bounds how many records are looked at for lines that git's history begins with.
const maxElsewhere = 1 << 14

// elsewhere answers for lines that came from another file, and git cannot say which lines of it they were. The marks of
// records say which other files had them: those that git names, and where its history was cut off all of the ledger.
func (q *question) elsewhere(lines []Line, movable map[int]bool) error {
	if len(movable) == 0 {
		return nil
	}
	entries, err := q.recordsElsewhere(lines, movable)
	if err != nil {
		return err
	}
	for _, name := range q.mentioned(entries, lines, movable) {
		if err := q.fromOther(name, lines, movable); err != nil {
			return err
		}
	}
	return nil
}

// recordsElsewhere gives the records that can tell of such lines.
func (q *question) recordsElsewhere(lines []Line, movable map[int]bool) (entries []record.Entry, err error) {
	if q.git.shallow {
		found, err := q.Ledger.Query(q.ctx, record.Filter{Kinds: record.ChangeKinds(), Newest: true, Limit: maxElsewhere})
		return found.Entries, err
	}
	names, _, err := q.changedWith(lines, movable)
	for _, name := range names[:min(len(names), maxNames)] {
		if err == nil {
			var found []record.Entry
			found, err = q.records(name)
			entries = append(entries, found...)
		}
	}
	return entries, err
}

// changedWith gives the other paths that the commits of such lines changed, and whether there may be more.
func (q *question) changedWith(lines []Line, movable map[int]bool) (others []string, more bool, err error) {
	commits, names := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		if movable[l.Number] && l.Record == nil && len(commits) < maxNames {
			commits[l.Commit.ID] = commits[l.Commit.ID] || !l.Commit.root
			names[l.Commit.Path] = true
		}
	}
	maps.DeleteFunc(commits, func(_ string, hasParents bool) bool { return !hasParents })
	if len(commits) > 0 {
		changed, merges, err := q.git.changedIn(q.ctx, slices.Sorted(maps.Keys(commits)))
		if err != nil {
			return nil, false, err
		}
		for _, name := range changed {
			names[name] = true
		}
		more = merges || len(commits) == maxNames
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !q.isOwn(name) {
			others = append(others, name)
		}
	}
	return others, more, nil
}

// canBeMoved reports whether lines that somebody committed can have been moved from where a record wrote them, within the file
// or from one that was changed with it. Git's answer to that costs more than all else; most such lines are new.
func (q *question) canBeMoved(lines []Line, movable map[int]bool) (bool, error) {
	if len(movable) == 0 {
		return false, nil
	}
	wanted := wantedMarks(lines, movable, weakWeight+1)
	knows := func(e record.Entry) bool { return mayKnow(e, wanted) }
	if q.git.shallow || slices.ContainsFunc(q.past, knows) {
		return true, nil
	}
	others, more, err := q.changedWith(lines, movable)
	if err != nil || more || len(others) > maxNames {
		return err == nil, err
	}
	for _, name := range others {
		records, err := q.records(name)
		if err != nil || len(records) == 0 || slices.ContainsFunc(records, knows) {
			return err == nil, err
		}
	}
	return false, nil
}

// wantedMarks gives the marks of such lines, without white space, from a weight on.
func wantedMarks(lines []Line, movable map[int]bool, weight int) map[[5]byte]bool {
	wanted := map[[5]byte]bool{}
	for _, l := range lines {
		if movable[l.Number] && l.Record == nil && record.Weight(l.Text) >= weight {
			wanted[record.MarkOf(l.Text).Bare()] = true
		}
	}
	return wanted
}

// mayKnow reports whether a record wrote one of the lines, or does not say which it wrote.
func mayKnow(e record.Entry, wanted map[[5]byte]bool) bool {
	return slices.ContainsFunc(e.Changes, func(c record.Change) bool {
		return len(c.Marks) == 0 && len(c.Ranges) > 0 || slices.ContainsFunc(c.Marks, func(m record.LineMark) bool { return wanted[m.Bare()] })
	})
}

// mentioned gives the other files that records say had the lines, those with most of them first.
func (q *question) mentioned(entries []record.Entry, lines []Line, movable map[int]bool) []string {
	wanted := wantedMarks(lines, movable, strongWeight)
	counts := map[string]int{}
	for _, e := range entries {
		for _, c := range e.Changes {
			if q.isOwn(c.Path) {
				continue
			}
			for _, m := range c.Marks {
				if wanted[m.Bare()] {
					counts[c.Path]++
				}
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), maxNames)]
}

// fromOther answers for lines that stood in another file, and stand there no more: what does is copied from there, but for
// one of two that were alike.
func (q *question) fromOther(name string, lines []Line, movable map[int]bool) error {
	records, err := q.records(name)
	if err != nil {
		return err
	}
	h := newHistory(name, records, q.contents)
	stays, claimed, err := q.stay(h, name)
	if err != nil {
		return err
	}
	h.foreign = true
	now := &cells{lines: h.idsOf(q.texts), adrift: true}
	var marks []mark
	for i, id := range now.lines {
		isCopy := stays[h.loose(id)] && h.weight(id) > weakWeight && !h.all[h.loose(id)].twin
		if !movable[i+1] || lines[i].Record != nil || isCopy {
			now.lines[i] = unknown
			continue
		}
		marks = append(marks, mark{line: i, at: i, text: id, strength: moved})
	}
	return h.fill(q.ctx, claimed, lines, state{node: node{path: name}, content: now}, len(h.steps), marks)
}

// stay gives what still stands in another file, without white space, and which lines of records that is.
func (q *question) stay(h *history, name string) (stays map[lineID]bool, claimed map[Written]bool, err error) {
	content, texts, ok := q.at("HEAD", name)
	if !ok {
		return nil, nil, nil
	}
	stays = map[lineID]bool{}
	for _, id := range h.idsOf(texts) {
		stays[h.loose(id)] = true
	}
	there, err := h.file(q.ctx, name, content, texts)
	return stays, allWritten(there), err
}
