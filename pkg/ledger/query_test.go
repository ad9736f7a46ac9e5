package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func query(t testing.TB, l *ledger.Ledger, f record.Filter) ledger.Result {
	t.Helper()
	result := check.Value(l.Query(context.Background(), f))(t)
	return result
}

// names gives the calls of the entries, by which the tests tell records apart.
func names(result ledger.Result) string {
	var calls []string
	for _, e := range result.Entries {
		calls = append(calls, e.Call)
	}
	return strings.Join(calls, " ")
}

func TestQueryFilters(t *testing.T) {
	w := newWorkspace(t)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	l := w.open(ledger.Options{Clock: func() time.Time { now = now.Add(time.Minute); return now }})
	add := func(call, intent string, change func(r *record.Record)) ledger.Appended {
		r := mutation(intent, "src/"+call)
		r.Call = call
		if change != nil {
			change(&r)
		}
		return appendOne(t, l, r)
	}
	other := "00000000-0000-4000-8000-000000000000"
	add("a", "INT-001", nil)
	b := add("b", "INT-002", func(r *record.Record) { r.MutationClass = "AST_REFACTOR" })
	add("c", "INT-001", func(r *record.Record) { r.Session = other })
	add("d", "INT-001", func(r *record.Record) {
		r.Kind, r.Changes = record.KindDecision, nil
		r.Decision = &record.Decision{Outcome: "refused", Paths: []string{"docs/x"}}
	})
	add("e", "INT-002", func(r *record.Record) { r.Changes[0] = everyKind()["move"].Changes[0] })
	cases := []struct {
		want   string
		filter record.Filter
	}{
		{"a b c d e", record.Filter{}},
		{"e d c b a", record.Filter{Newest: true}},
		{"a b", record.Filter{Limit: 2}},
		{"e d", record.Filter{Limit: 2, Newest: true}},
		{"b e", record.Filter{IntentID: "INT-002"}},
		{"", record.Filter{IntentID: "INT-00"}},
		{"b", record.Filter{Class: "AST_REFACTOR"}},
		{"c", record.Filter{Session: other}},
		{"d", record.Filter{Kinds: []record.Kind{record.KindDecision, record.KindRead}}},
		{"a b c e", record.Filter{Kinds: record.ChangeKinds()}},
		{"a", record.Filter{Path: "src/a"}},
		{"e", record.Filter{Path: "src/old.go"}},
		{"e", record.Filter{Path: "src/new.go"}},
		{"d", record.Filter{Path: "docs/x"}},
		{"", record.Filter{Path: "src"}},
		{"a b c e", record.Filter{Path: "src/"}},
		{"b", record.Filter{ID: b.ID}},
		{"b", record.Filter{ID: b.Hash}},
		{"c d e", record.Filter{Since: start.Add(3 * time.Minute)}},
		{"a b", record.Filter{Until: start.Add(3 * time.Minute)}},
		{"c", record.Filter{IntentID: "INT-001", Path: "src/", Newest: true, Limit: 1}},
	}
	for _, c := range cases {
		if got := names(query(t, l, c.filter)); got != c.want {
			t.Errorf("%+v gives %q, want %q", c.filter, got, c.want)
		}
	}
}

func TestQueryReadsOnBesideBadLines(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	first := mutation("INT-001", "a")
	first.Call = "first"
	appendOne(t, l, first)
	bad := "<<<<<<< HEAD\n" +
		`{"prev":[],"id":"x","id":"y","timestamp":"2026-02-18T18:30:00Z"}` + "\n" +
		`{"prev":[],"id":"` + strings.Repeat("x", 17<<20) + "\"}\n\n\n"
	w.write(tracePath, w.read(tracePath)+bad)
	last := first
	last.Call = "last"
	appendOne(t, l, last)
	want := []ledger.ProblemKind{ledger.ProblemMalformed, ledger.ProblemMalformed, ledger.ProblemTooLong}
	for _, newest := range []bool{false, true} {
		result := query(t, l, record.Filter{Newest: newest})
		kinds := []ledger.ProblemKind{}
		for _, p := range result.Problems {
			kinds = append(kinds, p.Kind)
		}
		if newest {
			slices.Reverse(kinds)
			slices.Reverse(result.Entries)
		}
		if names(result) != "first last" || !slices.Equal(kinds, want) {
			t.Errorf("newest %v: records %q, problems %v", newest, names(result), kinds)
		}
	}
	if result := query(t, l, record.Filter{Newest: true, Limit: 1}); names(result) != "last" || len(result.Problems) != 0 {
		t.Errorf("the newest one: %q, %d problems", names(result), len(result.Problems))
	}
	w.problems = []ledger.ProblemKind{ledger.ProblemMalformed, ledger.ProblemTooLong}
}

func TestQueryFromTheEndAgreesWithTheOther(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS})
	for i := range 60 { // lines of 1 byte to beyond a block of the reader, in no order
		r := record.Record{Kind: record.KindRead, Call: fmt.Sprint(i)}
		r.Detail = map[string]any{"filler": strings.Repeat("x", (i*i*i*7919)%150_000)}
		appendOne(t, l, r)
	}
	oldest, newest := query(t, l, record.Filter{}), query(t, l, record.Filter{Newest: true})
	slices.Reverse(newest.Entries)
	if len(oldest.Entries) != 60 || names(oldest) != names(newest) {
		t.Errorf("forwards %s\nbackwards %s", names(oldest), names(newest))
	}
	for i := range oldest.Entries {
		if oldest.Entries[i].Offset != newest.Entries[i].Offset {
			t.Errorf("record %d at %d and %d", i, oldest.Entries[i].Offset, newest.Entries[i].Offset)
		}
	}
}

func TestDuplicatesAreGivenOnce(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	w.write(tracePath, strings.Repeat(w.read(tracePath), 3))
	if n := len(query(t, l, record.Filter{}).Entries); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
	w.wantRecords(1)
}

func TestQueryStopsWithItsContext(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Query(ctx, record.Filter{}); err == nil {
		t.Error("a cancelled query gives an answer")
	}
}

func TestLineIsFollowedBackThroughTheHunks(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	content := []string{} // hashes of the file's versions
	for i := range 6 {
		content = append(content, sha(fmt.Sprint(i)))
	}
	add := func(call string, c record.Change) {
		r := mutation("INT-001", "x")
		r.Call, r.Changes = call, []record.Change{c}
		appendOne(t, l, r)
	}
	// The file has ten lines; then 2 lines go in before line 3; then line 8 is changed; then lines 1 and 2 are taken
	// out; then the file is moved; another file is changed in between.
	add("create", record.Change{
		Change: change.Change{
			Op: change.Created, Path: "a", After: change.Version{Hash: content[0]}, Hunks: [][4]int{{0, 0, 1, 10}},
		},
	})
	add("insert", record.Change{
		Change: change.Change{
			Op: change.Modified, Path: "a", Before: change.Version{Hash: content[0]}, After: change.Version{Hash: content[1]}, Hunks: [][4]int{{2, 0, 3, 2}},
		},
	})
	add("else", record.Change{
		Change: change.Change{
			Op: change.Created, Path: "b", After: change.Version{Hash: content[0]}, Hunks: [][4]int{{0, 0, 1, 10}},
		},
	})
	add("change", record.Change{
		Change: change.Change{
			Op: change.Modified, Path: "a", Before: change.Version{Hash: content[1]}, After: change.Version{Hash: content[2]}, Hunks: [][4]int{{8, 1, 8, 1}},
		},
	})
	add("take", record.Change{
		Change: change.Change{
			Op: change.Modified, Path: "a", Before: change.Version{Hash: content[2]}, After: change.Version{Hash: content[3]}, Hunks: [][4]int{{1, 2, 0, 0}},
		},
	})
	add("move", record.Change{
		Change: change.Change{
			Op: change.Moved, Path: "c", From: "a", Before: change.Version{Hash: content[3]}, After: change.Version{Hash: content[3]},
		},
	})
	cases := []struct {
		path string
		line int
		want string
	}{
		{"c", 1, "insert"}, {"c", 2, "insert"}, {"c", 3, "create"}, {"c", 6, "change create"}, {"c", 7, "create"},
		{"b", 3, "else"}, {"a", 1, "insert"}, {"nowhere", 1, ""},
	}
	for _, c := range cases {
		result := query(t, l, record.Filter{Path: c.path, Line: c.line})
		if names(result) != c.want || result.Gap {
			t.Errorf("line %d of %s: %q, want %q; gap %v", c.line, c.path, names(result), c.want, result.Gap)
		}
	}
	if result := query(t, l, record.Filter{Path: "c", Line: 6, Limit: 1}); names(result) != "change" {
		t.Errorf("limited to one: %q", names(result))
	}
	if result := query(t, l, record.Filter{Path: "c", Line: 6, Content: sha("edited")}); !result.Gap {
		t.Error("an edit that the ledger does not know is no gap")
	}
	if _, err := l.Query(context.Background(), record.Filter{Line: 3}); err == nil {
		t.Error("a line without a path is accepted")
	}
}
