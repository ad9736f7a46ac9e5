// Package stats counts what is in a ledger: by intent, class, contributor, model, path, kind and day, with refactor set
// against evolution, and refusals by their code.
//
// It promises one pass over the records in any order, memory that does not grow with their number, and the same report
// for the same records. A record that was spread over several lines counts with its first, its changes where they stand. What
// there is to count is bounded: of each table the first 100,000 different names are counted by themselves, later ones
// together as [Other], and the report says so.
//
// It does not promise the lines of the files as they are now: it counts what was done, also what was undone later. The lines of a
// change are those of its hunks, so a line that was edited counts as one added and one removed; a coarse record counts all lines
// from its first change to its last. Where a record of a mutation was retracted, both stand in the ledger and both are counted.
//
// # Report as JSON
//
// The fields of [Report] under their JSON names are stable: programs may rely on them, and more may be added. Times are
// RFC 3339 in UTC, days are UTC days. Lists are sorted by what weighs most, then by name; days by date. A list that was
// cut to Options.Top says in omitted, under its own name, how many rows it lacks.
package stats

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// The values of mutation_class.
const (
	classRefactor  = "AST_REFACTOR"
	classEvolution = "INTENT_EVOLUTION"
)

// Options say what to count.
type Options struct {
	// Path counts of each record only the changes of this file; with a final slash, of the files below.
	Path string
	// Top is how many rows of each list the report has; 0 for all.
	Top int
	// Names is how many different names a table counts by themselves; 0 for 100,000.
	Names int
}

const defaultNames = 100_000

// Collector counts records as they come. It is not safe for concurrent use.
type Collector struct {
	opts     Options
	report   Report
	kinds    *table[Kind]
	intents  *table[Intent]
	classes  *table[Class]
	people   *table[Contributor]
	models   *table[Model]
	paths    *table[Path]
	refusals *table[Refusal]
	days     *table[Day]
	sessions *table[struct{}]
}

// New counts from nothing.
func New(opts Options) *Collector {
	opts.Names = cmp.Or(opts.Names, defaultNames)
	return &Collector{
		opts:     opts,
		kinds:    newTable(opts.Names, func(name string) Kind { return Kind{Kind: name} }),
		intents:  newTable(opts.Names, func(name string) Intent { return Intent{IntentID: name} }),
		classes:  newTable(opts.Names, func(name string) Class { return Class{MutationClass: name, Evidence: map[string]int{}} }),
		people:   newTable(opts.Names, func(name string) Contributor { return Contributor{Type: name} }),
		models:   newTable(opts.Names, func(name string) Model { return Model{ModelID: name} }),
		paths:    newTable(opts.Names, func(name string) Path { return Path{Path: name} }),
		refusals: newTable(opts.Names, func(name string) Refusal { return Refusal{ErrorType: name} }),
		days:     newTable(opts.Names, func(name string) Day { return Day{Day: name} }),
		sessions: newTable(opts.Names, func(string) struct{} { return struct{}{} }),
	}
}

// Add counts one line of the ledger.
func (c *Collector) Add(e record.Entry) {
	if e.Kind == "" {
		c.report.Foreign++
		return
	}
	first := e.Part == nil || e.Part.Index <= 1
	if first {
		c.addRecord(e)
	}
	if changed := c.tally(e, first); changed != (Tally{}) {
		c.addChanges(e, changed)
	}
	c.report.Commands.Violations += len(e.Violations)
}

func (c *Collector) addRecord(e record.Entry) {
	c.report.Records++
	if t := e.Time; c.report.First == nil || t.Before(*c.report.First) {
		c.report.First = &t
	}
	if t := e.Time; c.report.Last == nil || t.After(*c.report.Last) {
		c.report.Last = &t
	}
	c.kinds.row(string(e.Kind)).Records++
	if e.Session != "" {
		c.sessions.row(e.Session)
	}
	intent := c.intents.row(e.IntentID)
	intent.Last = later(intent.Last, e.Time)
	if e.Command != nil && !e.Command.Started { // a command in the background is counted when it ends
		intent.Commands++
		c.addCommand(*e.Command)
	}
	if e.Decision != nil {
		c.addDecision(e, intent)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (c *Collector) addCommand(cmd record.Command) {
	c.report.Commands.Runs++
	if cmd.TimedOut {
		c.report.Commands.TimedOut++
	}
	if cmd.TimedOut || cmd.ExitCode != 0 && cmd.EndedBy == "" {
		c.report.Commands.Failed++
	}
}

func (c *Collector) addDecision(e record.Entry, intent *Intent) {
	d := &c.report.Decisions
	switch e.Decision.Outcome {
	case "asked":
		d.Asked++
	case "approved":
		d.Approved++
	case "denied":
		d.Denied++
	case "refused":
		d.Refused++
		intent.Refused++
		c.refusals.row(e.Decision.ErrorType).Count++
		c.days.row(dayOf(e)).Refused++
		if contributorType(e) != record.ContributorHuman {
			c.models.row(e.Contributor.ModelID).Refused++
		}
	}
}

func dayOf(e record.Entry) string { return e.Time.UTC().Format(time.DateOnly) }

func contributorType(e record.Entry) string {
	return cmp.Or(e.Contributor.Type, record.ContributorUnknown)
}

// tally counts the changes of a line. The record itself counts with its first line.
func (c *Collector) tally(e record.Entry, first bool) (t Tally) {
	for _, changed := range e.Changes {
		if changed.Op == change.Unchanged || !c.counts(changed) {
			continue
		}
		added, removed := changed.Lines()
		t.add(Tally{Changes: 1, LinesAdded: added, LinesRemoved: removed})
		path := c.paths.row(changed.Path)
		path.Tally.add(Tally{Records: 1, Changes: 1, LinesAdded: added, LinesRemoved: removed})
		path.Last = later(path.Last, e.Time)
	}
	if t.Changes > 0 && first {
		t.Records = 1
	}
	return t
}

func (c *Collector) counts(one record.Change) bool {
	on := record.Filter{Path: c.opts.Path}.OnPath
	return c.opts.Path == "" || on(one.Path) || on(one.From)
}

func (c *Collector) addChanges(e record.Entry, changed Tally) {
	c.report.Changed.add(changed)
	intent := c.intents.row(e.IntentID)
	intent.Tally.add(changed)
	c.people.row(contributorType(e)).Tally.add(changed)
	c.days.row(dayOf(e)).Tally.add(changed)
	var model *Model
	if contributorType(e) != record.ContributorHuman {
		model = c.models.row(e.Contributor.ModelID)
		model.Tally.add(changed)
	}
	switch e.MutationClass {
	case classRefactor:
		intent.Refactor.add(changed)
		if model != nil {
			model.Refactor.add(changed)
		}
	case classEvolution:
		intent.Evolution.add(changed)
		if model != nil {
			model.Evolution.add(changed)
		}
	}
	c.addClass(e, changed)
}

func (c *Collector) addClass(e record.Entry, changed Tally) {
	class := c.classes.row(e.MutationClass)
	class.Tally.add(changed)
	if changed.Records == 0 {
		return
	}
	class.Evidence[evidence(e)]++
	if e.Class != nil && e.Class.Declared != "" && e.Class.Declared != e.MutationClass {
		class.Overruled++
	}
}

// evidence is one of the format's words; another is none, so that hostile lines cannot fill a table.
func evidence(e record.Entry) string {
	if e.Class == nil {
		return "none"
	}
	switch e.Class.Evidence {
	case "proven", "proven-local", "unproven":
		return e.Class.Evidence
	case "unsupported":
		if e.Class.Declared != "" {
			return "declared"
		}
	}
	return "none"
}

// table has a row for each name, up to a limit; names that come later share the row Other.
type table[R any] struct {
	limit  int
	create func(name string) R
	rows   map[string]*R
	merged bool
}

func newTable[R any](limit int, create func(string) R) *table[R] {
	return &table[R]{limit: limit, create: create, rows: map[string]*R{}}
}

func (t *table[R]) row(name string) *R {
	if row := t.rows[name]; row != nil {
		return row
	}
	if len(t.rows) >= t.limit {
		name, t.merged = Other, true
		if row := t.rows[name]; row != nil {
			return row
		}
	}
	row := t.create(name)
	t.rows[name] = &row
	return &row
}

// Report is what has been counted so far.
func (c *Collector) Report() Report {
	r := c.report
	r.Sessions = len(c.sessions.rows)
	r.Omitted, r.Merged = map[string]int{}, []string{}
	top := c.opts.Top
	r.Kinds = fill(&r, "kinds", 0, c.kinds, func(k Kind) int { return k.Records })
	r.Intents = fill(&r, "intents", top, c.intents, func(i Intent) int { return i.Records })
	r.Classes = fill(&r, "classes", top, c.classes, func(x Class) int { return x.Records })
	r.Contributors = fill(&r, "contributors", 0, c.people, func(x Contributor) int { return x.Records })
	r.Models = fill(&r, "models", top, c.models, func(m Model) int { return m.Records })
	r.Paths = fill(&r, "paths", top, c.paths, func(p Path) int { return p.Records })
	r.Refusals = fill(&r, "refusals", top, c.refusals, func(x Refusal) int { return x.Count })
	r.Days = fill(&r, "days", top, c.days, nil)
	if c.sessions.merged {
		r.Merged = append(r.Merged, "sessions")
	}
	return r
}

// fill lists the rows of a table, those that weigh most first, the others by name, and keeps the first; without a weight all by
// name, and the last.
func fill[R any](r *Report, name string, top int, t *table[R], weight func(R) int) []R {
	list := make([]R, 0, len(t.rows))
	for _, row := range slices.Sorted(maps.Keys(t.rows)) {
		list = append(list, *t.rows[row])
	}
	if t.merged {
		r.Merged = append(r.Merged, name)
	}
	cut := 0
	if top > 0 {
		cut = max(0, len(list)-top)
	}
	if cut > 0 {
		r.Omitted[name] = cut
	}
	if weight == nil {
		return list[cut:]
	}
	slices.SortStableFunc(list, func(a, b R) int { return cmp.Compare(weight(b), weight(a)) })
	return list[:len(list)-cut]
}
