package e2e_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// modern is the revision without sessions.
const modern = "2026-07-28"

// connection is a way to reach the program with a client.
type connection struct {
	name    string
	connect func(w *workspace, env ...string) client
}

// connections are all clients on all transports in the long form, else each
// transport once in each of its revisions.
func connections() []connection {
	return slices.DeleteFunc(connectionsFor(nil, nil), func(c connection) bool {
		return !check.Long() && !slices.Contains([]string{"typescript1/stdio", "typescript1/sse", "typescript2/stdio/modern", "typescript2/http/modern", "go/http"}, c.name)
	})
}

// connectionsFor are those whose clients show forms to a user, and declare an
// elicitation capability, that for forms if it is nil.
func connectionsFor(u user, elicitation any) []connection {
	stdio := func(sdk int, pin string) func(*workspace, ...string) client {
		return func(w *workspace, env ...string) client {
			return w.drive(driver{SDK: sdk, Pin: pin, Transport: "stdio", Command: program, Args: []string{"serve", "--workspace", w.dir}, Env: w.env(env...), User: u, Elicitation: elicitation})
		}
	}
	http := func(sdk int, pin, transport string) func(*workspace, ...string) client {
		return func(w *workspace, env ...string) client {
			e := w.serveHTTP(transport, env...)
			if transport == "sse" {
				e.url = strings.TrimSuffix(e.url, "/mcp") + "/sse"
			}
			return w.drive(driver{SDK: sdk, Pin: pin, Transport: transport, URL: e.url, Token: e.token, User: u, Elicitation: elicitation})
		}
	}
	return []connection{
		{"typescript1/stdio", stdio(1, "")},
		{"typescript1/http", http(1, "", "http")},
		{"typescript1/sse", http(1, "", "sse")},
		{"typescript2/stdio", stdio(2, "")},
		{"typescript2/stdio/modern", stdio(2, modern)},
		{"typescript2/http/modern", http(2, modern, "http")},
		{"go/http", func(w *workspace, env ...string) client { return w.dialGoFor(u, w.serveHTTP("http", env...), "") }},
		{"go/http/modern", func(w *workspace, env ...string) client { return w.dialGoFor(u, w.serveHTTP("http", env...), modern) }},
	}
}

// The way of an agent that does everything right.
func TestHappyPath(t *testing.T) {
	for _, c := range connections() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			a := agent{t, c.connect(w)}
			for _, step := range []struct {
				name string
				run  func(*workspace, agent)
			}{
				{"tools", offersTools}, {"change", changesFiles}, {"command", runsCommands}, {"look", looksAround},
				{"ask", asksOperator}, {"prompts", offersPrompts}, {"resources", offersResources}, {"completion", completes},
				{"unknown tool", knowsItsTools},
			} {
				t.Run(step.name, func(t *testing.T) { step.run(w.on(t), a.on(t)) })
			}
		})
	}
}

// on lets a subtest fail in its own name.
func (w *workspace) on(t *testing.T) *workspace { return &workspace{t, w.dir, w.home} }

func offersTools(w *workspace, a agent) {
	var list struct {
		Tools []struct {
			Name, Title, Description  string
			InputSchema, OutputSchema json.RawMessage
			Annotations               struct{ ReadOnlyHint, DestructiveHint *bool }
		} `json:"tools"`
	}
	a.get("listTools", nil, &list)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Title == "" || tool.Description == "" || len(tool.InputSchema) == 0 || len(tool.OutputSchema) == 0 {
			w.t.Errorf("%s is not described whole", tool.Name)
		}
		if tool.Annotations.ReadOnlyHint == nil || tool.Annotations.DestructiveHint == nil {
			w.t.Errorf("%s has no annotations", tool.Name)
		}
	}
	for _, want := range []string{
		"select_active_intent", "get_active_intent", "list_intents", "read_file", "list_files", "search_files",
		"read_command_output", "query_trace", "query_lessons", "write_to_file", "apply_diff", "edit_file",
		"apply_patch", "execute_command", "propose_intent", "request_scope_expansion", "record_lesson", "resume_approval",
	} {
		if !slices.Contains(names, want) {
			w.t.Errorf("no tool %s among %v", want, names)
		}
	}
	for _, entry := range refusal.Catalogue() {
		if strings.Contains(entry.Hint, "_active_intent") && !slices.Contains(names, entry.Hint) {
			w.t.Errorf("%s points to %s, which is no tool", entry.Code, entry.Hint)
		}
	}
}

func changesFiles(w *workspace, a agent) {
	session := a.selects("INT-001")
	read := a.ok("read_file", args{"path": "src/a.txt", "session": session})
	if read.str("content") != "one\ntwo\nthree\n" || !strings.HasPrefix(read.str("content_hash"), "sha256:") {
		w.t.Errorf("read: %v", read.Fields)
	}
	edited := a.ok("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	w.want("src/a.txt", "one\n2\nthree\n")
	a.ok("write_to_file", args{"path": "src/a.txt", "content": "whole\n", "expected_content_hash": edited.str("content_hash"), "session": session})
	w.want("src/a.txt", "whole\n")
	a.ok("apply_diff", args{"path": "src/a.txt", "session": session, "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\nwhole\n=======\nWHOLE\n>>>>>>> REPLACE"})
	w.want("src/a.txt", "WHOLE\n")
	patched := a.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/b/new.txt\n+hello\n" +
		"*** Update File: src/a.txt\n*** Move to: src/moved.txt\n@@\n-WHOLE\n+whole again\n*** End Patch"})
	if files, _ := patched.Fields["files"].([]any); len(files) != 2 {
		w.t.Errorf("patch: %v", patched.Fields)
	}
	w.want("src/b/new.txt", "hello\n")
	w.want("src/moved.txt", "whole again\n")
	for _, call := range []string{"edit_file", "write_to_file", "apply_diff", "apply_patch"} {
		w.wantRecord(`"kind":"mutation"`, `"call":"`+call+`"`, `"intent_id":"INT-001"`)
	}
	w.wantRecord(`"op":"moved"`, patched.str("record_id"))
}

func runsCommands(w *workspace, a agent) {
	session := a.selects("INT-001")
	ran := a.ok("execute_command", args{"session": session, "command": "seq 3; exit 3"})
	if ran.Fields["exit_code"] != 3.0 || !strings.Contains(ran.str("output"), "1\n2\n3") {
		w.t.Errorf("command: %v", ran.Fields)
	}
	output := a.ok("read_command_output", args{"artifact_id": ran.str("artifact_id"), "session": session})
	if !strings.Contains(output.str("content"), "2") {
		w.t.Errorf("output: %v", output.Fields)
	}
	late := a.ok("execute_command", args{"session": session, "command": "sleep 60", "timeout": 1})
	check.Equal(w.t, late.Fields["timed_out"], true, "a command outlived its timeout")
	w.wantRecord(`"kind":"command"`, `"exit_code":3`)
}

func looksAround(w *workspace, a agent) {
	session := a.selects("INT-001")
	check.Equal(w.t, a.ok("get_active_intent", args{"session": session}).str("intent_id"), "INT-001", "state")
	if intents, _ := a.ok("list_intents", args{}).Fields["intents"].([]any); len(intents) != 5 {
		w.t.Errorf("%d intents", len(intents))
	}
	files := a.ok("list_files", args{"path": ".", "recursive": true})
	if !strings.Contains(files.text(), "moved.txt") {
		w.t.Errorf("list_files: %s", files.text())
	}
	matches := a.ok("search_files", args{"path": "src", "regex": "whole a.ain"})
	if list, _ := matches.Fields["matches"].([]any); len(list) != 1 {
		w.t.Errorf("search_files: %v", matches.Fields)
	}
	trace := a.ok("query_trace", args{"path": "src/moved.txt"})
	if list, _ := trace.Fields["records"].([]any); len(list) == 0 {
		w.t.Error("query_trace knows nothing of the file")
	}
	a.ok("query_lessons", args{})
}

func asksOperator(w *workspace, a agent) {
	proposal := args{"name": "New", "owned_scope": []string{"new/**"}, "description": "why"}
	proposed := a.refused("APPROVAL_REQUIRED", "propose_intent", proposal)
	if !strings.Contains(proposed.str("suggestion"), "orchestra-mcp approvals") {
		w.t.Errorf("%v", proposed.Fields)
	}
	a.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": proposed.details()["approval_id"]})
	a.refused("APPROVAL_REQUIRED", "request_scope_expansion", args{"paths": []string{"lib/**"}, "reason": "why", "intent_id": "INT-001"})
}

func offersPrompts(w *workspace, a agent) {
	var list struct{ Prompts []struct{ Name string } }
	a.get("listPrompts", nil, &list)
	if len(list.Prompts) != 1 || list.Prompts[0].Name != "intent_driven_protocol" {
		w.t.Fatalf("prompts: %+v", list)
	}
	var prompt struct {
		Messages []struct{ Content struct{ Text string } }
	}
	a.get("getPrompt", args{"name": "intent_driven_protocol", "arguments": args{"intent_id": "INT-002"}}, &prompt)
	if len(prompt.Messages) == 0 || !strings.Contains(prompt.Messages[0].Content.Text, "INT-002") {
		w.t.Errorf("prompt: %+v", prompt)
	}
}

func offersResources(w *workspace, a agent) {
	var list struct{ Resources []struct{ URI string } }
	a.get("listResources", nil, &list)
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	a.get("listResourceTemplates", nil, &templates)
	if len(list.Resources) != 3 || len(templates.ResourceTemplates) != 1 {
		w.t.Errorf("resources: %+v %+v", list, templates)
	}
	for uri, part := range map[string]string{
		"orchestra://intents": "INT-004", "orchestra://intent/INT-001": "Build Weather API",
		"orchestra://ledger/recent": `"kind":"mutation"`, "orchestra://brain": "",
	} {
		var read struct{ Contents []struct{ URI, Text string } }
		a.get("readResource", args{"uri": uri}, &read)
		if len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, part) {
			w.t.Errorf("%s: %+v", uri, read)
		}
	}
	if _, err := a.request("readResource", args{"uri": "orchestra://intent/INT-999"}); err == nil {
		w.t.Error("an intent that does not exist can be read")
	}
}

func completes(w *workspace, a agent) {
	var completed struct {
		Completion struct{ Values []string }
	}
	a.get("complete", args{
		"ref":      args{"type": "ref/prompt", "name": "intent_driven_protocol"},
		"argument": args{"name": "intent_id", "value": "INT-00"},
	}, &completed)
	if !slices.Contains(completed.Completion.Values, "INT-001") || slices.Contains(completed.Completion.Values, "INT-003") {
		w.t.Errorf("completion: %v", completed.Completion.Values)
	}
}

// What never becomes a call is an error of the protocol, not a result.
func knowsItsTools(w *workspace, a agent) {
	if raw, err := a.request("callTool", args{"name": "no_such_tool", "arguments": args{}}); err == nil {
		w.t.Errorf("an unknown tool was called: %s", raw)
	}
}

// What was learned when connecting.
func TestGreeting(t *testing.T) {
	w := newWorkspace(t)
	c := w.drive(driver{SDK: 2, Transport: "stdio", Command: program, Args: []string{"serve", "--workspace", w.dir}, Env: w.env()})
	g := c.greeting
	if g.ProtocolVersion != "2025-11-25" || g.Server.Name != "orchestra-mcp" || g.Server.Version == "" {
		t.Errorf("%+v", g)
	}
	if !strings.Contains(g.Instructions, "select_active_intent") || !strings.Contains(g.Instructions, "INT-001") {
		t.Errorf("instructions: %s", g.Instructions)
	}
}

// An application sees a command's output while it runs, and ends it by giving
// up the call.
func TestProgressAndAbort(t *testing.T) {
	for _, c := range connections() {
		if !strings.HasPrefix(c.name, "typescript") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			a := agent{t, c.connect(w)}
			session := a.selects("INT-001")
			var ran struct {
				answer
				Progress []struct{ Message string }
			}
			a.get("callTool", args{"name": "execute_command", "arguments": args{"command": "echo first; sleep 0.3; echo second", "session": session}}, &ran)
			if len(ran.Progress) == 0 || !strings.Contains(ran.Progress[0].Message, "first") {
				t.Errorf("no progress: %+v", ran)
			}
			wait, abort := a.client.(*typescript).beginAbortable(args{"name": "execute_command", "arguments": args{
				"command": "trap 'echo ended > src/ended' EXIT; trap 'exit 1' TERM; echo x > src/begun; sleep 600 & wait", "session": session, "timeout": 600}})
			w.appears("src/begun")
			check.OK(t, abort())
			if raw, err := wait(); err == nil {
				t.Errorf("the call was not aborted: %s", raw)
			}
			eventually(t, "the command of the aborted call ends and is recorded", func() bool {
				return len(w.records(`"kind":"command"`, "src/begun")) == 1
			})
			a.ok("list_intents", args{})
		})
	}
}

// patience is longer than anything takes that a test waits for, on a busy
// machine too: it ends a test that is lost, and judges nothing.
const patience = 2 * time.Minute

// eventually waits for what comes without a signal.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Errorf("not within %v: %s", patience, what)
}

// appears waits for a file.
func (w *workspace) appears(path string) {
	w.t.Helper()
	eventually(w.t, path+" is there", func() bool { _, err := os.Stat(w.path(path)); return err == nil })
}
