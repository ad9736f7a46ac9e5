// Package examples_test builds the examples and drives each through a real client, so that what they show stays true.
package examples_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

const intents = `active_intents:
  - {id: INT-001, name: Try it, status: IN_PROGRESS, owned_scope: ["src/**"]}
`

const config = `rules:
  - {name: short, when: 'effect.after.size() > 300', action: refuse, message: "Keep it short."}
`

// tools is where the examples and the program are, built at once.
var tools string

func TestMain(m *testing.M) {
	var err error
	if tools, err = os.MkdirTemp("", "examples-"); err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-ldflags=-w", "-o", tools+"/", "./custom-hook", "./embedded", "../cmd/orchestra-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(tools)
	os.Exit(code)
}

// serve connects a client to an example.
func serve(t *testing.T, example string) (*mcp.ClientSession, string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{".orchestration/active_intents.yaml": intents, "src/a.txt": "one\n", ".orchestration/config.yaml": config} {
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(content), 0o644))
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	cmd := exec.Command(filepath.Join(tools, example), dir)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=")
	session := check.Value(client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil))(t)
	t.Cleanup(func() {
		check.NoError(t, session.Close())
	})
	return session, dir
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (object map[string]any, refused bool) {
	t.Helper()
	result := check.Value(s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args}))(t)
	raw, _ := json.Marshal(result.StructuredContent)
	check.OK(t, json.Unmarshal(raw, &object))
	return object, result.IsError
}

func TestCustomHook(t *testing.T) {
	s, dir := serve(t, "custom-hook")
	selected, _ := call(t, s, "select_active_intent", map[string]any{"intent_id": "INT-001"})
	args := map[string]any{"session": selected["session"], "path": "src/new.txt", "content": "TODO later\n"}
	object, refused := call(t, s, "write_to_file", args)
	check.That(t, refused && object["error_type"] == "RULE_VIOLATION", "the hook did not refuse: %v", object)
	_, err := os.Stat(filepath.Join(dir, "src/new.txt"))
	check.That(t, err != nil, "the file was written")
	args["content"] = "TODO(ann) later\n"
	if object, refused := call(t, s, "write_to_file", args); refused {
		t.Errorf("refused: %v", object)
	}
	args["content"] = strings.Repeat("long\n", 100)
	if object, refused := call(t, s, "write_to_file", args); !refused || object["error_type"] != "RULE_VIOLATION" {
		t.Errorf("a rule of the operator's settings does not hold: %v", object)
	}
}

func TestEmbedded(t *testing.T) {
	s, dir := serve(t, "embedded")
	args := map[string]any{"path": "src/a.txt", "stamp": "stamped"}
	if object, refused := call(t, s, "stamp_file", args); !refused || object["error_type"] != "MISSING_OR_INVALID_INTENT" {
		t.Errorf("an added tool is not governed: %v", object)
	}
	selected, _ := call(t, s, "select_active_intent", map[string]any{"intent_id": "INT-001"})
	args["session"] = selected["session"]
	object, refused := call(t, s, "stamp_file", args)
	check.Must(t, !refused && object["record_id"] != "", "%v", object)
	got, _ := os.ReadFile(filepath.Join(dir, "src/a.txt"))
	check.That(t, string(got) == "one\nstamped\n", "file is %q", got)
	ledger, _ := os.ReadFile(filepath.Join(dir, ".orchestration/agent_trace.jsonl"))
	check.That(t, strings.Contains(string(ledger), `"call":"stamp_file"`), "no record:\n%s", ledger)
	told, refused := call(t, s, "notify", map[string]any{"session": selected["session"], "text": "done"})
	check.That(t, !refused, "%v", told)
	if ledger, _ := os.ReadFile(filepath.Join(dir, ".orchestration/agent_trace.jsonl")); !strings.Contains(string(ledger), `"call":"notify"`) {
		t.Errorf("a tool that touches no files has no record:\n%s", ledger)
	}
	args["stamp"] = strings.Repeat("long", 50)
	call(t, s, "stamp_file", args)
	if object, refused := call(t, s, "stamp_file", args); !refused || object["error_type"] != "RULE_VIOLATION" {
		t.Errorf("a rule of the operator's settings does not hold: %v", object)
	}
	args["path"] = "README.md"
	if object, refused := call(t, s, "stamp_file", args); !refused || object["error_type"] != "SCOPE_VIOLATION" {
		t.Errorf("an added tool leaves the scope: %v", object)
	}
}

// TestFileToolIsShort: a file tool of an embedder's own needs no more than a page of the screen.
func TestFileToolIsShort(t *testing.T) {
	set := token.NewFileSet()
	file := check.Value(parser.ParseFile(set, "embedded/main.go", nil, 0))(t)
	lines := 0
	for _, decl := range file.Decls {
		named := ""
		switch d := decl.(type) {
		case *ast.FuncDecl:
			named = d.Name.Name
		case *ast.GenDecl:
			if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
				named = spec.Name.Name
			}
		}
		if named == "addStamp" || named == "stamp" {
			lines += set.Position(decl.End()).Line - set.Position(decl.Pos()).Line + 1
		}
	}
	check.That(t, lines != 0 && lines <= 20, "stamp_file takes %d lines, 20 were promised", lines)
}
