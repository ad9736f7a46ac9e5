package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"path"
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
	return check.Value(l.Query(context.Background(), f))(t)
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
		check.Equal(t, names(query(t, l, c.filter)), c.want, "%+v", c.filter)
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
		check.That(t, names(result) == "first last" && slices.Equal(kinds, want), "newest %v: records %q, problems %v", newest, names(result), kinds)
	}
	result := query(t, l, record.Filter{Newest: true, Limit: 1})
	check.That(t, names(result) == "last" && len(result.Problems) == 0, "the newest one: %q, %d problems", names(result), len(result.Problems))
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
	check.That(t, len(oldest.Entries) == 60 && names(oldest) == names(newest), "forwards %s\nbackwards %s", names(oldest), names(newest))
	for i := range oldest.Entries {
		check.Equal(t, oldest.Entries[i].Offset, newest.Entries[i].Offset, "the offset of record %d", i)
	}
}

func TestLineIsFollowedBackThroughTheHunks(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	content := []string{} // hashes of the file's versions
	for i := range 6 {
		content = append(content, sha(fmt.Sprint(i)))
	}
	// The file has ten lines; then 2 lines go in before line 3; then line 8 is changed; then lines 1 and 2 are taken
	// out; then the file is moved; another file is changed in between.
	for _, c := range []struct {
		call, path, from string
		op               change.Op
		before, after    string
		hunks            [][4]int
	}{
		{"create", "a", "", change.Created, "", content[0], [][4]int{{0, 0, 1, 10}}},
		{"insert", "a", "", change.Modified, content[0], content[1], [][4]int{{2, 0, 3, 2}}},
		{"else", "b", "", change.Created, "", content[0], [][4]int{{0, 0, 1, 10}}},
		{"change", "a", "", change.Modified, content[1], content[2], [][4]int{{8, 1, 8, 1}}},
		{"take", "a", "", change.Modified, content[2], content[3], [][4]int{{1, 2, 0, 0}}},
		{"move", "c", "a", change.Moved, content[3], content[3], nil},
	} {
		r := mutation("INT-001", "x")
		r.Call, r.Changes = c.call, []record.Change{{Change: change.Change{
			Op: c.op, Path: c.path, From: c.from, Before: change.Version{Hash: c.before}, After: change.Version{Hash: c.after}, Hunks: c.hunks,
		}}}
		appendOne(t, l, r)
	}
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
		check.That(t, names(result) == c.want && !result.Gap, "line %d of %s: %q, want %q; gap %v", c.line, c.path, names(result), c.want, result.Gap)
	}
	check.Equal(t, names(query(t, l, record.Filter{Path: "c", Line: 6, Limit: 1})), "change", "limited to one")
	check.That(t, query(t, l, record.Filter{Path: "c", Line: 6, Content: sha("edited")}).Gap, "an edit that the ledger does not know is no gap")
	_, err := l.Query(context.Background(), record.Filter{Line: 3})
	check.That(t, err != nil, "a line without a path is accepted")
}

// TestTracesOfEarlierTools finds each of their forms by path and by intent, read through the index and without it, and
// reads of each what it says.
func TestTracesOfEarlierTools(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	forms := map[string]struct {
		line, path, intent, class, model string
		at                               time.Time
	}{
		"flat":          {`{"id":"1","timestamp":"2026-01-02T03:04:05.678Z","intent_id":"INT-A","mutation_class":"AST_REFACTOR","path":"src/flat.ts","content_hash":"` + hash + `"}`, "src/flat.ts", "INT-A", "AST_REFACTOR", "", time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		"flat, file":    {`{"req_id":"2","timestamp":"2026-01-02 03:04:05","intent_id":"INT-A","file":"./src/file.ts","tool":"write_to_file","ranges":{"start_line":1,"end_line":3}}`, "src/file.ts", "INT-A", "", "", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"flat, names":   {`{"id":"3","timestamp":5,"intentId":"INT-B","relative_path":"src\\names.ts","ranges":[[1,2]],"model":"m"}`, "src/names.ts", "INT-B", "", "m", time.Time{}},
		"list of names": {`{"id":"4","intent_id":"INT-C","files":["src/one.ts","src/two.ts"],"vcs":"none"}`, "src/two.ts", "INT-C", "", "", time.Time{}},
		"nested": {`{"id":"5","version":1,"timestamp":"2026-01-02T03:04:05Z","vcs":{"revision_id":"c0ffee"},"files":[{"relative_path":"src/nested.ts","conversations":[` +
			`{"url":"task","contributor":{"entity_type":"AI","model_identifier":"claude"},"meta":{"mutation_class":"INTENT_EVOLUTION"},"ranges":[{"start_line":1,"end_line":2,"content_hash":"sha256:` + hash + `"}],` +
			`"related":[{"type":"specification","value":"INT-D"},{"type":"ticket","value":"INT-E"}]}]}]}`, "src/nested.ts", "INT-D", "INTENT_EVOLUTION", "claude", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"nested, both": {`{"id":"6","intent_id":"INT-F","files":[{"path":"src/both.ts","relative_path":"src/both.ts","conversations":{"x":1}}]}`, "src/both.ts", "INT-F", "", "", time.Time{}},
		"hardly any":   {`{"of":"another tool","files":7,"path":["x"],"intent_id":null,"metadata":[]}`, "", "", "", "", time.Time{}},
	}
	w := newWorkspace(t)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		lines = append(lines, forms[name].line)
	}
	w.write(tracePath, strings.Join(lines, "\n")+"\n")
	for range 2 { // without an index, and with that of the first
		l := w.open(ledger.Options{})
		appendOne(t, l, mutation("INT-Z", "src/ours.ts"))
		for name, form := range forms {
			e := check.Value(record.Parse([]byte(form.line)))(t)
			if e.IntentID != form.intent || e.MutationClass != form.class || e.Contributor.ModelID != form.model || !e.Time.Equal(form.at) ||
				form.path != "" && !slices.Contains(e.Files, form.path) || e.Kind != "" || len(e.Changes) > 0 {
				t.Errorf("%s is read as %+v", name, e)
			}
			for _, f := range []record.Filter{{Path: form.path}, {IntentID: form.intent}, {Path: "src/", IntentID: form.intent, Newest: true}} {
				if form.path == "" {
					continue
				}
				found := query(t, l, f)
				if len(found.Problems) > 0 || !slices.ContainsFunc(found.Entries, func(e record.Entry) bool { return string(e.Raw) == form.line }) {
					t.Errorf("%s is not found by %+v: %v", name, f, found.Problems)
				}
			}
		}
		check.Equal(t, len(query(t, l, record.Filter{IntentID: "INT-E"}).Entries), 1, "entries by the second related intent")
		check.That(t, len(query(t, l, record.Filter{Path: "src/ours.ts"}).Entries) > 0, "ours is not found any more")
		check.OK(t, l.Close(t.Context()))
	}
}

// matching gives a filter for each thing by which the entry can be found.
func matching(e record.Entry) []record.Filter {
	filters := []record.Filter{
		{ID: e.ID}, {ID: e.Hash}, {IntentID: e.IntentID}, {Class: e.MutationClass}, {Session: e.Session},
		{Kinds: []record.Kind{record.KindBuild, e.Kind}}, {Since: e.Time}, {Until: e.Time.Add(1)},
		{IntentID: e.IntentID, Kinds: record.ChangeKinds()}, {IntentID: e.IntentID, Kinds: []record.Kind{e.Kind}},
	}
	paths := e.Files
	for _, c := range e.Changes {
		paths = append(paths, c.Path, c.From)
	}
	if e.Decision != nil {
		paths = append(paths, e.Decision.Paths...)
	}
	for _, p := range paths {
		filters = append(filters, record.Filter{Path: p}, record.Filter{Path: path.Dir(p) + "/"})
		if at := strings.LastIndex(p, "/"); at >= 0 {
			filters = append(filters, record.Filter{Path: p[:at+1]})
		}
	}
	return filters
}

func checkProposed(t *testing.T, line []byte) {
	t.Helper()
	e, err := record.Parse(line)
	if err != nil {
		return
	}
	for _, f := range matching(e) {
		check.That(t, !f.Matches(e) || ledger.Proposes(e.Raw, f), "%+v matches and is not proposed:\n%s", f, line)
	}
}

func TestTheIndexProposesEveryRecordThatMatches(t *testing.T) {
	for name, r := range everyKind() {
		line := check.Value(record.Encode(record.Entry{Record: r, ID: session, Time: fixedClock()()}))(t)
		checkProposed(t, line)
		if ledger.Proposes(line, record.Filter{IntentID: "INT-999"}) || ledger.Proposes(line, record.Filter{Path: "src/none"}) ||
			ledger.Proposes(line, record.Filter{Since: fixedClock()().Add(time.Second)}) {
			t.Errorf("%s is proposed for what it is not", name)
		}
	}
}

// FuzzIndexedLine looks for a line that readers take for a record and that the index would hide.
func FuzzIndexedLine(f *testing.F) {
	for _, r := range everyKind() {
		line := check.Value(record.Encode(record.Entry{Record: r, ID: session, Time: fixedClock()()}))(f)
		f.Add(line)
	}
	for _, odd := range []string{
		`{"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00Z","files":[{"path":"a/b"}]}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","intent\u005fid":"a"}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","intent_id" :"a","files":[ ]}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","files":[{"path":"a\\/b"},{"path":null}]}`,
		`{"prev":[],"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00.000Z","metadata":{"orchestra-mcp":{"kind":"decision","session":"a","detail":{"session":"b"},"decision":{"paths":["a", "b"]}}}}`,
	} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, line []byte) { checkProposed(t, line) })
}
