package agenttrace_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/agenttrace"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const recordID = "7d4a7a0e-53f5-4d4f-9a4e-0a3f3f6f7a11"

// schemas are the open one of the specification and the closed one of its site.
func schemas(t testing.TB) (open, closed *jsonschema.Schema) {
	t.Helper()
	document := check.Value(os.ReadFile("testdata/agent-trace-0.1.0.site.schema.json"))(t)
	mended := bytes.ReplaceAll(document, []byte(`\\\\.`), []byte(`\\.`))
	check.Must(t, !bytes.Equal(mended, document), "the pattern of the site's schema needs no mending any more")
	return compile(t, read(t, "../testdata/agent-trace-0.1.0.schema.json")), compile(t, mended)
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	return check.Value(os.ReadFile(name))(t)
}

func compile(t testing.TB, document []byte) *jsonschema.Schema {
	t.Helper()
	value := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(document)))(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	check.OK(t, compiler.AddResource("mem:schema", value))
	return check.Value(compiler.Compile("mem:schema"))(t)
}

func valid(t testing.TB, schema *jsonschema.Schema, line []byte) error {
	t.Helper()
	value := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(line)))(t)
	return schema.Validate(value)
}

func sha(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// entry is a record as it comes from the ledger.
func entry(t testing.TB, r record.Record) record.Entry {
	t.Helper()
	line, err := record.Encode(record.Entry{
		Record: r, ID: recordID, Time: time.Date(2026, 2, 18, 18, 30, 0, 123e6, time.UTC), Prev: []string{strings.Repeat("ab", 32)},
		Revision: strings.Repeat("c", 40), ToolVersion: "1.2.3",
	})
	check.OK(t, err)
	return check.Value(record.Parse(line))(t)
}

func records() map[string]record.Record {
	modified := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: "src/a <b>\u202e.ts", Before: change.Version{Hash: sha("a"), OID: strings.Repeat("1", 40)}, After: change.Version{Hash: sha("b")}, Hunks: [][4]int{{1, 1, 1, 2}, {9, 0, 10, 1}},
		},
		Ranges: []record.Range{{StartLine: 1, EndLine: 2, ContentHash: sha("x")}, {StartLine: 10, EndLine: 10}},
	}
	base := record.Record{
		Kind: record.KindMutation, IntentID: "INT-001", MutationClass: "AST_REFACTOR", Call: "write_to_file", Session: recordID,
		Contributor: record.Contributor{Type: "ai", ModelID: "anthropic/claude-x"}, Client: record.Client{Name: "c", Version: "1"},
		Class: &record.Class{Declared: "AST_REFACTOR", Computed: "AST_REFACTOR", Evidence: "proven"}, Changes: []record.Change{modified},
		Detail: map[string]any{"big": int64(1)<<60 + 1, "nested": map[string]any{"list": []any{1.5, nil}}},
	}
	human, several, long, untracked := base, base, base, base
	human.Contributor = record.Contributor{Type: "human"}
	several.Kind, several.Command = record.KindCommand, &record.Command{Command: "x\x1b[2J", ExitCode: 1}
	several.Changes = []record.Change{
		{Change: change.Change{Op: change.Unchanged, Path: "same", Before: change.Version{Hash: sha("a")}}}, {Change: change.Change{Op: change.Deleted, Path: "gone", Before: change.Version{Hash: sha("a")}}}, modified,
		{
			Change: change.Change{
				Op: change.Moved, Path: "new", From: "old", Before: change.Version{Hash: sha("a")}, After: change.Version{Hash: sha("a")},
			},
		},
	}
	long.Contributor.ModelID = strings.Repeat("m", 300)
	untracked.IntentID, untracked.Session = "", ""
	untracked.Contributor = record.Contributor{}
	return map[string]record.Record{"mutation": base, "human": human, "several": several, "long model": long, "nobody": untracked}
}

func TestLinesAreValidAgainstBothSchemas(t *testing.T) {
	open, closed := schemas(t)
	for name, record := range records() {
		t.Run(name, func(t *testing.T) {
			e := entry(t, record)
			loose := check.Value(agenttrace.Line(e, false))(t)
			check.That(t, bytes.Equal(loose, e.Raw), "the loose line is not the ledger's:\n%s\n%s", loose, e.Raw)
			strict := check.Value(agenttrace.Line(e, true))(t)
			for _, c := range []struct {
				schema *jsonschema.Schema
				line   []byte
			}{{open, loose}, {open, strict}, {closed, strict}} {
				err := valid(t, c.schema, c.line)
				check.That(t, err == nil, "%v\n%s", err, c.line)
			}
			check.That(t, valid(t, closed, loose) != nil, "the closed schema accepts the loose line: it tests nothing")
			check.That(t, !bytes.ContainsRune(strict, '\n'), "a line has a newline")
		})
	}
}

// What strict moves can be put back where it was.
func TestStrictLosesNothing(t *testing.T) {
	for name, record := range records() {
		e := entry(t, record)
		strict := check.Value(agenttrace.Line(e, true))(t)
		var whole, original map[string]any
		check.OK(t, json.Unmarshal(strict, &whole))
		check.OK(t, json.Unmarshal(e.Raw, &original))
		ours := whole["metadata"].(map[string]any)["orchestra-mcp"].(map[string]any)
		moved := ours["moved"].(map[string]any)
		delete(ours, "moved")
		got := merge(whole, moved)
		check.That(t, reflect.DeepEqual(got, any(original)), "%s: put together again it is\n%v\nwas\n%v", name, got, original)
		if moved["intent_id"] != nil && moved["intent_id"] != record.IntentID || moved["prev"] == nil || moved["files"] == nil {
			t.Errorf("%s: moved is %v", name, moved)
		}
		check.That(t, bytes.Contains(strict, []byte(`"big":1152921504606846977`)), "%s: a large number changed: %s", name, strict)
	}
}

// merge puts b, a tree of the same shape, into a.
func merge(a, b any) any {
	switch from := b.(type) {
	case map[string]any:
		into, ok := a.(map[string]any)
		if !ok {
			return b
		}
		for key, value := range from {
			if old, has := into[key]; has {
				value = merge(old, value)
			}
			into[key] = value
		}
		return into
	case []any:
		into := a.([]any)
		for i, value := range from {
			into[i] = merge(into[i], value)
		}
		return into
	case nil:
		return a
	}
	return b
}

func TestWhatIsNotExported(t *testing.T) {
	rec := records()["mutation"]
	e := entry(t, rec)
	e.ID = "not a uuid"
	check.Fails(agenttrace.Line(e, false))(t, agenttrace.ErrNotExportable, "an id that is no UUID")
	e = entry(t, rec)
	e.Changes[0].Ranges[0].StartLine = 0
	check.Fails(agenttrace.Line(e, true))(t, agenttrace.ErrNotExportable, "a range from line 0")
	for want, r := range map[bool]record.Record{
		true: rec, false: {Kind: record.KindMutation, Changes: []record.Change{{Change: change.Change{Op: change.Unchanged, Path: "x"}}}},
	} {
		check.That(t, agenttrace.Changed(record.Entry{Record: r}) == want, "%+v changed files: want %v", r, want)
	}
	check.That(t, !agenttrace.Changed(record.Entry{Files: []string{"x"}}), "a line of another tool is exported as ours")
}

// A line that is valid in the ledger gives a line that is valid as Agent Trace, or an error.
func FuzzLine(f *testing.F) {
	open, closed := schemas(f)
	for _, record := range records() {
		f.Add(entry(f, record).Raw)
	}
	f.Add([]byte(`{"prev":[],"version":"9","id":"` + recordID + `","timestamp":"2026-02-18T18:30:00+01:00","files":[{"path":"x","extra":1}],` +
		`"metadata":{"orchestra-mcp":{"kind":"mutation","changes":[{"path":"x","op":"created"}],"unknown":{}},"other":1},"more":[{}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := record.Parse(line)
		if err != nil || !agenttrace.Changed(e) {
			return
		}
		for strict, schema := range map[bool]*jsonschema.Schema{false: open, true: closed} {
			out, err := agenttrace.Line(e, strict)
			if err != nil {
				continue
			}
			if err := valid(t, schema, out); err != nil {
				t.Fatalf("strict %v: %v\n%s\nfrom %s", strict, err, out, line)
			}
		}
	})
}
