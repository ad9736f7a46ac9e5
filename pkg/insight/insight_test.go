package insight_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/insight"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// bench is a workspace with a ledger whose clock the test sets.
type bench struct {
	*testing.T
	dir  string
	root *os.Root
	now  time.Time
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, dir: t.TempDir(), now: time.Date(2026, 2, 18, 23, 30, 0, 0, time.UTC)}
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents: []\n")
	b.root = check.Value(os.OpenRoot(b.dir))(t)
	t.Cleanup(func() {
		report := check.Value(verify.Verify(context.Background(), b.root))(t)
		check.That(t, len(report.Problems) == 0, "%v", report.Problems)
		b.root.Close()
	})
	return b
}

func (b *bench) clock() time.Time { return b.now }

// open gives a ledger as another process would have it.
func (b *bench) open() *ledger.Ledger {
	return check.Value(ledger.Open(b.root, ledger.Options{Durability: ledger.DurabilityOS, Clock: b.clock}))(b.T)
}

func (b *bench) write(l *ledger.Ledger, records ...record.Record) {
	b.Helper()
	for _, r := range records {
		check.Value(l.Append(b.Context(), r))(b.T)
	}
}

func changed(intentID, class, model string, changes ...string) record.Record {
	r := record.Record{Kind: record.KindMutation, IntentID: intentID, MutationClass: class, Contributor: record.Contributor{Type: record.ContributorAI, ModelID: model}}
	for _, path := range changes {
		r.Changes = append(r.Changes, record.Change{Change: change.Change{Op: change.Modified, Path: path}})
	}
	return r
}

func decision(intentID, outcome, errorType string) record.Record {
	return record.Record{Kind: record.KindDecision, IntentID: intentID, Decision: &record.Decision{Outcome: outcome, ErrorType: errorType}}
}

// A Collector that was kept up to date says what one says that reads all now.
func TestTimeline(t *testing.T) {
	b := newBench(t)
	l := b.open()
	defer l.Close(t.Context())
	kept := insight.New(insight.Options{Now: b.clock})
	update := func(c *insight.Collector) { t.Helper(); check.OK(t, c.Update(t.Context(), l)) }
	update(kept)
	unchanged := changed("A", "", "m", "x")
	unchanged.Changes[0].Op = change.Unchanged
	b.write(l, changed("A", "AST_REFACTOR", "m", "a", "b"), changed("A", "INTENT_EVOLUTION", "", "a"), unchanged, record.Record{Kind: record.KindSelection, IntentID: "A"})
	update(kept)
	b.now = b.now.Add(time.Hour) // another day
	human := changed("B", "INTENT_EVOLUTION", "", "c")
	human.Contributor = record.Contributor{Type: record.ContributorHuman}
	b.write(l, human, decision("A", "refused", "SCOPE_VIOLATION"), decision("B", "asked", ""), decision("B", "approved", ""), decision("B", "denied", ""))
	update(kept)
	update(kept)
	fresh := insight.New(insight.Options{Now: b.clock})
	update(fresh)
	got := kept.Timeline(insight.Range{})
	check.That(t, reflect.DeepEqual(got, fresh.Timeline(insight.Range{})), "kept %+v\nfresh %+v", got, fresh.Timeline(insight.Range{}))

	const day1, day2 = "2026-02-18", "2026-02-19"
	series := func(name string, first, second insight.Counts) insight.Series {
		s := insight.Series{Name: name, Points: []insight.Point{}}
		s.Sum = insight.Counts{Changes: first.Changes + second.Changes, Refused: second.Refused, Asked: second.Asked, Approved: second.Approved, Denied: second.Denied}
		if first != (insight.Counts{}) {
			s.Points = append(s.Points, insight.Point{Day: day1, Counts: first})
		}
		if second != (insight.Counts{}) {
			s.Points = append(s.Points, insight.Point{Day: day2, Counts: second})
		}
		return s
	}
	type n = insight.Counts
	want := insight.Timeline{
		Unit: "day", Total: series("", n{Changes: 2}, n{1, 1, 1, 1, 1}),
		Intents:  []insight.Series{series("B", n{}, n{Changes: 1, Asked: 1, Approved: 1, Denied: 1}), series("A", n{Changes: 2}, n{Refused: 1})},
		Models:   []insight.Series{series("", n{Changes: 1}, n{0, 1, 1, 1, 1}), series("m", n{Changes: 1}, n{})},
		Classes:  []insight.Series{series("", n{}, n{0, 1, 1, 1, 1}), series("INTENT_EVOLUTION", n{Changes: 1}, n{Changes: 1}), series("AST_REFACTOR", n{Changes: 1}, n{})},
		Refusals: []insight.Series{series("SCOPE_VIOLATION", n{}, n{Refused: 1})},
	}
	check.That(t, reflect.DeepEqual(got, want), "got  %+v\nwant %+v", got, want)

	at := func(text string) time.Time { return check.Value(time.Parse(time.DateTime, text))(t) }
	second := kept.Timeline(insight.Range{Since: at(day2 + " 00:00:00"), Top: 1})
	check.That(t, second.Total.Sum == n{1, 1, 1, 1, 1} && len(second.Classes) == 2 && second.Classes[1].Name == insight.Other, "%+v", second)
	first := kept.Timeline(insight.Range{Until: at(day2 + " 00:00:00")})
	check.That(t, first.Total.Sum == n{Changes: 2} && len(first.Intents) == 1 && len(first.Refusals) == 0, "%+v", first)

	b.now = b.now.AddDate(0, 0, 118)
	b.write(l, changed("A", "", "", "a"))
	update(kept)
	check.Equal(t, kept.Timeline(insight.Range{}).Unit, "day", "120 days are by")
	b.now = b.now.AddDate(0, 0, 1)
	b.write(l, changed("A", "", "", "a"))
	update(kept)
	weeks := kept.Timeline(insight.Range{})
	check.That(t, weeks.Unit == "week" && weeks.Total.Points[0] == insight.Point{Day: "2026-02-16", Counts: n{3, 1, 1, 1, 1}} && len(weeks.Total.Points) == 2, "%+v", weeks.Total)
}

// Hostile records can have any names, days and paths: what finds no room is said.
func TestMemoryIsBounded(t *testing.T) {
	b := newBench(t)
	l := b.open()
	defer l.Close(t.Context())
	for i := range 50 {
		b.now = b.now.AddDate(0, 0, -1)
		b.write(l, changed(fmt.Sprint("I", i), fmt.Sprint("C", i), fmt.Sprint("M", i), fmt.Sprint("p", i)))
	}
	c := insight.New(insight.Options{Now: b.clock, Cells: 40, Paths: 10})
	check.OK(t, c.Update(t.Context(), l))
	got := c.Timeline(insight.Range{})
	check.That(t, got.Total.Sum.Changes == 10 && len(got.Intents) == 10 && got.Uncounted == 160, "%+v", got)
}

func TestScopes(t *testing.T) {
	b := newBench(t)
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", `active_intents:
  - {id: WIDE, name: Wide, owned_scope: ["src/**", "docs/**"]}
  - {id: FITS, name: Fits, owned_scope: ["src/api/**"]}
  - {id: NEW, name: New, owned_scope: ["src/**"]}
  - {id: IDLE, name: Idle, owned_scope: ["docs"]}
  - {id: ALL, name: All}
`)
	files := slices.Concat(numbered("src/api", 4), numbered("src/core", 30), numbered("docs", 10), []string{".git/src/x"})
	for _, name := range files {
		check.Write(t, b.dir, name, "")
	}
	l := b.open()
	defer l.Close(t.Context())
	for i := range 5 {
		b.write(l, changed("WIDE", "", "", fmt.Sprintf("src/api/f%02d.go", i), "elsewhere/x"), changed("FITS", "", "", fmt.Sprintf("src/api/f%02d.go", i)))
	}
	moved := changed("WIDE", "", "", "docs/f00.go")
	moved.Changes[0].Op, moved.Changes[0].From = change.Moved, "docs/old.go"
	build := changed("WIDE", "", "", "src/core/out")
	build.Kind = record.KindBuild
	b.write(l, moved, build, changed("NEW", "", "", "src/api/f00.go"))
	c := insight.New(insight.Options{Now: b.clock})
	check.OK(t, c.Update(t.Context(), l))
	store := intent.Open(b.root)
	got, err := c.Scopes(t.Context(), store)
	check.OK(t, err)
	use := func(id, name string, files, records, touched, outside, proposed int, reason string, proposal ...string) insight.ScopeUse {
		in, _ := check.Value(store.Load())(t).Get(id)
		return insight.ScopeUse{
			IntentID: id, Name: name, Status: intent.InProgress, Scope: in.OwnedScope, Files: files, Records: records, Touched: touched,
			Outside: outside, Proposed: proposed, Reason: reason, Proposal: append([]string{}, proposal...),
		}
	}
	want := []insight.ScopeUse{
		use("WIDE", "Wide", 44, 6, 7, 1, 5, "", "docs/f00.go", "docs/old.go", "src/api/**"),
		use("FITS", "Fits", 4, 5, 5, 0, 0, "it has used nearly all that its scope covers"),
		use("NEW", "New", 34, 1, 1, 0, 0, "only 1 of the 5 changes that are needed to tell"),
		use("IDLE", "Idle", 10, 0, 0, 0, 0, "nothing was changed under it"),
	}
	check.That(t, reflect.DeepEqual(got, want), "got  %+v\nwant %+v", got, want)
}
