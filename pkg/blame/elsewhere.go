package blame

import (
	"cmp"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
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
func (q *question) recordsElsewhere(lines []Line, movable map[int]bool) (entries []ledger.Entry, err error) {
	if shallow, err := q.git.Ask(q.ctx, "rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
		found, err := q.Ledger.Query(q.ctx, ledger.Filter{Kinds: ledger.ChangeKinds(), Newest: true, Limit: maxElsewhere})
		return found.Entries, err
	}
	commits, names := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		if movable[l.Number] && l.Record == nil && len(commits) < maxNames {
			commits[l.Commit.ID], names[l.Commit.Path] = true, true
		}
	}
	if len(commits) == 0 {
		return nil, nil
	}
	changed, err := q.git.changedIn(q.ctx, slices.Sorted(maps.Keys(commits)))
	for _, name := range changed {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names))[:min(len(names), maxNames)] {
		if err == nil && !slices.Contains(q.names, name) && !slices.Contains(q.past.names, name) {
			var found []ledger.Entry
			found, err = q.records(name)
			entries = append(entries, found...)
		}
	}
	return entries, err
}

// mentioned gives the other files that records say had the lines, those with most of them first.
func (q *question) mentioned(entries []ledger.Entry, lines []Line, movable map[int]bool) []string {
	wanted := map[[5]byte]bool{}
	for _, l := range lines {
		if movable[l.Number] && l.Record == nil && IsStrong(l.Text) {
			wanted[ledger.MarkOf(l.Text).Bare()] = true
		}
	}
	counts := map[string]int{}
	for _, e := range entries {
		for _, c := range e.Changes {
			if slices.Contains(q.names, c.Path) || slices.Contains(q.past.names, c.Path) {
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
	h := newHistory(name, files{records: records}, q.contents)
	stays, claimed, err := q.stay(h, name)
	if err != nil {
		return err
	}
	h.foreign = true
	now := &cells{lines: h.idsOf(q.texts), adrift: true}
	var marks []mark
	for i, id := range now.lines {
		isCopy := stays[h.loose(id)] && h.weight(id) > weakWeight && !h.hadTwin(id)
		if !movable[i+1] || lines[i].Record != nil || isCopy {
			now.lines[i] = unknown
			continue
		}
		marks = append(marks, mark{line: i, at: i, text: id, strength: moved})
	}
	return h.fillBut(q.ctx, claimed, lines, state{path: name, content: now}, len(h.steps), marks)
}

// stay gives what still stands in another file, without white space, and which lines of records that is.
func (q *question) stay(h *history, name string) (stays map[lineID]bool, claimed map[origin]bool, err error) {
	content, ok := q.blobs.content(q.revision + ":" + q.git.inRepository(name))
	if !ok {
		return nil, nil, nil
	}
	texts, err := textLines(content)
	if err != nil {
		return nil, nil, nil // binary there, text here: no line stayed
	}
	stays = map[lineID]bool{}
	for _, id := range h.idsOf(texts) {
		stays[h.loose(id)] = true
	}
	there, err := h.file(q.ctx, name, content, texts)
	return stays, origins(there), err
}
