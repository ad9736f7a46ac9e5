package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
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
	b.Refused("MISSING_OR_INVALID_INTENT", "touch", args{"file": "src/a.txt", "text": "x\n"})
	s := b.Selects("INT-001")
	b.Refused("SCOPE_VIOLATION", "touch", args{"session": s, "file": "docs/other.md", "text": "x\n"})
	b.Refused("PROTECTED_PATH", "touch", args{"session": s, "file": ".git/config", "text": "x\n"})
	b.Refused("INVALID_ARGUMENTS", "touch", args{"session": s, "file": "src/a.txt", "texts": "x\n"})
	b.Refused("INVALID_ARGUMENTS", "touch", args{"session": s, "file": "src/a.txt", "fail": true})
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
	s := b.Selects("INT-001")
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

// A yes to a wider scope or a new intent has its effect although the session, and the server, of the agent that asked are
// gone. It is made once, recorded with the approval, and leaves no answer that could be used again.
func TestYesOutlivesTheSessionThatAsked(t *testing.T) {
	t.Parallel()
	for tool, c := range map[string]struct {
		arguments args
		stands    string
	}{
		"request_scope_expansion": {args{"paths": []string{"lib/**"}, "reason": "needed"}, `["src/**", "go.mod", "lib/**"]`},
		"propose_intent":          {args{"name": "New work", "owned_scope": []string{"new/**"}, "description": "Because."}, "id: INT-006"},
	} {
		t.Run(tool, func(t *testing.T) {
			dir, way := newWorkspace(t), briefly(t)
			b := start(t, dir, way).connect()
			c.arguments["session"] = b.Selects("INT-001")
			r := b.asks(b.operator(way), tool, c.arguments)
			b.close()

			later := start(t, dir, way).connect()
			inbox := later.operator(way)
			answers(t, inbox, r, approval.Once, "")
			for range 2 { // the second finds it done
				check.Value(later.server.CarryOut(t.Context(), r))(t)
			}
			text := later.read(".orchestration/active_intents.yaml")
			check.That(t, strings.Contains(text, c.stands), "the yes had no effect:\n%s", text)
			later.wantRecord(`"kind":"lifecycle"`, `"call":"`+tool+`"`, r.ID)
			standing, err := inbox.Standing(r.Digest)
			check.That(t, err == nil && standing.Approved == nil, "the answer can still be used: %+v %v", standing, err)
		})
	}
}

// What was not approved is not carried out: an unanswered or denied request, and one whose file is another by now.
func TestCarriesOutNothingElse(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	b := start(t, newWorkspace(t), way).connect()
	inbox := b.operator(way)
	want := func(r approval.Request) {
		t.Helper()
		before := b.read(".orchestration/active_intents.yaml")
		text, err := b.server.CarryOut(t.Context(), r)
		check.That(t, err != nil, "carried out: %s", text)
		check.Equal(t, b.read(".orchestration/active_intents.yaml"), before, "the intents were changed")
	}
	wider := func(path string) approval.Request {
		return b.asks(inbox, "request_scope_expansion", args{"intent_id": "INT-001", "paths": []string{path}, "reason": "r"})
	}
	pending, denied, stale := wider("a/**"), wider("b/**"), wider("c/**")
	want(pending)
	answers(t, inbox, denied, approval.Deny, "no")
	want(denied)
	answers(t, inbox, stale, approval.Once, "")
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML+"# by hand\n")
	want(stale)
}

// A call that still waits is not in the way of the operator's command, nor that in its: both end with the change made once.
func TestCarryOutBesideTheCallThatWaits(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"the command comes first", "the command comes first, and its answer is swept", "the call comes first"} {
		t.Run(way, func(t *testing.T) {
			user := briefly(t)
			b := start(t, newWorkspace(t), user, func(o *server.Options) { o.Settings.Approvals.Wait = time.Minute }).connect()
			inbox := b.operator(user)
			done := make(chan reply, 1)
			go func() {
				done <- b.Call("request_scope_expansion", args{"intent_id": "INT-001", "paths": []string{"lib/**"}, "reason": "r"})
			}()
			var r approval.Request
			b.eventually("the request", func() bool {
				pending, err := inbox.Pending()
				if err != nil || len(pending) == 0 {
					return false
				}
				r = pending[0]
				return true
			})
			answers(t, inbox, r, approval.Once, "")
			var waited reply
			if way == "the call comes first" {
				waited = <-done
			}
			if _, err := b.server.CarryOut(t.Context(), r); err != nil {
				t.Error(err)
			}
			if way == "the command comes first, and its answer is swept" {
				if _, err := inbox.Pending(); err != nil {
					t.Error(err)
				}
			}
			if way != "the call comes first" {
				waited = <-done
			}
			check.That(t, !waited.Error, "the call that waited: %v", waited.Object)
			check.Equal(t, strings.Count(b.read(".orchestration/active_intents.yaml"), "lib/**"), 1, "the scope has it")
		})
	}
}

// A call that waits has used the answer and is at the edit: the operator's command waits for it.
func TestCarryOutBehindTheCallThatIsAtIt(t *testing.T) {
	t.Parallel()
	user := briefly(t)
	b := start(t, newWorkspace(t), user).connect()
	inbox := b.operator(user)
	r := b.asks(inbox, "request_scope_expansion", args{"intent_id": "INT-001", "paths": []string{"lib/**"}, "reason": "r"})
	answers(t, inbox, r, approval.Once, "")
	a := check.Value(inbox.AnswerOf(r.ID))(t)
	if used, err := inbox.Use(a); err != nil || !used {
		t.Fatal(used, err)
	}
	tries := func() int { return strings.Count(strings.Join(b.ledgerLines(), "\n"), "APPROVAL_REQUIRED") }
	asked := tries()
	done := make(chan error, 1)
	go func() {
		_, err := b.server.CarryOut(context.Background(), r)
		done <- err
	}()
	b.eventually("the first try", func() bool { return tries() > asked })
	intents := b.read(".orchestration/active_intents.yaml")
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intents, `["src/**"`, `["lib/**", "src/**"`, 1))
	check.NoError(t, <-done)
}

// Requests of one kind are told apart by their subjects.
func TestSubjectsTellRequestsApart(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-001\n")
	check.Write(t, dir, "src/a.txt", "one\ntwo\n")
	b, s := start(t, dir, way).under("INT-001")
	b.OK("read_file", args{"session": s, "path": "src/a.txt"})
	seen := map[string]string{}
	for i, call := range []struct {
		tool string
		args args
	}{
		{"request_scope_expansion", args{"paths": []string{"lib/**"}, "reason": "needed"}},
		{"request_scope_expansion", args{"paths": []string{"lib/**", "web/**"}, "reason": "needed"}},
		{"propose_intent", args{"name": "One", "owned_scope": []string{"one/**"}, "description": "d"}},
		{"propose_intent", args{"name": "Two", "owned_scope": []string{"one/**"}, "description": "d"}},
		{"write_to_file", args{"path": "src/a.txt", "content": "one\n"}},
		{"write_to_file", args{"path": "src/a.txt", "content": "one\ntwo\nthree\n"}},
		{"write_to_file", args{"path": "src/new.txt", "content": "one\n"}},
		{"execute_command", args{"command": "true"}},
		{"execute_command", args{"command": "true", "cwd": "src"}},
	} {
		call.args["session"] = s
		r := b.asks(b.operator(way), call.tool, call.args)
		subject := r.Subject()
		other, taken := seen[subject]
		check.That(t, !taken && !strings.Contains(subject, "active_intents"), "%d %s: %q is the subject of %q as well", i, call.tool, subject, other)
		seen[subject] = call.tool
		check.Equal(t, ask.ForNobody(r), (call.tool == "request_scope_expansion" || call.tool == "propose_intent"), "%s", call.tool)
	}
}
