package stats_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/stats"
)

var start = time.Date(2026, 2, 18, 23, 0, 0, 0, time.UTC)

func counted(path string, added, removed int) record.Change {
	return record.Change{Change: change.Change{Op: change.Modified, Path: path, Hunks: [][4]int{{1, removed, 1, added}}}}
}

// mutation is a record of a model, an hour after the one before it.
func mutation(n int, intent, class, evidence string, changes ...record.Change) record.Entry {
	return record.Entry{Time: start.Add(time.Duration(n) * time.Hour), Record: record.Record{
		Kind: record.KindMutation, IntentID: intent, MutationClass: class, Session: fmt.Sprint("s", n%2), Changes: changes,
		Class: &record.Class{Declared: "AST_REFACTOR", Computed: class, Evidence: evidence}, Contributor: record.Contributor{Type: "ai", ModelID: "p/m"},
	}}
}

func entries() []record.Entry {
	unchanged := counted("same", 5, 5)
	unchanged.Op = change.Unchanged
	move := counted("src/new", 1, 0)
	move.Op, move.From = change.Moved, "src/old"
	human := mutation(4, "INT-2", "INTENT_EVOLUTION", "", counted("src/a", 0, 10))
	human.Contributor, human.Class = record.Contributor{Type: "human"}, nil
	part := mutation(5, "INT-2", "INTENT_EVOLUTION", "unproven", counted("big/1", 1, 0))
	rest := mutation(5, "INT-2", "INTENT_EVOLUTION", "unproven", counted("big/2", 2, 0))
	part.Part, rest.Part = &record.Part{Index: 1, Count: 2}, &record.Part{Index: 2, Count: 2}
	decision := func(outcome, code string) record.Entry {
		return record.Entry{Time: start.Add(6 * time.Hour), Record: record.Record{Kind: record.KindDecision, IntentID: "INT-1",
			Decision: &record.Decision{Outcome: outcome, ErrorType: code}, Contributor: record.Contributor{Type: "ai"}}}
	}
	failed := record.Entry{Time: start.Add(7 * time.Hour), Record: record.Record{Kind: record.KindCommand, IntentID: "INT-1",
		Command: &record.Command{ExitCode: -1, TimedOut: true}, Violations: []record.Violation{{Path: "x"}, {Path: "y"}}}}
	return []record.Entry{
		mutation(0, "INT-1", "AST_REFACTOR", "proven", counted("src/a", 3, 2), counted("src/b", 1, 1)),
		mutation(1, "INT-1", "AST_REFACTOR", "unsupported", counted("src/a", 1, 1)),
		mutation(2, "INT-1", "INTENT_EVOLUTION", "unproven", move, unchanged),
		mutation(3, "", "hostile class", "hostile evidence", counted("src/c", 1, 1)),
		human, part, rest, decision("refused", "SCOPE_VIOLATION"), decision("refused", "STALE_FILE"), decision("refused", "SCOPE_VIOLATION"),
		decision("asked", ""), decision("approved", ""), decision("denied", ""), failed,
		{Files: []string{"of another tool"}},
	}
}

func report(opts stats.Options, entries []record.Entry) stats.Report {
	c := stats.New(opts)
	for _, e := range entries {
		c.Add(e)
	}
	return c.Report()
}

func TestReport(t *testing.T) {
	r := report(stats.Options{}, entries())
	first, last := start, start.Add(7*time.Hour)
	tally := func(records, changes, added, removed int) stats.Tally {
		return stats.Tally{Records: records, Changes: changes, LinesAdded: added, LinesRemoved: removed}
	}
	want := stats.Report{
		Records: 13, Sessions: 2, First: &first, Last: &last, Changed: tally(6, 8, 10, 15), Foreign: 1,
		Kinds: []stats.Kind{{Kind: "decision", Records: 6}, {Kind: "mutation", Records: 6}, {Kind: "command", Records: 1}},
		Intents: []stats.Intent{
			{IntentID: "INT-1", Tally: tally(3, 4, 6, 4), Refactor: tally(2, 3, 5, 4), Evolution: tally(1, 1, 1, 0), Refused: 3, Commands: 1, Last: last},
			{IntentID: "INT-2", Tally: tally(2, 3, 3, 10), Evolution: tally(2, 3, 3, 10), Last: start.Add(5 * time.Hour)},
			{IntentID: "", Tally: tally(1, 1, 1, 1), Last: start.Add(3 * time.Hour)},
		},
		Classes: []stats.Class{
			{MutationClass: "INTENT_EVOLUTION", Tally: tally(3, 4, 4, 10), Evidence: map[string]int{"unproven": 2, "none": 1}, Overruled: 2},
			{MutationClass: "AST_REFACTOR", Tally: tally(2, 3, 5, 4), Evidence: map[string]int{"proven": 1, "declared": 1}},
			{MutationClass: "hostile class", Tally: tally(1, 1, 1, 1), Evidence: map[string]int{"none": 1}, Overruled: 1},
		},
		Contributors: []stats.Contributor{{Type: "ai", Tally: tally(5, 7, 10, 5)}, {Type: "human", Tally: tally(1, 1, 0, 10)}},
		Models: []stats.Model{
			{ModelID: "p/m", Tally: tally(5, 7, 10, 5), Refactor: tally(2, 3, 5, 4), Evolution: tally(2, 3, 4, 0)}, {ModelID: "", Refused: 3},
		},
		Paths: []stats.Path{
			{Path: "src/a", Tally: tally(3, 3, 4, 13), Last: start.Add(4 * time.Hour)},
			{Path: "big/1", Tally: tally(1, 1, 1, 0), Last: start.Add(5 * time.Hour)}, {Path: "big/2", Tally: tally(1, 1, 2, 0), Last: start.Add(5 * time.Hour)},
			{Path: "src/b", Tally: tally(1, 1, 1, 1), Last: start}, {Path: "src/c", Tally: tally(1, 1, 1, 1), Last: start.Add(3 * time.Hour)},
			{Path: "src/new", Tally: tally(1, 1, 1, 0), Last: start.Add(2 * time.Hour)},
		},
		Refusals:  []stats.Refusal{{ErrorType: "SCOPE_VIOLATION", Count: 2}, {ErrorType: "STALE_FILE", Count: 1}},
		Days:      []stats.Day{{Day: "2026-02-18", Tally: tally(1, 2, 4, 3)}, {Day: "2026-02-19", Tally: tally(5, 6, 6, 12), Refused: 3}},
		Decisions: stats.Decisions{Refused: 3, Asked: 1, Approved: 1, Denied: 1},
		Commands:  stats.Commands{Runs: 1, Failed: 1, TimedOut: 1, Violations: 2}, Omitted: map[string]int{}, Merged: []string{},
	}
	if !reflect.DeepEqual(r, want) {
		got, _ := json.MarshalIndent(r, "", " ")
		wanted, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("got %s\nwant %s", got, wanted)
	}
}

// The order of lines means nothing in a ledger, so it means nothing here.
func TestOrderMeansNothing(t *testing.T) {
	want := report(stats.Options{Top: 3}, entries())
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		all := entries()
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got := report(stats.Options{Top: 3}, all)
		check.Must(t, reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
	}
}

func TestPathCountsItsOwnChanges(t *testing.T) {
	for path, want := range map[string]stats.Tally{
		"src/a":   {Records: 3, Changes: 3, LinesAdded: 4, LinesRemoved: 13},
		"src/old": {Records: 1, Changes: 1, LinesAdded: 1},
		"big/":    {Records: 1, Changes: 2, LinesAdded: 3},
		"src":     {},
	} {
		check.Equal(t, report(stats.Options{Path: path}, entries()).Changed, want, "%s", path)
	}
}

func TestTopSaysWhatItLeavesOut(t *testing.T) {
	r := report(stats.Options{Top: 2}, entries())
	want := map[string]int{"intents": 1, "classes": 1, "paths": 4}
	check.That(t, reflect.DeepEqual(r.Omitted, want) && len(r.Paths) == 2 && len(r.Kinds) == 3, "omitted %v of %v", r.Omitted, r.Paths)
}

// Hostile records can hold any number of different names: memory stays bounded and the sums stay right.
func TestNamesAreBounded(t *testing.T) {
	c := stats.New(stats.Options{Names: 100})
	for i := range 1000 {
		name := fmt.Sprintf("name %d", i)
		e := mutation(i*24, name, name, "unproven", counted(name, 1, 0))
		e.Session, e.Contributor.ModelID = name, name
		c.Add(e)
	}
	r := c.Report()
	if len(r.Paths) != 101 || r.Paths[0].Path != stats.Other || r.Paths[0].Records != 900 || r.Changed.Records != 1000 || r.Sessions != 101 {
		t.Errorf("%d paths, the first %+v; %+v", len(r.Paths), r.Paths[0], r.Changed)
	}
	want := []string{"intents", "classes", "models", "paths", "days", "sessions"}
	check.That(t, reflect.DeepEqual(r.Merged, want), "merged %v, want %v", r.Merged, want)
}

// What is kept does not grow with the number of records.
func TestMemoryIsThatOfTheNames(t *testing.T) {
	c := stats.New(stats.Options{})
	for i := range 20 { // every name is known
		c.Add(mutation(i%5, "INT-1", "AST_REFACTOR", "proven", counted(fmt.Sprint("src/", i), 1, 1)))
	}
	kept := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := kept()
	for i := range 200_000 {
		c.Add(mutation(i%5, "INT-1", "AST_REFACTOR", "proven", counted(fmt.Sprint("src/", i%20), 1, 1)))
	}
	after := kept()
	check.That(t, after <= before+1<<20, "200,000 records keep %d bytes", after-before)
	check.Equal(t, c.Report().Records, 200_020, "counted")
}

// A command in the background has two records and counts once; one that was ended on purpose did not fail.
func TestBackgroundCountsOnce(t *testing.T) {
	c := stats.New(stats.Options{})
	for _, command := range []record.Command{
		{ExitCode: -1, Background: true, Started: true}, {ExitCode: 143, Background: true, EndedBy: "stopped by its session"},
		{ExitCode: -1, Background: true, Started: true}, {ExitCode: 1, Background: true},
	} {
		c.Add(record.Entry{Record: record.Record{Kind: record.KindCommand, IntentID: "INT-1", Command: &command}})
	}
	r := c.Report()
	check.That(t, r.Commands == (stats.Commands{Runs: 2, Failed: 1}) && r.Intents[0].Commands == 2, "%+v %+v", r.Commands, r.Intents)
}
