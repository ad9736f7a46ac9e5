package upstreams_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

const files = `servers:
  - name: files
    command: node
    args: ["{modules}/@modelcontextprotocol/server-filesystem/dist/index.js", "${workspace}"]
    mapping: filesystem
    safe: ["read_*", "list_*", "directory_tree", "search_files", "get_file_info"]
    workspace: `

func TestFilesystem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files+"read\n")
	c := w.connects()
	listed := c.names("files_")
	check.That(t, slices.Contains(listed, "files_read_text_file") && slices.Contains(listed, "files_write_file"), "listed: %q", listed)
	for _, tool := range c.tools("files_") {
		safe := tool.Name != "files_write_file" && tool.Name != "files_edit_file" && tool.Name != "files_create_directory" && tool.Name != "files_move_file"
		check.That(t, *tool.Annotations.ReadOnlyHint == safe && *tool.Annotations.DestructiveHint == !safe, "%s has the annotations %+v", tool.Name, tool.Annotations)
	}

	inside := filepath.Join(w.dir, "src", "a.txt")
	read := c.ok("files_read_text_file", args{"path": inside})
	check.That(t, strings.Contains(read.Text, "one\ntwo\nthree"), "read: %s", read.Text)
	check.That(t, len(w.records()) == 0, "a safe call is recorded: %q", w.records())
	c.refused("INTENTIGNORE_PATH_BLOCKED", "files_read_text_file", args{"path": filepath.Join(w.dir, ".env")})
	c.refused("INTENTIGNORE_PATH_BLOCKED", "files_read_multiple_files", args{"paths": []string{inside, filepath.Join(w.dir, ".env")}})
	c.refused("PATH_OUTSIDE_WORKSPACE", "files_read_text_file", args{"path": "/etc/passwd"})

	write := args{"path": inside, "content": "new\n"}
	c.refused("MISSING_OR_INVALID_INTENT", "files_write_file", write)
	session := c.agent().Selects("INT-001")
	write["session"] = session
	c.refused("SCOPE_VIOLATION", "files_write_file", args{"path": filepath.Join(w.dir, "docs/other.md"), "content": "x", "session": session})
	c.refused("PROTECTED_PATH", "files_write_file", args{"path": filepath.Join(w.dir, ".orchestration/active_intents.yaml"), "content": "x", "session": session})
	c.refused("SCOPE_VIOLATION", "files_move_file", args{"source": inside, "destination": filepath.Join(w.dir, "docs/a.txt"), "session": session})
	// The server sees the workspace read-only: that the arguments were in scope opens nothing.
	answer, _ := c.call("files_write_file", write)
	check.That(t, answer.Error && (strings.Contains(answer.Text, "EROFS") || strings.Contains(answer.Text, "EACCES")), "a server that may only read has written: %s", answer.Text)
	check.That(t, string(check.Value(os.ReadFile(inside))(t)) == "one\ntwo\nthree\n", "the file was changed")
	check.That(t, len(w.records(`"kind":"mutation"`, `"server":"files"`, `"tool":"write_file"`)) == 1, "the call that failed is not on record: %q", w.records())
}

func TestFilesystemWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files+"write\n")
	c := w.connects()
	session := c.agent().Selects("INT-001")
	inside := filepath.Join(w.dir, "src", "a.txt")
	c.ok("files_edit_file", args{"path": inside, "edits": []args{{"oldText": "two", "newText": "2"}}, "session": session})
	check.That(t, string(check.Value(os.ReadFile(inside))(t)) == "one\n2\nthree\n", "the file was not changed")
	recorded := w.records(`"server":"files"`, `"tool":"edit_file"`, `"path":"src/a.txt"`, `"op":"modified"`)
	check.Must(t, len(recorded) == 1, "records: %q", w.records())
	check.That(t, !strings.Contains(recorded[0], "oldText"), "the record has the arguments: %s", recorded[0])
	check.That(t, strings.Contains(w.runs(0, "why", "src/a.txt:2"), "INT-001"), "nobody knows why the line is there")
	var record struct {
		ID string `json:"id"`
	}
	check.OK(t, json.Unmarshal([]byte(recorded[0]), &record))
	w.runs(0, "undo", "--yes", record.ID)
	check.That(t, string(check.Value(os.ReadFile(inside))(t)) == "one\ntwo\nthree\n", "the change was not taken back")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `servers:
  - name: memory
    command: node
    args: ["{modules}/@modelcontextprotocol/server-memory/dist/index.js"]
    env: ["MEMORY_FILE_PATH=/tmp/memory.jsonl"]
    mapping: memory
    safe: [read_graph, search_nodes, open_nodes]
    contents: true
`)
	c := w.connects()
	entity := args{"entities": []args{{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}}}}
	c.refused("MISSING_OR_INVALID_INTENT", "memory_create_entities", entity)
	entity["session"] = c.agent().Selects("INT-001")
	c.ok("memory_create_entities", entity)
	check.That(t, strings.Contains(c.ok("memory_read_graph", args{}).Text, "writes programs"), "the graph does not have it")
	recorded := w.records(`"server":"memory"`, `"tool":"create_entities"`, `"arguments":"sha256:`, `"result":"sha256:`)
	check.That(t, len(recorded) == 1, "records: %q", w.records())
	check.That(t, len(w.records("writes programs")) == 0, "contents are in the ledger: %q", w.records())
	resource := c.must("resources/read", args{"uri": "memory+memory://knowledge-graph"})
	check.That(t, strings.Contains(string(resource), "writes programs"), "the resource: %s", resource)
}

func TestSequentialThinking(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `servers:
  - name: thinking
    prefix: ""
    command: node
    args: ["{modules}/@modelcontextprotocol/server-sequential-thinking/dist/index.js"]
    mapping: sequential-thinking
    safe: [sequentialthinking]
`)
	c := w.connects()
	a := c.ok("sequentialthinking", args{"thought": "First.", "thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": true})
	check.That(t, a.Object["thoughtNumber"] == 1.0, "the answer: %v", a.Object)
}

func TestEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `servers:
  - name: all
    command: node
    args: ["{modules}/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
    mapping: everything
    safe: ["*"]
`)
	check.Write(t, w.home, "config/orchestra-mcp/servers/all.secrets", "ALL_TOKEN=for-this-server\n")
	check.OK(t, os.Chmod(filepath.Join(w.home, "config/orchestra-mcp/servers/all.secrets"), 0o600))
	c := w.connectsFor(func(json.RawMessage) any {
		return args{"action": "accept", "content": args{"name": "Ada", "check": true, "email": "ada@example.org"}}
	}, "GITHUB_TOKEN=nobodys-business")
	check.That(t, strings.Contains(c.ok("all_echo", args{"message": "hello"}).Text, "hello"), "no echo")
	env := c.ok("all_get-env", args{}).Text
	check.That(t, strings.Contains(env, "for-this-server") && !strings.Contains(env, "nobodys-business"), "its environment: %s", env)

	// Everything that the server answers with comes through as it is.
	_, image := c.call("all_get-tiny-image", args{})
	check.That(t, strings.Contains(string(image), `"image/png"`), "the image: %.300s", image)
	_, annotated := c.call("all_get-annotated-message", args{"messageType": "error"})
	check.That(t, strings.Contains(string(annotated), `"priority":1`) || strings.Contains(string(annotated), `"priority": 1`), "annotations: %s", annotated)
	_, links := c.call("all_get-resource-links", args{"count": 2})
	check.That(t, strings.Contains(string(links), `"resource_link"`), "links: %s", links)
	structured := c.ok("all_get-structured-content", args{"location": "Chicago"})
	check.That(t, structured.Object["temperature"] != nil, "structured: %v", structured.Object)
	m := c.request("tools/call", args{"name": "all_get-sum", "arguments": args{"a": "no number", "b": 2}})
	check.That(t, m.Error != nil || strings.Contains(string(m.Result), `"isError":true`), "a bad argument: %s", m.Result)

	// Progress, prompts, completion, resources.
	_, long := c.begin("tools/call", args{"name": "all_trigger-long-running-operation", "arguments": args{"duration": 1, "steps": 2}, "_meta": args{"progressToken": "p"}})
	c.note(func(m message) bool {
		return m.Method == "notifications/progress" && strings.Contains(string(m.Params), `"p"`)
	})
	check.That(t, strings.Contains(string(c.await("a long call", long).Result), "completed"), "it did not complete")
	check.That(t, strings.Contains(string(c.must("prompts/list", args{})), `"all_args-prompt"`), "the prompts")
	got := c.must("prompts/get", args{"name": "all_args-prompt", "arguments": args{"city": "Berlin"}})
	check.That(t, strings.Contains(string(got), "Berlin"), "the prompt: %s", got)
	completed := c.must("completion/complete", args{"ref": args{"type": "ref/prompt", "name": "all_completable-prompt"}, "argument": args{"name": "department", "value": "E"}})
	check.That(t, strings.Contains(string(completed), "Engineering"), "completion: %s", completed)
	check.That(t, strings.Contains(string(c.must("resources/list", args{})), `"all+demo://resource/static/document/features.md"`), "the resources")
	check.That(t, strings.Contains(string(c.must("resources/templates/list", args{})), `"all+demo://resource/dynamic/text/{resourceId}"`), "the templates")
	read := c.must("resources/read", args{"uri": "all+demo://resource/dynamic/text/1"})
	check.That(t, strings.Contains(string(read), `"text/plain"`), "a resource of a template: %s", read)

	// A question of the server's reaches the client's user, and only through the call that it belongs to.
	answered := c.ok("all_trigger-elicitation-request", args{})
	check.That(t, strings.Contains(answered.Text, "Ada"), "the answer of the user: %s", answered.Text)

	// A cancelled call leaves nothing behind.
	id, _ := c.begin("tools/call", args{"name": "all_trigger-long-running-operation", "arguments": args{"duration": 100, "steps": 100}})
	c.send(args{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": args{"requestId": json.RawMessage(id)}})
	c.mu.Lock()
	c.answer[id] = make(chan message, 1) // it may be answered all the same
	c.mu.Unlock()
	check.That(t, strings.Contains(c.ok("all_echo", args{"message": "after"}).Text, "after"), "no echo after a cancelled call")
}

func TestPlaywright(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>A page</title><h1>Governed</h1><a href="file:///etc/passwd">away</a>`))
	}))
	t.Cleanup(page.Close)
	w := newWorld(t, `rules:
  - {name: only-here, when: 'upstream.urls.exists(u, !u.startsWith("http://127.0.0.1") && !u.startsWith("file:"))', action: refuse, message: "Only pages of this machine."}
servers:
  - name: browser
    command: node
    args: ["{modules}/@playwright/mcp/cli.js", "--headless", "--no-sandbox", "--isolated", "--executable-path", "/usr/bin/chromium"]
    mapping: playwright
    safe: [browser_snapshot, browser_console_messages]
    tools: ["browser_*", "!browser_run_code_unsafe"]
`)
	c := w.connects()
	check.That(t, !slices.Contains(c.names("browser_"), "browser_browser_run_code_unsafe"), "a tool that was left out is listed")
	session := c.agent().Selects("INT-005")
	opened := c.ok("browser_browser_navigate", args{"url": page.URL, "session": session})
	check.That(t, strings.Contains(opened.Text, "A page"), "the page: %s", opened.Text)
	check.That(t, strings.Contains(c.ok("browser_browser_snapshot", args{}).Text, "Governed"), "the snapshot lacks the page")
	c.refused("INTENTIGNORE_PATH_BLOCKED", "browser_browser_navigate", args{"url": "file://" + filepath.Join(w.dir, ".env"), "session": session})
	c.refused("RULE_VIOLATION", "browser_browser_navigate", args{"url": "https://example.org/?q=x", "session": session})
	check.That(t, len(w.records(`"server":"browser"`, `"tool":"browser_navigate"`)) >= 1, "records: %q", w.records())
}
