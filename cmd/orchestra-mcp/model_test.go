package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A client's own variable tells its model, and no other client's; ORCHESTRA_MODEL tells any.
func TestModelOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		client, variable, value, want string
	}{
		{"claude-code", "ANTHROPIC_MODEL", "claude-opus-4-5", "claude-opus-4-5"},
		{"Cursor", "ANTHROPIC_MODEL", "claude-opus-4-5", ""},
		{"gemini-cli-mcp-client", "GEMINI_MODEL", "gemini-3-pro", "gemini-3-pro"},
		{"copilot-cli", "COPILOT_MODEL", "gpt-5", "gpt-5"},
		{"Cursor", modelVariable, "any", "any"},
		{"claude-code", "OTHER", "x", ""},
	} {
		a := &app{environment: environment{lookup: func(name string) (string, bool) {
			if name == c.variable {
				return c.value, true
			}
			return "", false
		}}}
		got := a.modelOf(c.client)
		check.That(t, got == c.want, "%+v: %q", c, got)
	}
}

// What the environment tells of a client's model is recorded where the client started the server, as over stdio.
func TestModelOfTheEnvironmentIsRecorded(t *testing.T) {
	home(t)
	t.Setenv(modelVariable, "m-env")
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	check.OK(t, os.WriteFile(filepath.Join(dir, ".orchestration/active_intents.yaml"), []byte(storyIntents), 0o644))
	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"select_active_intent","arguments":{"intent_id":"INT-001"}}}
`
	var out, errs bytes.Buffer
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	code := execute(t.Context(), []string{"serve"}, streams{in: strings.NewReader(requests), out: &out, err: &errs}, env)
	check.Must(t, code == exitDone, "exit code %d: %s", code, errs.String())
	records, err := os.ReadFile(filepath.Join(dir, ".orchestration/agent_trace.jsonl"))
	if err != nil || !bytes.Contains(records, []byte(`"model_id":"m-env"`)) || !bytes.Contains(records, []byte(`"model_source":"environment"`)) {
		t.Errorf("%v: %s\nanswers: %s", err, records, out.String())
	}
}
