package e2e_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command line of the MCP inspector, on stdio and over HTTP.
func TestInspector(t *testing.T) {
	node(t, inspectorNode)
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)
		inspect(w, program, "serve", "--workspace", w.dir)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)
		e := w.serveHTTP("http")
		inspect(w, e.url, "--transport", "http", "--header", "Authorization: Bearer "+e.token)
		if out, code := w.inspector(e.url, "--transport", "http", "--stored-auth-only", "--method", "tools/list"); code == 0 {
			t.Errorf("the tools are listed without a token: %s", out)
		}
	})
}

func inspect(w *workspace, target ...string) {
	w.t.Helper()
	ask := func(want int, result any, request ...string) {
		w.t.Helper()
		out, code := w.inspector(append(target, request...)...)
		if code != want {
			w.t.Fatalf("%v: exit code %d, want %d:\n%s", request, code, want, out)
		}
		if err := json.Unmarshal([]byte(out), result); err != nil {
			w.t.Fatalf("%v: %v\n%s", request, err, out)
		}
	}
	var list struct{ Tools []struct{ Name string } }
	// Strict: schemas that some client cannot read are errors.
	ask(0, &list, "--method", "tools/list", "--strict")
	if len(list.Tools) < 17 {
		w.t.Errorf("%d tools", len(list.Tools))
	}
	var selected, read, refused struct {
		IsError           bool
		StructuredContent map[string]any
	}
	ask(0, &selected, "--method", "tools/call", "--tool-name", "select_active_intent", "--tool-arg", "intent_id=INT-001")
	session, _ := selected.StructuredContent["session"].(string)
	if !strings.HasPrefix(session, "ses_") {
		w.t.Fatalf("select: %+v", selected)
	}
	ask(0, &read, "--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=src/a.txt")
	if read.StructuredContent["content"] != "one\ntwo\nthree\n" {
		w.t.Errorf("read: %+v", read)
	}
	// Each run is a process, and on stdio a server, of its own: the handle holds.
	ask(0, &read, "--method", "tools/call", "--tool-name", "write_to_file",
		"--tool-args-json", `{"path": "src/inspected.txt", "content": "x\n", "session": "`+session+`"}`)
	w.want("src/inspected.txt", "x\n")
	const toolIsError = 5
	ask(toolIsError, &refused, "--method", "tools/call", "--tool-name", "write_to_file",
		"--tool-args-json", `{"path": "docs/x.md", "content": "x", "session": "`+session+`"}`)
	if refused.StructuredContent["error_type"] != "SCOPE_VIOLATION" {
		w.t.Errorf("refusal: %+v", refused)
	}
}

// inspector runs the inspector once.
func (w *workspace) inspector(arguments ...string) (stdout string, code int) {
	w.t.Helper()
	launcher := filepath.Join(clients, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	cmd := exec.Command(node(w.t, inspectorNode), append([]string{launcher, "--cli"}, arguments...)...)
	cmd.Env = w.env("MCP_STORAGE_DIR="+w.home, "NO_COLOR=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	if text := strings.TrimSpace(stderr.String()); text != "" {
		w.t.Logf("inspector: %s", text)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
