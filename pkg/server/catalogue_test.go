package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/refusals.md")

// A hint that reads like a tool names a tool that the server has.
func TestHintsNameRealTools(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	var names []string
	for _, spec := range b.server.Specs() {
		names = append(names, spec.Name)
	}
	actions := []string{
		refusal.HintChooseFile, refusal.HintFollowConstraints, refusal.HintCorrectClass,
		refusal.HintAskUser, refusal.HintRetry, refusal.HintFixArguments,
	}
	for _, e := range refusal.Catalogue() {
		check.That(t, slices.Contains(names, e.Hint) || slices.Contains(actions, e.Hint),
			"%s: the hint %s is neither a tool nor an action", e.Code, e.Hint)
		for _, word := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`).FindAllString(e.Next, -1) {
			check.That(t, slices.Contains(names, word) || slices.Contains([]string{"active_intents", "start_line", "intent_id"}, word),
				"%s: the suggestion names %s, which is no tool", e.Code, word)
		}
	}
}

// The table of docs/refusals.md is made from the catalogue.
func TestRefusalsTable(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- refusals: begin", "<!-- refusals: end -->"
	path := "../../docs/refusals.md"
	content := check.Value(os.ReadFile(path))(t)
	text := string(content)
	i, j := strings.Index(text, begin), strings.Index(text, end)
	check.Must(t, i >= 0 && j >= i, "docs/refusals.md has no markers for the table")
	i += strings.Index(text[i:], "\n") + 1
	var table strings.Builder
	table.WriteString("| error_type | when | action_hint |\n| --- | --- | --- |\n")
	for _, e := range refusal.Catalogue() {
		fmt.Fprintf(&table, "| `%s` | %s | `%s` |\n", e.Code, e.Occurs, e.Hint)
	}
	if text[i:j] == table.String() {
		return
	}
	check.Must(t, *update, "docs/refusals.md is out of step with pkg/refusal: go test ./pkg/server -run TestRefusalsTable -update")
	check.OK(t, os.WriteFile(path, []byte(text[:i]+table.String()+text[j:]), 0o644))
}

// However much fails, an agent gets no more than it can use: how many, and the first ones in full.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	var file, blocks, patched strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&file, "line %d of the file, which is neither short nor long\n", i)
		fmt.Fprintf(&blocks, "<<<<<<< SEARCH\nline %d of a file, which is neither short nor long\n=======\nx\n>>>>>>> REPLACE\n", i)
	}
	dir := newWorkspace(t)
	check.Write(t, dir, "src/long.txt", file.String())
	patched.WriteString("*** Begin Patch\n")
	for i := range 300 {
		check.Write(t, dir, fmt.Sprintf("src/many/%d.txt", i), file.String()[:2000])
		fmt.Fprintf(&patched, "*** Update File: src/many/%d.txt\n@@\n-line 1 of no file\n+x\n", i)
	}
	patched.WriteString("*** End Patch\n")
	b, s := start(t, dir).under("INT-001")
	paths := make([]any, 20_000)
	for i := range paths {
		paths[i] = i
	}
	for name, c := range map[string]struct {
		code, tool string
		args       args
		says       string
	}{
		"blocks":   {"DIFF_NOT_APPLIED", "apply_diff", args{"path": "src/long.txt", "diff": blocks.String(), "session": s}, "2000 of 2000 blocks"},
		"files":    {"DIFF_NOT_APPLIED", "apply_patch", args{"patch": patched.String(), "session": s}, "300 files of the patch"},
		"old text": {"DIFF_NOT_APPLIED", "edit_file", args{"path": "src/long.txt", "old_string": strings.Repeat("no such line\n", 50_000), "new_string": "", "session": s}, "old_string is not in the file"},
		"values":   {"INVALID_ARGUMENTS", "request_scope_expansion", args{"paths": paths[:100], "reason": "x", "session": s}, "paths/0"},
		"many":     {"INVALID_ARGUMENTS", "request_scope_expansion", args{"paths": paths, "reason": "x", "session": s}, "paths: got 20000 items"},
		"a regex":  {"INVALID_ARGUMENTS", "search_files", args{"regex": strings.Repeat("(", 500_000)}, "regex:"},
	} {
		r := b.Refused(c.code, c.tool, c.args)
		check.That(t, len(r.Text) <= 48<<10 && strings.Contains(r.Str("error"), c.says), "%s: %d bytes, %.300s", name, len(r.Text), r.Text)
	}
}

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
	changes := []string{"write_to_file", "apply_diff", "edit_file", "apply_patch", "execute_command", "commit_staged"}
	records := []string{"select_active_intent", "propose_intent", "request_scope_expansion", "update_intent", "record_lesson", "resume_approval", "stop_command", "discard_staged"}
	for _, tool := range listTools(t, legacy) {
		check.That(t, tool.Title != "" && len(tool.Description) >= 60, "%s lacks a title or a description", tool.Name)
		in, out := tool.InputSchema.(map[string]any), tool.OutputSchema.(map[string]any)
		check.That(t, in["type"] == "object" && in["additionalProperties"] == false, "%s takes anything: %v", tool.Name, in)
		properties := in["properties"].(map[string]any)
		check.That(t, properties["session"] != nil, "%s takes no session", tool.Name)
		for name, p := range properties {
			check.That(t, p.(map[string]any)["type"] != nil && properties["file_path"] == nil, "%s: %s has no type, or stands twice", tool.Name, name)
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

// resource reads a resource that must be there.
func (b *bench) resource(uri string) string {
	b.t.Helper()
	r, err := b.client.ReadResource(b.t.Context(), &mcp.ReadResourceParams{URI: uri})
	check.Must(b.t, err == nil, "%s: %v", uri, err)
	check.Must(b.t, len(r.Contents) == 1 && r.Contents[0].URI == uri, "%s: %v", uri, r.Contents)
	return r.Contents[0].Text
}

// noResource demands an error that does not quote what it must not.
func (b *bench) noResource(uri, hidden string) {
	b.t.Helper()
	r, err := b.client.ReadResource(b.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err == nil {
		b.t.Errorf("%s can be read: %v", uri, r.Contents[0].Text)
	} else if hidden != "" && strings.Contains(err.Error(), hidden) {
		b.t.Errorf("%s: the error quotes a secret: %v", uri, err)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			dir := newWorkspace(t)
			large := fmt.Sprintf(`{"version":"0.1.0","id":"large","timestamp":"2020-01-23T14:30:00Z","files":[],"metadata":{"x":"%300000d"}}`, 0)
			check.Write(t, dir, ".orchestration/agent_trace.jsonl", large+"\n")
			b := start(t, dir).connectAs(era)
			listed := check.Value(b.client.ListResources(t.Context(), nil))(t)
			var uris []string
			for _, r := range listed.Resources {
				uris = append(uris, r.URI)
			}
			check.That(t, slices.Equal(uris, []string{"orchestra://brain", "orchestra://intents", "orchestra://ledger/recent"}),
				"resources: %v", uris)
			var intents []map[string]any
			err := json.Unmarshal([]byte(b.resource("orchestra://intents")), &intents)
			check.That(t, err == nil && len(intents) == 5 && intents[0]["id"] == "INT-001", "intents: %v %v", intents, err)
			var one map[string]any
			if err := json.Unmarshal([]byte(b.resource("orchestra://intent/INT-001")), &one); err != nil || one["description"] != "Serve the weather." {
				t.Errorf("intent: %v %v", one, err)
			}
			check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - id: INT-001\n    commands: {deny: [rm], network: deny}\n    rules: [{name: r, when: 'false', message: m}]\n    verify: [make check]\n    started_at: 2026-02-18T18:30:00Z\n")
			whole := b.resource("orchestra://intent/INT-001")
			for _, part := range []string{`"commands":{"deny":["rm"],"network":"deny"}`, `"rules":[{"name":"r","when":"false","action":"refuse","message":"m"}]`,
				`"verify":["make check"]`, `"started_at":"2026-02-18T18:30:00Z"`, `"status":"IN_PROGRESS"`} {
				check.That(t, strings.Contains(whole, part), "the intent lacks %s: %s", part, whole)
			}
			for _, id := range []string{"INT-999", "..%2F..%2Fetc%2Fpasswd", ""} {
				b.noResource("orchestra://intent/"+id, "")
			}
			check.Equal(t, b.resource("orchestra://brain"), "", "no brain, yet")
			check.Write(t, dir, ".orchestration/AGENT.md", "## Decision (2026-01-01)\nTabs.\n")
			brain := b.resource("orchestra://brain")
			check.That(t, strings.Contains(brain, "Tabs."), "brain: %q", brain)
			s := b.Selects("INT-001")
			b.OK("write_to_file", args{"session": s, "path": "src/n.txt", "content": "SECRET CONTENT\n"})
			recent := b.resource("orchestra://ledger/recent")
			first, rest, _ := strings.Cut(recent, "\n")
			check.That(t, strings.HasSuffix(rest, fmt.Sprintf(`{"id":"large","left_out_bytes":%d}`+"\n", len(large))), "what is too much: %s", rest[max(0, len(rest)-500):])
			check.That(t, strings.Contains(first, `"path":"src/n.txt"`), "the newest record is not first:\n%s", recent)
			check.That(t, !strings.Contains(recent, "SECRET CONTENT") && !strings.Contains(recent, s), "the ledger tells a content or a handle")
		})
	}
}

// A brain at a secret path, also through a link, or outside the workspace is
// out of reach for the resource and for every tool that reads it.
func TestBrainKeepsSecrets(t *testing.T) {
	t.Parallel()
	for name, brain := range map[string]string{"secret": "keys.secret", "through a link": "brain.md", "outside": "../brain.md", "a directory": "src"} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, ".intentignore", "secret:*.secret\n")
			check.Write(t, dir, "keys.secret", "## Decision (2026-01-01)\nTOP SECRET\n")
			link(t, "keys.secret", dir+"/brain.md")
			b := start(t, dir, func(o *server.Options) { o.Settings.Brain.File = brain }).connect()
			b.noResource("orchestra://brain", "TOP")
			r := b.Call("query_lessons", args{})
			check.That(t, r.Error && r.Object["error_type"] != "INTERNAL_ERROR" && !strings.Contains(r.Text, "TOP"), "query_lessons: %s", r.Text)
			c := b.OK("select_active_intent", args{"intent_id": "INT-001"})
			check.That(t, !strings.Contains(c.Text, "TOP"), "the context quotes a secret:\n%s", c.Text)
		})
	}
}

// The prompt, the instructions and completion name the intents now available.
func TestPromptAndInstructions(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, ".intentignore", "intent:INT-002\n")
			b := start(t, dir).connectAs(era)
			prompt := check.Value(b.client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "intent_driven_protocol", Arguments: map[string]string{"intent_id": "INT-001"}}))(t)
			texts := map[string]string{"prompt": prompt.Messages[0].Content.(*mcp.TextContent).Text, "instructions": b.client.InitializeResult().Instructions}
			for name, text := range texts {
				for _, part := range []string{"select_active_intent", "`session`", "before an intent is selected", "INT-001", "Build Weather API", "INT-005"} {
					check.That(t, strings.Contains(text, part), "the %s lacks %q:\n%s", name, part, text)
				}
				for _, part := range []string{"INT-002", "INT-003", "INT-004"} {
					check.That(t, !strings.Contains(text, part), "the %s offers %s", name, part)
				}
			}
			for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "intent_driven_protocol"}, {Type: "ref/resource", URI: "orchestra://intent/{id}"}} {
				argument := "intent_id"
				if ref.URI != "" {
					argument = "id"
				}
				done, err := b.client.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: argument, Value: "INT-00"}})
				check.That(t, err == nil && slices.Equal(done.Completion.Values, []string{"INT-001", "INT-005"}), "%v: %v %v", ref, done, err)
			}
		})
	}
}
