package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// wire is a client that writes its own bytes: it pipelines calls in a known
// order and sends what no library would.
type wire struct {
	t     *testing.T
	out   io.WriteCloser
	lines chan string
}

// wired connects one in the initialize era.
func (b *bench) wired() *wire {
	b.t.Helper()
	b.t.Cleanup(b.close)
	toServer, out := io.Pipe()
	in, fromServer := io.Pipe()
	w := &wire{t: b.t, out: out, lines: make(chan string, 100)}
	done := make(chan error, 1)
	go func() { done <- b.server.ServeStdio(context.Background(), toServer, fromServer) }()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- line
		}
	}()
	b.t.Cleanup(func() {
		out.Close()
		if err := <-done; err != nil {
			b.t.Errorf("serving ended with %v", err)
		}
	})
	w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}` + "\n")
	w.answers(1)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	return w
}

func (w *wire) send(bytes string) {
	w.t.Helper()
	if _, err := io.WriteString(w.out, bytes); err != nil {
		w.t.Fatal(err)
	}
}

// callLine is a tools/call with its arguments as they are.
func callLine(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

// answer is a response: a tool's object, or the code of an error.
type answer struct {
	Error  int
	Object map[string]any
	Text   string
}

// answers waits for n responses and gives them by id.
func (w *wire) answers(n int) map[int]answer {
	w.t.Helper()
	got := map[int]answer{}
	for len(got) < n {
		select {
		case line := <-w.lines:
			var message struct {
				ID     *int   `json:"id"`
				Method string `json:"method"`
				Error  *struct {
					Code    int    `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
				Result struct {
					Structured map[string]any `json:"structuredContent"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(line), &message); err != nil {
				w.t.Fatalf("no JSON: %s", line)
			}
			if message.Method != "" {
				continue
			}
			id := -1
			if message.ID != nil {
				id = *message.ID
			}
			a := answer{Object: message.Result.Structured, Text: line}
			if message.Error != nil {
				a.Error = message.Error.Code
			}
			got[id] = a
		case <-time.After(answerTime):
			w.t.Fatalf("%d answers of %d: %v", len(got), n, got)
		}
	}
	return got
}

// Arguments that a tool cannot read are refused before anything is looked at;
// what its schema cannot say is refused too. pkg/tools has the whole table.
func TestArgumentsAreStrict(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	w := b.wired()
	w.send(callLine(1, "select_active_intent", `{"intent_id":"INT-001"}`))
	handle := w.answers(1)[1].Object["session"].(string)
	for name, c := range map[string]struct{ tool, arguments, code string }{
		"unknown":          {"write_to_file", `{"path":"src/x","content":"x","mode":"0777"}`, "INVALID_ARGUMENTS"},
		"session twice":    {"write_to_file", `{"path":"src/x","content":"x","session":"` + handle + `","session":"` + handle + `"}`, "INVALID_ARGUMENTS"},
		"no path":          {"write_to_file", `{"content":"x"}`, "INVALID_ARGUMENTS"},
		"two paths":        {"write_to_file", `{"path":"src/x","file_path":"docs/x","content":"x"}`, "INVALID_ARGUMENTS"},
		"NUL in a path":    {"write_to_file", `{"path":"src/\u0000x","content":"x"}`, "PATH_OUTSIDE_WORKSPACE"},
		"a line break":     {"write_to_file", `{"path":"src/a\nb","content":"x"}`, "PATH_OUTSIDE_WORKSPACE"},
		"huge timeout":     {"execute_command", `{"command":"true","timeout":9223372036854775807}`, "INVALID_ARGUMENTS"},
		"long in bytes":    {"execute_command", `{"command":"# ` + strings.Repeat("é", 66_000) + `"}`, "INVALID_ARGUMENTS"},
		"NUL in a command": {"execute_command", `{"command":"echo \u0000"}`, "INVALID_ARGUMENTS"},
		"deep":             {"write_to_file", `{"path":"src/x","content":"x","deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "INVALID_ARGUMENTS"},
	} {
		w.send(callLine(7, c.tool, c.arguments))
		for _, a := range w.answers(1) {
			// Some never become a call.
			if a.Object["error_type"] != c.code && a.Error == 0 {
				t.Errorf("%s: want %s, got %.300s", name, c.code, a.Text)
			}
		}
	}
	b.holds(map[string]string{"src/x": "", "docs/x": ""})

	// Numbers at the edge of what can be held are numbers.
	w.send(callLine(8, "read_file", `{"path":"src/a.txt","limit":9223372036854775807}`) +
		callLine(9, "read_file", `{"path":"src/a.txt","offset":9223372036854775807}`) +
		callLine(10, "read_command_output", `{"artifact_id":"x","offset":9223372036854775807,"limit":9223372036854775807}`) +
		callLine(11, "edit_file", `{"path":"src/a.txt","old_string":"one","new_string":"1","expected_replacements":9223372036854775807}`))
	got := w.answers(4)
	for id, want := range map[int]any{8: nil, 9: "INVALID_ARGUMENTS", 10: "FILE_NOT_FOUND", 11: "DIFF_NOT_APPLIED"} {
		if got[id].Object["error_type"] != want || got[id].Error != 0 {
			t.Errorf("%d: %.300s", id, got[id].Text)
		}
	}
}

// What never becomes a call is a JSON-RPC error, and changes nothing.
func TestNoCallNoRefusal(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	w := b.wired()
	for name, line := range map[string]string{
		"not JSON":      "{\"jsonrpc\":\n",
		"not UTF-8":     callLine(7, "write_to_file", "{\"path\":\"src/\xff\",\"content\":\"x\"}"),
		"unknown tool":  callLine(7, "delete_everything", `{}`),
		"not a request": "[1,2]\n",
	} {
		w.send(line)
		for id, a := range w.answers(1) {
			if a.Error == 0 {
				t.Errorf("%s: %d is no error: %s", name, id, a.Text)
			}
		}
	}
}

// Roo's names are there where the settings ask for them, and are the same tool.
func TestAliases(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "x\n"})
	for _, spec := range b.server.Specs() {
		if spec.Name == "edit" || spec.Name == "search_replace" {
			t.Errorf("%s is there without having been asked for", spec.Name)
		}
	}
	b.ok("edit_file", args{"file_path": "a", "old_string": "x", "new_string": "y"})
	b.ok("write_to_file", args{"file_path": "a", "path": "a", "content": "y"})
}

// The way of an agent that does everything right, in both eras.
func TestHappyPath(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) { happyPath(t, era) })
	}
}

func happyPath(t *testing.T, era string) {
	dir := newWorkspace(t)
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
	b := start(t, dir, func(o *server.Options) { o.Settings.Durability = settings.Full }).connectAs(era)
	b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/new.txt", "content": "x\n"})

	session := b.selects("INT-001")
	read := b.ok("read_file", args{"path": "src/a.txt", "session": session})
	if read.str("content") != "one\ntwo\nthree\n" || !strings.Contains(read.Text, "2 | two") {
		t.Errorf("read: %v\n%s", read.Object, read.Text)
	}
	edited := b.ok("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	check.Equal(t, b.read("src/a.txt"), "one\n2\nthree\n", "file is")
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "whole\n", "session": session, "expected_content_hash": edited.str("content_hash")})
	b.ok("apply_diff", args{"path": "src/a.txt", "session": session, "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\nwhole\n=======\nWHOLE\n>>>>>>> REPLACE"})
	b.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/b/new.txt\n+hello\n*** Update File: src/a.txt\n*** Move to: src/moved.txt\n@@\n-WHOLE\n+whole again\n*** End Patch"})
	if b.read("src/moved.txt") != "whole again\n" || b.read("src/b/new.txt") != "hello\n" {
		t.Error("the patch did not do what it says")
	}
	b.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Delete File: src/b/new.txt\n*** End Patch"})
	ran := b.ok("execute_command", args{"session": session, "command": "echo out; exit 3"})
	if ran.Object["exit_code"] != 3.0 || !strings.Contains(ran.str("output"), "out") {
		t.Errorf("command: %v", ran.Object)
	}
	b.ok("read_command_output", args{"artifact_id": ran.str("artifact_id")})
	b.wantRecord(`"kind":"mutation"`, `"call":"apply_patch"`, `"op":"moved"`)
	b.wantRecord(`"kind":"mutation"`, `"revision":"`+strings.TrimSpace(check.Git(t, dir, "rev-parse", "HEAD"))+`"`)
	b.wantRecord(`"kind":"command"`, `"exit_code":3`)
	b.wantRecord(`"kind":"decision"`, "MISSING_OR_INVALID_INTENT")
	b.wantRecord(`"kind":"selection"`, "INT-001")
	trace := b.ok("query_trace", args{"path": "src/moved.txt"})
	if records := trace.Object["records"].([]any); len(records) == 0 {
		t.Error("query_trace knows nothing of the file")
	}
	b.eventually("the intent map tells of the change", func() bool {
		return b.exists(".orchestration/intent_map.md") && strings.Contains(b.read(".orchestration/intent_map.md"), "`src/moved.txt`")
	})
	if m := b.read(".orchestration/intent_map.md"); !strings.Contains(m, "## INT-001: Build Weather API") || !strings.Contains(m, "`src/moved.txt`") {
		t.Errorf("intent map:\n%s", m)
	}
}
