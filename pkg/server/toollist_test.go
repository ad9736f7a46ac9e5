package server_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// listTools is tools/list as a client of an era sees it.
func listTools(t *testing.T, era string) []*mcp.Tool {
	t.Helper()
	b := start(t, newWorkspace(t)).connectAs(era)
	listed := check.Value(b.client.ListTools(t.Context(), nil))(t)
	return listed.Tools
}

// tools/list is the same for every caller, in a fixed order. The snapshot is
// what clients see: a change of it is a change of the contract.
func TestToolListIsTheSnapshot(t *testing.T) {
	t.Parallel()
	const path = "testdata/tools.json"
	var lists [][]byte
	for _, era := range []string{legacy, modern} {
		list := check.Value(json.MarshalIndent(listTools(t, era), "", "  "))(t)
		lists = append(lists, append(list, '\n'))
	}
	check.Must(t, bytes.Equal(lists[0], lists[1]), "the two eras see different tools")
	if *update {
		check.OK(t, os.MkdirAll("testdata", 0o755))
		check.OK(t, os.WriteFile(path, lists[0], 0o644))
		return
	}
	want, err := os.ReadFile(path)
	check.Must(t, err == nil && bytes.Equal(want, lists[0]),
		"tools/list is not what %s says (%v): if the change is meant, go test ./pkg/server -run ToolList -update", path, err)
}

// Each tool has a title, a description, strict input and an output schema of
// the required form, and annotations that say what it does.
func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	changes := []string{"write_to_file", "apply_diff", "edit_file", "apply_patch", "execute_command"}
	records := []string{"select_active_intent", "propose_intent", "request_scope_expansion", "update_intent", "record_lesson", "resume_approval", "stop_command"}
	for _, tool := range listTools(t, legacy) {
		check.That(t, tool.Title != "" && len(tool.Description) >= 60, "%s lacks a title or a description", tool.Name)
		in, out := tool.InputSchema.(map[string]any), tool.OutputSchema.(map[string]any)
		check.That(t, in["type"] == "object" && in["additionalProperties"] == false, "%s takes anything: %v", tool.Name, in)
		properties := in["properties"].(map[string]any)
		check.That(t, properties["session"] != nil, "%s takes no session", tool.Name)
		for name, p := range properties {
			check.That(t, p.(map[string]any)["description"] != nil, "%s: %s is not described", tool.Name, name)
		}
		forms, _ := out["anyOf"].([]any)
		check.That(t, out["type"] == "object" && len(forms) == 2, "%s: the output schema is not success or refusal", tool.Name)
		destructive, recorded := slices.Contains(changes, tool.Name), slices.Contains(records, tool.Name)
		a := tool.Annotations
		check.That(t, a.ReadOnlyHint != (destructive || recorded) && a.DestructiveHint != nil && *a.DestructiveHint == destructive,
			"%s: annotations %+v", tool.Name, a)
		check.That(t, a.OpenWorldHint != nil && *a.OpenWorldHint == (tool.Name == "execute_command"), "%s: openWorldHint", tool.Name)
		if destructive && (properties["intent_id"] == nil || properties["mutation_class"] == nil || !strings.Contains(tool.Description, "intent")) {
			t.Errorf("%s does not say that it needs an intent", tool.Name)
		}
	}
}

// The fields that scripts may rely on are required by the output schemas.
func TestResultFields(t *testing.T) {
	t.Parallel()
	session := []string{"session", "intent_id", "name", "status", "mutation_class", "owned_scope", "expires_in_seconds", "context"}
	one := []string{"path", "operation", "content_hash", "record_id", "mutation_class", "warnings"}
	fields := map[string][]string{
		"select_active_intent": session, "get_active_intent": session,
		// content is left out of large results, which have numbered instead.
		"read_file":  {"path", "content_hash", "total_lines", "start_line", "end_line", "truncated", "encoding", "line_ending"},
		"list_files": {"entries"}, "search_files": {"matches"},
		"write_to_file": one, "apply_diff": one, "edit_file": one,
		"apply_patch":     {"files", "record_id", "mutation_class", "warnings"},
		"update_intent":   {"intent_id", "name", "status", "from", "verified", "record_id"},
		"execute_command": {"exit_code", "timed_out", "duration_ms", "output", "artifact_id", "truncated", "changed_files", "sandbox", "record_id"},
	}
	for _, tool := range listTools(t, legacy) {
		success := tool.OutputSchema.(map[string]any)["anyOf"].([]any)[0].(map[string]any)
		required, _ := success["required"].([]any)
		for _, field := range fields[tool.Name] {
			check.That(t, slices.Contains(required, any(field)), "%s: the schema does not require %s", tool.Name, field)
		}
		delete(fields, tool.Name)
	}
	check.That(t, len(fields) == 0, "tools missing: %v", fields)
}
