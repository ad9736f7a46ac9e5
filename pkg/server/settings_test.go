package server_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// A guard that was asked for and cannot stand yet refuses; it is never passed
// over in silence.
func TestGuardsThatCannotStandRefuse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		code, tool string
		set        func(*settings.Settings)
	}{
		"rules":           {"RULE_VIOLATION", "write_to_file", func(s *settings.Settings) { s.Rules = []settings.Rule{{Name: "r", When: "true"}} }},
		"commands.deny":   {"COMMAND_BLOCKED", "execute_command", func(s *settings.Settings) { s.Commands.Deny = []settings.CommandRule{{Prefix: "true"}} }},
		"commands.ask":    {"APPROVAL_REQUIRED", "execute_command", func(s *settings.Settings) { s.Commands.Ask = []settings.CommandRule{{Prefix: "true"}} }},
		"network":         {"COMMAND_BLOCKED", "execute_command", func(s *settings.Settings) { s.Commands.Network = settings.Deny }},
		"default":         {"COMMAND_BLOCKED", "ls", func(s *settings.Settings) { s.Commands.Default = settings.Deny }},
		"sandbox":         {"SANDBOX_UNAVAILABLE", "execute_command", func(s *settings.Settings) { s.Sandbox = settings.Require }},
		"sandbox kernel":  {"SANDBOX_UNAVAILABLE", "execute_command", func(s *settings.Settings) { s.Sandbox = settings.RequireLandlock }},
		"scope.required":  {"SCOPE_VIOLATION", "write_to_file", func(s *settings.Settings) { s.Scope.Required = true }},
		"program_config":  {"APPROVAL_REQUIRED", "write_config", func(*settings.Settings) {}},
		"program_config2": {"APPROVAL_REQUIRED", "write_config", func(s *settings.Settings) { s.Approvals.ProgramConfig = settings.Refuse }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: A, name: a, status: TODO}\n")
			b := start(t, dir, unsandboxed, func(o *server.Options) { c.set(&o.Settings) }).connect()
			session := b.selects("A")
			switch c.tool {
			case "write_to_file":
				b.refused(c.code, c.tool, args{"path": "x.txt", "content": "x", "session": session})
			case "write_config":
				b.refused(c.code, "write_to_file", args{"path": ".mcp.json", "content": "{}", "session": session})
			case "ls":
				b.refused(c.code, "execute_command", args{"command": "ls", "session": session})
			default:
				b.refused(c.code, c.tool, args{"command": "true", "session": session})
			}
		})
	}
}

func TestSelectionThatHasToBeAsked(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Approvals.SelectIntent = settings.Ask }).connect()
	r := b.refused("APPROVAL_REQUIRED", "select_active_intent", args{"intent_id": "INT-001"})
	b.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": r.details()["approval_id"].(string)})
	b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/x", "content": "x"})
}

// What a hook had to say while it allowed reaches the agent.
func TestNotesReachTheResult(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: A, name: a, status: TODO}\n")
	b := start(t, dir).connect()
	session := b.selects("A")
	r := b.ok("write_to_file", args{"path": "x.txt", "content": "x", "session": session})
	if warnings := r.Object["warnings"].([]any); len(warnings) != 1 || warnings[0] != "A has no owned_scope: every path is in scope" {
		t.Errorf("%v", warnings)
	}
}

// Prompts written for Roo send null for what they leave out.
func TestNullMeansLeftOut(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	session := b.selects("INT-001")
	b.ok("execute_command", args{"command": "true", "cwd": nil, "timeout": nil, "session": session})
	b.ok("search_files", args{"regex": "one", "path": ".", "file_pattern": nil})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "content": nil, "session": session})
}
