package main

import "testing"

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
		if got := a.modelOf(c.client); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
