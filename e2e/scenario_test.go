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

// connections are all clients on all transports in the long form, else each transport once in each of its revisions.
func connections() []connection {
	return slices.DeleteFunc(connectionsFor(nil, false), func(c connection) bool {
		return !check.Long() && !slices.Contains([]string{"typescript1/stdio", "typescript1/sse", "typescript2/stdio/modern", "typescript2/http/modern", "go/http"}, c.name)
	})
}

// connectionsFor are those whose clients show forms to a user; mortal ones can be killed.
func connectionsFor(u user, mortal bool) []connection {
	stdio := func(sdk int, pin string) func(*workspace, ...string) client {
		return func(w *workspace, env ...string) client {
			return w.drive(driver{SDK: sdk, Pin: pin, Transport: "stdio", Command: program, Args: []string{"serve", "--workspace", w.dir}, Env: w.env(env...), User: u, mortal: mortal})
		}
	}
	http := func(sdk int, pin, transport string) func(*workspace, ...string) client {
		return func(w *workspace, env ...string) client {
			e := w.serveHTTP(transport, env...)
			if transport == "sse" {
				e.url = strings.TrimSuffix(e.url, "/mcp") + "/sse"
			}
			return w.drive(driver{SDK: sdk, Pin: pin, Transport: transport, URL: e.url, Token: e.token, User: u, mortal: mortal})
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
			a := newAgent(t, c.connect(w))
			for _, step := range []struct {
				name string
				run  func(*workspace, agent)
			}{
				{"tools", offersTools}, {"change", changesFiles}, {"command", runsCommands}, {"look", looksAround}, {"refused", isRefused},
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
		check.That(w.t, tool.Title != "" && tool.Description != "" && len(tool.InputSchema) != 0 && len(tool.OutputSchema) != 0,
			"%s is not described whole", tool.Name)
		check.That(w.t, tool.Annotations.ReadOnlyHint != nil && tool.Annotations.DestructiveHint != nil, "%s has no annotations", tool.Name)
	}
	for _, want := range []string{
		"select_active_intent", "get_active_intent", "list_intents", "read_file", "list_files", "search_files",
		"read_command_output", "query_trace", "query_lessons", "write_to_file", "apply_diff", "edit_file",
		"apply_patch", "execute_command", "propose_intent", "request_scope_expansion", "record_lesson", "resume_approval",
	} {
		check.That(w.t, slices.Contains(names, want), "no tool %s among %v", want, names)
	}
	for _, entry := range refusal.Catalogue() {
		check.That(w.t, !strings.Contains(entry.Hint, "_active_intent") || slices.Contains(names, entry.Hint),
			"%s points to %s, which is no tool", entry.Code, entry.Hint)
	}
}

func changesFiles(w *workspace, a agent) {
	session := a.Selects("INT-001")
	read := a.OK("read_file", args{"path": "src/a.txt", "session": session})
	check.That(w.t, read.Str("content") == "one\ntwo\nthree\n" && strings.HasPrefix(read.Str("content_hash"), "sha256:"), "read: %v", read.Object)
	edited := a.OK("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	w.want("src/a.txt", "one\n2\nthree\n")
	a.OK("write_to_file", args{"path": "src/a.txt", "content": "whole\n", "expected_content_hash": edited.Str("content_hash"), "session": session})
	w.want("src/a.txt", "whole\n")
	a.OK("apply_diff", args{"path": "src/a.txt", "session": session, "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\nwhole\n=======\nWHOLE\n>>>>>>> REPLACE"})
	w.want("src/a.txt", "WHOLE\n")
	patched := a.OK("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/b/new.txt\n+hello\n" +
		"*** Update File: src/a.txt\n*** Move to: src/moved.txt\n@@\n-WHOLE\n+whole again\n*** End Patch"})
	files, _ := patched.Object["files"].([]any)
	check.That(w.t, len(files) == 2, "patch: %v", patched.Object)
	w.want("src/b/new.txt", "hello\n")
	w.want("src/moved.txt", "whole again\n")
	for _, call := range []string{"edit_file", "write_to_file", "apply_diff", "apply_patch"} {
		w.wantRecord(`"kind":"mutation"`, `"call":"`+call+`"`, `"intent_id":"INT-001"`)
	}
	w.wantRecord(`"op":"moved"`, patched.Str("record_id"))
}

func runsCommands(w *workspace, a agent) {
	session := a.Selects("INT-001")
	ran := a.OK("execute_command", args{"session": session, "command": "seq 3; exit 3"})
	check.That(w.t, ran.Object["exit_code"] == 3.0 && strings.Contains(ran.Str("output"), "1\n2\n3"), "command: %v", ran.Object)
	output := a.OK("read_command_output", args{"artifact_id": ran.Str("artifact_id"), "session": session})
	check.That(w.t, strings.Contains(output.Str("content"), "2"), "output: %v", output.Object)
	late := a.OK("execute_command", args{"session": session, "command": "sleep 60", "timeout": 1})
	check.Equal(w.t, late.Object["timed_out"], true, "a command outlived its timeout")
	w.wantRecord(`"kind":"command"`, `"exit_code":3`)
}

func looksAround(w *workspace, a agent) {
	session := a.Selects("INT-001")
	check.Equal(w.t, a.OK("get_active_intent", args{"session": session}).Str("intent_id"), "INT-001", "state")
	intents, _ := a.OK("list_intents", args{}).Object["intents"].([]any)
	check.That(w.t, len(intents) == 5, "%d intents", len(intents))
	files := a.OK("list_files", args{"path": ".", "recursive": true})
	check.That(w.t, strings.Contains(files.Text, "moved.txt"), "list_files: %s", files.Text)
	matches := a.OK("search_files", args{"path": "src", "regex": "whole a.ain"})
	list, _ := matches.Object["matches"].([]any)
	check.That(w.t, len(list) == 1, "search_files: %v", matches.Object)
	trace := a.OK("query_trace", args{"path": "src/moved.txt"})
	if list, _ := trace.Object["records"].([]any); len(list) == 0 {
		w.t.Error("query_trace knows nothing of the file")
	}
	a.OK("query_lessons", args{})
}

// isRefused has a refusal of each form, which the clients hold to the tool's schema; each code is provoked in pkg/server.
func isRefused(w *workspace, a agent) {
	a.Refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-999"}).Twice()
	session := a.Selects("INT-001")
	scope := a.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": "docs/other.md", "content": "x", "session": session})
	check.That(w.t, scope.Details()["path"] == "docs/other.md" && scope.Str("action_hint") == "request_scope_expansion", "%v", scope.Object)
	w.write("src/unread.txt", "unseen\n")
	unread := a.Refused("READ_REQUIRED", "write_to_file", args{"path": "src/unread.txt", "content": "x", "session": session})
	check.Equal(w.t, unread.Details()["content"], "unseen\n", "it does not hand over what is missing")
	block := "<<<<<<< SEARCH\nnothing like it\n=======\nx\n>>>>>>> REPLACE"
	diff := a.Refused("DIFF_NOT_APPLIED", "apply_diff", args{"path": "src/unread.txt", "diff": block, "session": session})
	check.That(w.t, diff.Details()["failed_blocks"] != nil, "no failed blocks: %v", diff.Object)
	a.Refused("INVALID_ARGUMENTS", "write_to_file", args{"path": 7, "content": "x", "session": session})
	a.Refused("PATH_OUTSIDE_WORKSPACE", "read_file", args{"path": "../x", "session": session})
}

func asksOperator(w *workspace, a agent) {
	proposal := args{"name": "New", "owned_scope": []string{"new/**"}, "description": "why"}
	proposed := a.Refused("APPROVAL_REQUIRED", "propose_intent", proposal)
	check.That(w.t, strings.Contains(proposed.Str("suggestion"), "orchestra-mcp approvals"), "%v", proposed.Object)
	a.Refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": proposed.Details()["approval_id"]})
	a.Refused("APPROVAL_REQUIRED", "request_scope_expansion", args{"paths": []string{"lib/**"}, "reason": "why", "intent_id": "INT-001"})
}

func offersPrompts(w *workspace, a agent) {
	var list struct{ Prompts []struct{ Name string } }
	a.get("listPrompts", nil, &list)
	check.Must(w.t, len(list.Prompts) == 1 && list.Prompts[0].Name == "intent_driven_protocol", "prompts: %+v", list)
	var prompt struct {
		Messages []struct{ Content struct{ Text string } }
	}
	a.get("getPrompt", args{"name": "intent_driven_protocol", "arguments": args{"intent_id": "INT-002"}}, &prompt)
	check.That(w.t, len(prompt.Messages) != 0 && strings.Contains(prompt.Messages[0].Content.Text, "INT-002"), "prompt: %+v", prompt)
}

func offersResources(w *workspace, a agent) {
	var list struct{ Resources []struct{ URI string } }
	a.get("listResources", nil, &list)
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	a.get("listResourceTemplates", nil, &templates)
	check.That(w.t, len(list.Resources) == 3 && len(templates.ResourceTemplates) == 1, "resources: %+v %+v", list, templates)
	for uri, part := range map[string]string{
		"orchestra://intents": "INT-004", "orchestra://intent/INT-001": "Build Weather API",
		"orchestra://ledger/recent": `"kind":"mutation"`, "orchestra://brain": "",
	} {
		var read struct{ Contents []struct{ URI, Text string } }
		a.get("readResource", args{"uri": uri}, &read)
		check.That(w.t, len(read.Contents) == 1 && strings.Contains(read.Contents[0].Text, part), "%s: %+v", uri, read)
	}
	_, err := a.request("readResource", args{"uri": "orchestra://intent/INT-999"})
	check.That(w.t, err != nil, "an intent that does not exist can be read")
}

func completes(w *workspace, a agent) {
	var completed struct {
		Completion struct{ Values []string }
	}
	a.get("complete", args{
		"ref":      args{"type": "ref/prompt", "name": "intent_driven_protocol"},
		"argument": args{"name": "intent_id", "value": "INT-00"},
	}, &completed)
	check.That(w.t, slices.Contains(completed.Completion.Values, "INT-001") && !slices.Contains(completed.Completion.Values, "INT-003"),
		"completion: %v", completed.Completion.Values)
}

// What never becomes a call is an error of the protocol, not a result.
func knowsItsTools(w *workspace, a agent) {
	raw, err := a.request("callTool", args{"name": "no_such_tool", "arguments": args{}})
	check.That(w.t, err != nil, "an unknown tool was called: %s", raw)
}

// What was learned when connecting.
func TestGreeting(t *testing.T) {
	w := newWorkspace(t)
	c := w.drive(driver{SDK: 2, Transport: "stdio", Command: program, Args: []string{"serve", "--workspace", w.dir}, Env: w.env()})
	g := c.greeting
	check.That(t, g.ProtocolVersion == "2025-11-25" && g.Server.Name == "orchestra-mcp" && g.Server.Version != "", "%+v", g)
	check.That(t, strings.Contains(g.Instructions, "select_active_intent") && strings.Contains(g.Instructions, "INT-001"),
		"instructions: %s", g.Instructions)
}

// An application sees a command's output while it runs, and ends it by giving up the call.
func TestProgressAndAbort(t *testing.T) {
	for _, c := range connections() {
		if !strings.HasPrefix(c.name, "typescript") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			a := newAgent(t, c.connect(w, "ORCHESTRA_COMMANDS_STAGE=never"))
			session := a.Selects("INT-001")
			var ran struct {
				answer
				Progress []struct{ Message string }
			}
			a.get("callTool", args{"name": "execute_command", "arguments": args{"command": "echo first; sleep 0.3; echo second", "session": session}}, &ran)
			check.That(t, len(ran.Progress) != 0 && strings.Contains(ran.Progress[0].Message, "first"), "no progress: %+v", ran)
			wait, abort := a.client.(*typescript).beginAbortable(args{"name": "execute_command", "arguments": args{
				"command": "trap 'echo ended > src/ended' EXIT; trap 'exit 1' TERM; echo x > src/begun; sleep 600 & wait", "session": session, "timeout": 600}})
			w.appears("src/begun")
			check.OK(t, abort())
			raw, err := wait()
			check.That(t, err != nil, "the call was not aborted: %s", raw)
			eventually(t, "the command of the aborted call ends and is recorded", func() bool {
				return len(w.records(`"kind":"command"`, "src/begun")) == 1
			})
			a.OK("list_intents", args{})
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
