package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// foreign is a tool of mcp-go.
func foreign(name, properties string) mcpbridge.ForeignTool {
	return mcpbridge.ForeignTool{Name: name, Description: "d", RawInputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`)}
}

// A handler that stood before works under the gate: out of its intent or scope it does not run, and what it did to the
// files that it names is in the ledger, also where it failed in the middle.
func TestForeignHandlerIsGoverned(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir)
	ran := 0
	check.OK(t, b.server.AddHandler(server.Handler{
		Tool: foreign("touch", `{"file":{"type":"string"},"text":{"type":"string"},"fail":{"type":"boolean"}}`),
		Handle: func(_ context.Context, r mcpbridge.ForeignRequest) (*mcpbridge.ForeignResult, error) {
			ran++
			_, passed := r.GetArguments()["session"]
			check.That(t, !passed, "the handler sees the session")
			text := r.GetString("text", "")
			if text != "" {
				check.Write(t, dir, r.GetString("file", ""), text)
			}
			if r.GetBool("fail", false) {
				return nil, errors.New("no more")
			}
			return &mcpbridge.ForeignResult{StructuredContent: args{"touched": true}}, nil
		},
		Touches: func(arguments map[string]any) []string { return []string{arguments["file"].(string)} },
	}))
	err := b.server.AddHandler(server.Handler{Tool: foreign("touch", "{}")})
	check.That(t, err != nil, "a name was taken twice")
	b.connect()
	b.refused("MISSING_OR_INVALID_INTENT", "touch", args{"file": "src/a.txt", "text": "x\n"})
	s := b.selects("INT-001")
	b.refused("SCOPE_VIOLATION", "touch", args{"session": s, "file": "docs/other.md", "text": "x\n"})
	b.refused("PROTECTED_PATH", "touch", args{"session": s, "file": ".git/config", "text": "x\n"})
	b.refused("INVALID_ARGUMENTS", "touch", args{"session": s, "file": "src/a.txt", "texts": "x\n"})
	b.refused("INVALID_ARGUMENTS", "touch", args{"session": s, "file": "src/a.txt", "fail": true})
	check.Equal(t, ran, 1, "the handler ran")
	call := func(a args) string {
		t.Helper()
		a["session"] = s
		r := check.Value(b.client.CallTool(t.Context(), &gosdk.CallToolParams{Name: "touch", Arguments: a}))(t)
		text, _ := json.Marshal([]any{r.Content, r.StructuredContent})
		return string(text)
	}
	if text := call(args{"file": "src/a.txt", "text": "new\n"}); !strings.Contains(text, "touched") {
		t.Error(text)
	}
	b.wantRecord(`"call":"touch"`, `"path":"src/a.txt"`, `"op":"modified"`)
	call(args{"file": "src/b.txt", "text": "new\n"})
	b.wantRecord(`"call":"touch"`, `"path":"src/b.txt"`, `"op":"created"`)
	if text := call(args{"file": "src/c.txt", "text": "new\n", "fail": true}); !strings.Contains(text, "no more") {
		t.Error(text)
	}
	b.wantRecord(`"call":"touch"`, `"path":"src/c.txt"`, `"op":"created"`)
}

// A tool that touches no files is recorded all the same: nobody would know of it otherwise. A safe one is not.
func TestToolWithoutFilesIsRecorded(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	for name, class := range map[string]hooks.Class{"deploy": "", "look": hooks.Safe} {
		check.OK(t, b.server.AddHandler(server.Handler{
			Tool: foreign(name, "{}"), Class: class,
			Handle: func(context.Context, mcpbridge.ForeignRequest) (*mcpbridge.ForeignResult, error) {
				return &mcpbridge.ForeignResult{}, nil
			},
		}))
	}
	b.connect()
	s := b.selects("INT-001")
	for _, name := range []string{"deploy", "look"} {
		check.Value(b.client.CallTool(t.Context(), &gosdk.CallToolParams{Name: name, Arguments: args{"session": s}}))(t)
	}
	b.wantRecord(`"call":"deploy"`, `"kind":"mutation"`, `"intent_id":"INT-001"`, "touches")
	for _, line := range b.ledgerLines() {
		check.That(t, !strings.Contains(line, `"call":"look"`), "a safe call was recorded: %s", line)
	}
}

// Do goes the way of a client's call, and a file tool is a function of the file's text.
func TestEmbedderCallsAndFileTools(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir)
	type upper struct {
		Word string `json:"word"`
	}
	check.OK(t, server.AddFileTool(b.server, hooks.Spec{Name: "upper"}, func(before string, a upper) (string, error) {
		if !strings.Contains(before, a.Word) {
			return "", errors.New("the file does not have the word")
		}
		return strings.ReplaceAll(before, a.Word, strings.ToUpper(a.Word)), nil
	}))
	b.connect()
	do := func(tool string, a args) (object map[string]any, code string) {
		t.Helper()
		raw, _ := json.Marshal(a)
		r := b.server.Do(t.Context(), hooks.Request{Tool: tool, Arguments: hooks.ReadArguments(raw)})
		check.OK(t, json.Unmarshal(r.Structured, &object))
		code, _ = object["error_type"].(string)
		return object, code
	}
	selected, _ := do("select_active_intent", args{"intent_id": "INT-001"})
	a := args{"session": selected["session"], "path": "src/a.txt", "word": "two"}
	for word, want := range map[string]string{"nowhere": "INVALID_ARGUMENTS", "two": ""} {
		a["word"] = word
		if object, code := do("upper", a); code != want {
			t.Errorf("%s: %v", word, object)
		}
	}
	got, _ := os.ReadFile(filepath.Join(dir, "src/a.txt"))
	check.That(t, string(got) == "one\nTWO\nthree\n", "%q", got)
	a["path"], a["word"] = "docs/other.md", "Other"
	if object, code := do("upper", a); code != "SCOPE_VIOLATION" {
		t.Errorf("%v", object)
	}
	b.wantRecord(`"call":"upper"`, `"path":"src/a.txt"`, `"type":"ai"`)
}
