package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// added is a record that the range adds.
type added struct {
	record.Entry
	number int // of the line in its segment
	hash   record.Hash
	based  bool // a commit of the base names it, or one after it
	sure   bool // it is of the range, whatever it changed
}

func (r *added) name() string { return cmp.Or(r.ID, r.Hash) }

// explains reports whether the record can account for changes of files.
func (r *added) explains() bool {
	return slices.Contains(append(record.ChangeKinds(), record.KindLifecycle), r.Kind)
}

// readRecords finds the range's records. Those of a ledger in the tree are the lines that neither the base nor the merge base
// has; of one beside it, the contents say which changes are the range's. The same line twice counts once.
func (r *review) readRecords() error {
	known := map[record.Hash]struct{}{}
	for _, snap := range slices.Compact([]*snapshot{r.base, r.fork}) {
		if err := r.hashes(snap, known); err != nil {
			return err
		}
	}
	changed, seen := r.changedNames(), map[record.Hash]bool{}
	var candidates []*added
	_, err := locate.EachLine(r.ctx, r.head.root, func(line ledger.RawLine) error {
		_, based := known[line.Hash]
		if seen[line.Hash] || !line.Whole || based && (r.head.hasLedger() || !mentions(line.Data, changed)) {
			return nil // what is no line is the chain's to report
		}
		seen[line.Hash] = true
		if rec := r.readRecord(line, based); rec != nil {
			candidates = append(candidates, rec)
		}
		return nil
	})
	if err != nil {
		return err
	}
	chosen, err := r.choose(candidates)
	for _, rec := range chosen {
		r.take(rec)
	}
	return err
}

// changedNames are the paths in the workspace that some commit of the range changed.
func (r *review) changedNames() map[string]bool {
	names := map[string]bool{}
	for _, c := range r.commits {
		for _, d := range c.changes {
			names[strings.TrimPrefix(d.oldPath, r.prefix)], names[strings.TrimPrefix(d.newPath, r.prefix)] = true, true
		}
	}
	return names
}

// readRecord gives the record that a line can add to the range, if any.
func (r *review) readRecord(line ledger.RawLine, based bool) *added {
	entry, err := record.Parse(line.Data)
	if err != nil && based {
		return nil
	}
	if err != nil {
		r.lines = append(r.lines, line.Hash)
		r.add(Finding{
			Check: CheckLedger, Severity: Error, File: r.inRepository(home + "/" + line.Segment), Line: line.Number, End: line.Number,
			Message: fmt.Sprintf("malformed_line: %v", err), Advice: "Bring the line back as the server wrote it (orchestra-mcp ledger restore), or explain it.",
		})
		return nil
	}
	entry.Raw, entry.Segment = nil, line.Segment
	rec := &added{entry, line.Number, line.Hash, based, len(entry.Changes) == 0 || r.head.hasLedger()}
	if rec.sure && based {
		return nil
	}
	return rec
}

// take counts a record for the range.
func (r *review) take(rec *added) {
	r.lines = append(r.lines, rec.hash)
	if rec.Kind == "" {
		r.report.Foreign++
		return
	}
	r.records = append(r.records, rec)
	r.report.Records++
	r.count(rec)
	if !rec.explains() {
		return
	}
	for _, c := range rec.Changes {
		for _, p := range changedPaths(c) {
			if at := r.touched[p]; len(at) == 0 || at[len(at)-1] != rec {
				r.touched[p] = append(at, rec)
			}
		}
	}
}

// changedPaths are the paths that a change touched; none if it changed nothing.
func changedPaths(c record.Change) []string {
	switch {
	case c.Op == change.Unchanged:
		return nil
	case c.From != "":
		return []string{c.Path, c.From}
	}
	return []string{c.Path}
}

// count adds the record to the totals of its intent.
func (r *review) count(rec *added) {
	if d := rec.Decision; d != nil {
		switch d.Outcome {
		case "refused", "denied":
			r.report.Refused++
			r.intent(rec.IntentID).Refused++
		case "approved":
			r.report.Approved++
		}
	}
	if len(rec.Changes) == 0 {
		return
	}
	in := r.intent(rec.IntentID)
	in.Records++
	if model := rec.Contributor.ModelID; model != "" && !slices.Contains(in.Models, model) && len(in.Models) < maxRecords {
		in.Models = append(in.Models, model)
	}
}

// intent gives the row of an intent in the report.
func (r *review) intent(id string) *Intent {
	if row := r.intents[id]; row != nil {
		return row
	}
	row := &Intent{ID: id, Origin: "unknown"}
	if in, ok := r.base.get(id); ok {
		row.Origin, row.Name, row.Status = "base", in.Name, string(in.Status)
	}
	if in, ok := r.head.get(id); ok {
		if row.Origin == "unknown" {
			row.Origin = "head"
		}
		row.Name, row.Status = cmp.Or(row.Name, in.Name), string(in.Status)
	}
	r.intents[id] = row
	return row
}

// related gives the records on a path and on all names that moves tie to it, the oldest first.
func (r *review) related(paths ...string) []*added {
	var found []*added
	seen := map[*added]bool{}
	names := slices.Clone(paths)
	for i := 0; i < len(names); i++ {
		for _, rec := range r.touched[names[i]] {
			if !seen[rec] {
				seen[rec] = true
				found = append(found, rec)
				names = append(names, tied(rec, names)...)
			}
		}
	}
	byTime(found)
	return found
}

func byTime(records []*added) {
	slices.SortStableFunc(records, func(a, b *added) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Segment, b.Segment), a.number-b.number)
	})
}

func tied(rec *added, names []string) (more []string) {
	for _, c := range rec.Changes {
		if c.From == "" {
			continue
		}
		hasNew, hasOld := slices.Contains(names, c.Path), slices.Contains(names, c.From)
		if hasNew && !hasOld {
			more = append(more, c.From)
		} else if hasOld && !hasNew {
			more = append(more, c.Path)
		}
	}
	return more
}
