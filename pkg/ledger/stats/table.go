package stats

import (
	"cmp"
	"maps"
	"slices"
)

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

// list gives the rows that weigh most first, the others by name.
func (t *table[R]) list(weight func(R) int) []R {
	names := slices.Sorted(maps.Keys(t.rows))
	list := make([]R, len(names))
	for i, name := range names {
		list[i] = *t.rows[name]
	}
	slices.SortStableFunc(list, func(a, b R) int { return cmp.Compare(weight(b), weight(a)) })
	return list
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
	r.Days = lastDays(&r, top, c.days)
	if c.sessions.merged {
		r.Merged = append(r.Merged, "sessions")
	}
	return r
}

func fill[R any](r *Report, name string, top int, t *table[R], weight func(R) int) []R {
	list := t.list(weight)
	if t.merged {
		r.Merged = append(r.Merged, name)
	}
	if top > 0 && len(list) > top {
		r.Omitted[name] = len(list) - top
		list = list[:top]
	}
	return list
}

// lastDays keeps the latest days, in their order.
func lastDays(r *Report, top int, t *table[Day]) []Day {
	list := t.list(func(Day) int { return 0 })
	if t.merged {
		r.Merged = append(r.Merged, "days")
	}
	if top > 0 && len(list) > top {
		r.Omitted["days"] = len(list) - top
		list = list[len(list)-top:]
	}
	return list
}
