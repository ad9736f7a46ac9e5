package blame

import (
	"cmp"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// maxElsewhere bounds how many records are looked at for lines that git's history begins with.
const maxElsewhere = 1 << 14

// elsewhere answers for lines that git's history begins with, as all of a shallow clone's do: git cannot say from which
// file they came. The marks of records say which other files had them.
func (q *question) elsewhere(lines []Line, movable map[int]bool) error {
	if len(movable) == 0 {
		return nil
	}
	found, err := q.Ledger.Query(q.ctx, ledger.Filter{Kinds: ledger.ChangeKinds(), Newest: true, Limit: maxElsewhere})
	if err != nil {
		return err
	}
	for _, name := range q.mentioned(found.Entries, lines, movable) {
		if err := q.fromOther(name, lines, movable); err != nil {
			return err
		}
	}
	return nil
}

// mentioned gives the other files that records say had the lines, those with most of them first.
func (q *question) mentioned(entries []ledger.Entry, lines []Line, movable map[int]bool) []string {
	wanted := map[[5]byte]bool{}
	for _, l := range lines {
		if movable[l.Number] && l.Record == nil && weight(l.Text) >= strongWeight {
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
