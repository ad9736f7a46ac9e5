package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func agentTraceSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	return check.Value(compiler.Compile("testdata/agent-trace-0.1.0.schema.json"))(t)
}

func TestEveryKindIsValidAgentTrace(t *testing.T) {
	schema := agentTraceSchema(t)
	for name, record := range everyKind() {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			l := w.open(ledger.Options{Version: "1.2.3", Revision: func() string { return strings.Repeat("a", 40) }})
			appendOne(t, l, record)
			for _, line := range w.lines(tracePath) {
				value := check.Value(jsonschema.UnmarshalJSON(strings.NewReader(line)))(t)
				err := schema.Validate(value)
				check.That(t, err == nil, "%v\n%s", err, line)
			}
		})
	}
	check.That(t, schema.Validate(map[string]any{"version": "0.1.0"}) != nil, "the schema accepts a record without id")
}

func TestEveryKindComesBackAsItWas(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{Version: "1.2.3", Clock: fixedClock()})
	for name, rec := range everyKind() {
		at := appendOne(t, l, rec)
		got := check.Value(l.Query(context.Background(), record.Filter{ID: at.ID}))(t)
		check.Equal(t, len(got.Entries), 1, "%s entries with its id", name)
		entry := got.Entries[0]
		check.That(t, reflect.DeepEqual(entry.Record, rec), "%s came back as\n%+v, was\n%+v", name, entry.Record, rec)
		if entry.Hash != at.Hash || !entry.Time.Equal(fixedClock()()) || entry.ToolVersion != "1.2.3" {
			t.Errorf("%s came back with hash %s, time %v, version %q", name, entry.Hash, entry.Time, entry.ToolVersion)
		}
		again := check.Value(record.Encode(entry))(t)
		check.Equal(t, string(again), string(entry.Raw), "%s encodes", name)
	}
}

func TestLineIsTheDocumentedOne(t *testing.T) {
	w := newWorkspace(t)
	ids := []string{"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"}
	l := w.open(ledger.Options{
		Version: "1.2.3", Clock: fixedClock(), Revision: func() string { return "abc" },
		NewID: func() string { id := ids[0]; ids = ids[1:]; return id },
	})
	first := appendOne(t, l, record.Record{Kind: record.KindSelection})
	appendOne(t, l, everyKind()["deletion"])
	want := `{"prev":["` + first.Hash + `"],"version":"0.1.0","id":"22222222-2222-4222-8222-222222222222",` +
		`"timestamp":"2026-02-18T18:30:00.123Z","intent_id":"INT-001","mutation_class":"INTENT_EVOLUTION",` +
		`"vcs":{"type":"git","revision":"abc","revision_id":"abc"},"tool":{"name":"orchestra-mcp","version":"1.2.3"},` +
		`"files":[{"path":"src/x <b>&` + "\u2028" + `.ts","relative_path":"src/x <b>&` + "\u2028" + `.ts","conversations":[{` +
		`"url":"urn:uuid:` + session + `","contributor":{"type":"ai","model_id":"anthropic/claude-x","entity_type":"AI",` +
		`"model_identifier":"anthropic/claude-x"},"ranges":[],"related":[{"type":"specification","value":"INT-001",` +
		`"url":"urn:orchestra:intent:INT-001"}]}]}],"metadata":{"orchestra-mcp":{"kind":"mutation","call":"write_to_file",` +
		`"changes":[{"path":"src/x <b>&` + "\u2028" + `.ts","op":"deleted","before":"` + sha("a") + `"}],` +
		`"class":{"declared":"INTENT_EVOLUTION","computed":"INTENT_EVOLUTION","evidence":"unproven"},` +
		`"session":"` + session + `","client":{"name":"a client","version":"1"}}}}`
	lines := w.lines(tracePath)
	check.That(t, strings.HasPrefix(lines[0], `{"prev":[],"version":`), "the first line begins %.40s", lines[0])
	check.Equal(t, lines[1], want)
}

func TestRecordsThatTheFormatCannotHoldAreRefused(t *testing.T) {
	changing := func(c record.Change) record.Record {
		return record.Record{Kind: record.KindMutation, Changes: []record.Change{c}}
	}
	cases := map[string]record.Record{
		"no kind":             {},
		"unknown kind":        {Kind: "x"},
		"session":             {Kind: record.KindRead, Session: "../../x"},
		"upper-case session":  {Kind: record.KindRead, Session: strings.ToUpper(session)},
		"contributor":         {Kind: record.KindRead, Contributor: record.Contributor{Type: "robot"}},
		"not UTF-8":           {Kind: record.KindRead, IntentID: "a\xff"},
		"not UTF-8 detail":    {Kind: record.KindRead, Detail: map[string]any{"a": "\xff"}},
		"detail no JSON":      {Kind: record.KindRead, Detail: map[string]any{"a": make(chan int)}},
		"path not UTF-8":      changing(record.Change{Change: change.Change{Op: change.Created, Path: "a\xff"}}),
		"path outside":        changing(record.Change{Change: change.Change{Op: change.Created, Path: "../a"}}),
		"absolute":            changing(record.Change{Change: change.Change{Op: change.Created, Path: "/a"}}),
		"unclean":             changing(record.Change{Change: change.Change{Op: change.Created, Path: "a//b"}}),
		"root":                changing(record.Change{Change: change.Change{Op: change.Created, Path: "."}}),
		"op":                  changing(record.Change{Change: change.Change{Op: "burnt", Path: "a"}}),
		"move from nowhere":   changing(record.Change{Change: change.Change{Op: change.Moved, Path: "a"}}),
		"from without move":   changing(record.Change{Change: change.Change{Op: change.Modified, Path: "a", From: "b"}}),
		"hash":                changing(record.Change{Change: change.Change{Op: change.Created, Path: "a", After: change.Version{Hash: "sha256:12"}}}),
		"range":               changing(record.Change{Change: change.Change{Op: change.Created, Path: "a"}, Ranges: []record.Range{{StartLine: 2, EndLine: 1}}}),
		"range of a deletion": changing(record.Change{Change: change.Change{Op: change.Deleted, Path: "a"}, Ranges: []record.Range{{StartLine: 1, EndLine: 1}}}),
		"violation":           {Kind: record.KindCommand, Violations: []record.Violation{{Path: "../x"}}},
	}
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	for name, rec := range cases {
		check.Fails(l.Append(context.Background(), rec))(t, record.ErrInvalidRecord, "%s", name)
	}
	check.Fails(os.Stat(w.path(tracePath)))(t, os.ErrNotExist, "a refused record left a file")
}

func TestParseRefusesWhatIsNoRecord(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	ones := strings.Repeat("1", 64)
	cases := map[string]string{
		"empty":           "",
		"text":            "<<<<<<< HEAD",
		"array":           "[]",
		"torn":            `{"prev":[],"version":"0.1.0"`,
		"duplicate key":   `{"prev":[],"id":"a","id":"b","timestamp":"2026-02-18T18:30:00Z"}`,
		"wrong type":      `{"prev":[],"id":7,"timestamp":"2026-02-18T18:30:00Z"}`,
		"files no array":  `{"prev":[],"timestamp":"2026-02-18T18:30:00Z","files":{}}`,
		"invalid UTF-8":   "{\"prev\":[],\"id\":\"\xff\",\"timestamp\":\"2026-02-18T18:30:00Z\"}",
		"time":            `{"prev":[],"id":"a","timestamp":"yesterday"}`,
		"two values":      `{"prev":[],"id":"a","timestamp":"2026-02-18T18:30:00Z"}{}`,
		"prev not hex":    `{"prev":["` + zeros[1:] + `x"],"timestamp":"2026-02-18T18:30:00Z"} x`,
		"huge number":     `{"prev":[],"timestamp":"2026-02-18T18:30:00Z","metadata":{"orchestra-mcp":{"detail":{"a":1e999}}}}`,
		"trailing tokens": `{"prev":["` + zeros + `" "` + ones + `"],"timestamp":"2026-02-18T18:30:00Z"`,
	}
	for name, line := range cases {
		e, err := record.Parse([]byte(line))
		check.That(t, errors.Is(err, record.ErrMalformed), "%s: parsed as %+v, error %v", name, e, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, rec := range everyKind() {
		line, err := record.Encode(record.Entry{Record: rec, ID: "i", Time: fixedClock()(), Prev: []string{strings.Repeat("a", 64)}})
		check.OK(f, err)
		f.Add(line)
	}
	f.Add([]byte(`{"theirs":1}`))
	f.Add([]byte(`{"prev":[],"id":"","timestamp":"2026-02-18T18:30:00.1+02:00","metadata":{"orchestra-mcp":{"kind":"read","detail":{"n":-0,"m":1e20}}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		first, err := record.Parse(line)
		if err != nil {
			return
		}
		encoded, err := record.Encode(first)
		if err != nil {
			check.Must(t, errors.Is(err, record.ErrInvalidRecord), "%v", err)
			return
		}
		second := check.Value(record.Parse(encoded))(t)
		again := check.Value(record.Encode(second))(t)
		check.Equal(t, string(again), string(encoded), "encode(parse(x))")
	})
}

func FuzzEncode(f *testing.F) {
	f.Add("INT-001", "src/a.go", "text", "anthropic/claude", int64(7), 1.5)
	f.Add("a\xff", "../x", "\u2028<&>\x00", "unknown", int64(-1), 1e21)
	f.Fuzz(func(t *testing.T, intent, path, text, model string, whole int64, fraction float64) {
		rec := mutation(intent, path)
		rec.Call, rec.Contributor.ModelID = text, model
		rec.Decision = &record.Decision{Outcome: text, Paths: []string{text}}
		rec.Detail = map[string]any{text: whole, text + "f": []any{fraction, text}}
		line, err := record.Encode(record.Entry{Record: rec, ID: text, Time: fixedClock()()})
		if err != nil {
			check.Must(t, errors.Is(err, record.ErrInvalidRecord), "%v", err)
			return
		}
		check.Must(t, !strings.ContainsAny(string(line), "\n\r"), "more than one line: %q", line)
		entry := check.Value(record.Parse(line))(t)
		again := check.Value(record.Encode(entry))(t)
		check.Equal(t, string(again), string(line), "encode(parse(x))")
		if entry.IntentID != intent || entry.Changes[0].Path != path || entry.Call != text || entry.Decision.Paths[0] != text {
			t.Fatalf("came back as %+v", entry.Record)
		}
	})
}

func TestManyChangesAreSpreadOverLines(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	l.LimitLine(4000)
	rec := everyKind()["command"]
	for i := range 100 {
		rec.Changes = append(rec.Changes, mutation("", fmt.Sprintf("src/%d", i)).Changes...)
		rec.Violations = append(rec.Violations, record.Violation{Path: fmt.Sprintf("docs/%d", i)})
	}
	first := appendOne(t, l, rec)
	result := check.Value(l.Query(context.Background(), record.Filter{}))(t)
	var changes, violations, commands int
	for i, e := range result.Entries {
		changes, violations = changes+len(e.Changes), violations+len(e.Violations)
		if e.Command != nil {
			commands++
		}
		want := record.Part{Of: first.ID, Index: i + 1, Count: len(result.Entries)}
		check.That(t, e.Part != nil && *e.Part == want && len(e.Raw) <= 4100, "line %d of %d bytes has part %+v, want %+v", i, len(e.Raw), e.Part, want)
	}
	if changes != 101 || violations != 101 || commands != 1 || result.Entries[0].Hash != first.Hash {
		t.Errorf("%d changes, %d violations, %d commands", changes, violations, commands)
	}
}

func TestManyHunksAreCoarsenedAndSaySo(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	l.LimitLine(2000)
	rec := mutation("INT-001", "src/a")
	for i := range 100 {
		rec.Changes[0].Hunks = append(rec.Changes[0].Hunks, [4]int{20 + 2*i, 1, 30 + 2*i, 1})
		rec.Changes[0].Ranges = append(rec.Changes[0].Ranges, record.Range{StartLine: 30 + 2*i, EndLine: 30 + 2*i})
	}
	appendOne(t, l, rec)
	result := check.Value(l.Query(context.Background(), record.Filter{}))(t)
	got := result.Entries[0].Changes[0]
	if !got.Coarse || fmt.Sprint(got.Hunks, got.Ranges) != "[[10 209 10 219]] [{10 228 }]" {
		t.Errorf("coarse %v, hunks %v, ranges %v", got.Coarse, got.Hunks, got.Ranges)
	}
	rec = mutation("INT-001", "src/a")
	rec.Detail = map[string]any{"text": strings.Repeat("x", 3000)}
	check.Fails(l.Append(context.Background(), rec))(t, record.ErrTooLarge)
}

func TestMarkKnowsALineByItsText(t *testing.T) {
	a := record.MarkOf("\treturn count + 1")
	for line, same := range map[string]struct{ bare, whole bool }{
		"\treturn count + 1":  {true, true},
		"  return count + 1":  {true, false},
		"return count+1":      {true, false},
		"\treturn  count + 2": {false, false},
		"":                    {false, false},
	} {
		b := record.MarkOf(line)
		check.That(t, (a.Bare() == b.Bare()) == same.bare && (a == b) == same.whole, "%q: mark %x, of the line itself %x", line, b, a)
	}
}

// A line that stood in the file twice says so, and is the same line otherwise.
func TestMarkSaysTwin(t *testing.T) {
	text := "alpha\nbravo\n\tbravo\ncharlie\nalpha\n"
	c := record.Change{Change: change.Change{Hunks: [][4]int{{1, 1, 1, 2}, {3, 0, 4, 1}, {9, 2, 5, 0}}}}
	c.Mark(edit.Lines(text))
	marks := c.Marks
	var twins []bool
	for _, m := range marks {
		twins = append(twins, m.Twin())
	}
	want := []bool{true, true, false}
	check.That(t, slices.Equal(twins, want), "twins %v, want %v", twins, want)
	m := record.MarkOf("alpha")
	check.That(t, marks[0].Line() == m && marks[0] != m && marks[0].Bare() == m.Bare(), "%x and %x are not one line", marks[0], m)
}

// Where none of a hunk's lines tells by itself where it stood, the nearest lines that do stand beside it.
func TestAnchors(t *testing.T) {
	const text = "unmistakable one\nif a {\n\treturn nothing\n}\nb++\nunmistakable two\nif a {\n\treturn nothing\n}\n"
	at := func(line int, text string) record.Anchor { return record.Anchor{Line: line, Mark: record.MarkOf(text)} }
	for name, c := range map[string]struct {
		hunks [][4]int
		want  []record.Anchor
	}{
		"twins":                        {[][4]int{{1, 0, 2, 3}}, []record.Anchor{at(1, "unmistakable one"), at(6, "unmistakable two")}},
		"nothing behind it":            {[][4]int{{6, 0, 7, 3}}, []record.Anchor{at(6, "unmistakable two")}},
		"one line, hardly a text":      {[][4]int{{4, 0, 5, 1}}, []record.Anchor{at(1, "unmistakable one"), at(6, "unmistakable two")}},
		"two hunks beside one line":    {[][4]int{{4, 0, 5, 1}, {6, 0, 7, 1}}, []record.Anchor{at(1, "unmistakable one"), at(6, "unmistakable two")}},
		"a line that tells is its own": {[][4]int{{4, 0, 5, 2}}, nil},
		"what is gone has none":        {[][4]int{{1, 3, 1, 0}}, nil},
	} {
		change := record.Change{Change: change.Change{Hunks: c.hunks}}
		if change.Mark(edit.Lines(text)); !slices.Equal(change.Anchors, c.want) {
			t.Errorf("%s: %v, want %v", name, change.Anchors, c.want)
		}
	}
}

// Marks come back from the file as they went in, eight characters a line; what is none is not believed.
func TestMarksInTheLedger(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	text := "alpha\nbravo\nalpha\nunmistakable\n"
	c := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: "a.txt", Before: change.Version{Hash: sha("unmistakable\n")}, After: change.Version{Hash: sha(text)}, Hunks: [][4]int{{0, 0, 1, 3}},
		},
	}
	c.Mark(edit.Lines(text))
	rec := record.Record{Kind: record.KindMutation, IntentID: "INT-001", Call: "write_to_file", Changes: []record.Change{c}}
	check.Value(l.Append(context.Background(), rec))(t)
	found := check.Value(l.Query(context.Background(), record.Filter{Path: "a.txt"}))(t)
	if len(found.Entries) != 1 || !slices.Equal(found.Entries[0].Changes[0].Marks, c.Marks) {
		t.Errorf("got %+v, want the marks %x", found.Entries, c.Marks)
	} else if got := found.Entries[0].Changes[0].Anchors; len(got) != 1 || !slices.Equal(got, c.Anchors) {
		t.Errorf("anchors %v, want %v", got, c.Anchors)
	}
	written := check.Value(c.Marks.MarshalText())(t)
	check.Equal(t, len(written), 8*3, "characters for three lines")
	rec.Changes[0].Marks = c.Marks[:2]
	check.Fails(l.Append(context.Background(), rec))(t, record.ErrInvalidRecord, "two marks for three lines")
	var m record.LineMarks
	for _, bad := range []string{"A", "AAAAAAA", strings.Repeat("A", 9), "AAAA AAA", "AAAAAAA="} {
		check.Is(t, m.UnmarshalText([]byte(bad)), record.ErrMalformed, "%q", bad)
	}
}

func TestModesInRecords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	sum := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		op            change.Op
		before, after change.Mode
		line          string // "" where it is refused
	}{
		"as it was":            {change.Modified, "0644", "0644", `"before_mode":"0644"}`},
		"another":              {change.Modified, "0644", "4755", `"before_mode":"0644","after_mode":"4755"}`},
		"created":              {change.Created, "", "0600", `"after_mode":"0600"}`},
		"deleted":              {change.Deleted, "0755", "", `"before_mode":"0755"}`},
		"not known":            {change.Modified, "", "", `"after":"` + sum + `"}`},
		"created with two":     {change.Created, "0644", "0600", ""},
		"modified with one":    {change.Modified, "0644", "", ""},
		"more than is allowed": {change.Created, "", "100755", ""},
		"no digits":            {change.Deleted, "rwxr", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			changed := record.Change{Change: change.Change{Op: c.op, Path: "f", Before: change.Version{Mode: c.before}, After: change.Version{Mode: c.after}}}
			if c.op != change.Created {
				changed.Before.Hash = sum
			}
			if c.op != change.Deleted {
				changed.After.Hash = sum
			}
			line, err := record.Encode(record.Entry{ID: "x", Record: record.Record{Kind: record.KindMutation, Changes: []record.Change{changed}}})
			if c.line == "" {
				check.Must(t, errors.Is(err, record.ErrInvalidRecord), "%v, %s", err, line)
				return
			}
			check.Must(t, err == nil && bytes.Contains(line, []byte(c.line)), "%v, %s", err, line)
			e, err := record.Parse(line)
			check.That(t, err == nil && e.Changes[0].Before.Mode == c.before && e.Changes[0].After.Mode == c.after, "%v, %+v", err, e.Changes)
			back := e.Changes[0].Inverse()
			check.That(t, back.Before.Mode == c.after && back.After.Mode == c.before, "%+v", back)
		})
	}
	for mode, want := range map[fs.FileMode]change.Mode{0: "0000", 0o44: "0044", 0o755 | fs.ModeSetuid: "4755", 0o777 | fs.ModeSticky | fs.ModeSetgid: "3777"} {
		got := change.ModeOf(mode)
		back, ok := got.FileMode()
		check.That(t, got == want && ok && back == mode, "%v is %q and comes back as %v", mode, got, back)
	}
}
