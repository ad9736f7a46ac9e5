package corpus_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestAKilledCommandIsJudged: what a command changed out of scope before it
// killed its server is a violation in the record that settles it, and stays as
// it is.
func TestAKilledCommandIsJudged(t *testing.T) {
	w := newWorld(t, sandbox.None, false, false, testProgram(t))
	if got := w.server.call("execute_command", args{"session": w.sessions["SRC"],
		"command": w.fill("echo x | tee src/new docs/other.md; echo y | tee docs/made; git -C . rev-parse HEAD > /dev/null; kill -9 {PID}; sleep 5")}); !got.Gone {
		t.Fatalf("the server answered: %v", got.Fields)
	}
	_ = w.server.end()
	w.put("src/later", "of the user\n")
	w.server = w.serves(w.server.cmd.Path)
	if got := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "true"}); got.IsError {
		t.Fatalf("the next command: %v", got.Fields)
	}
	settled := w.settled()
	var paths []string
	for _, v := range settled.Violations {
		paths = append(paths, v.Path)
		if !strings.Contains(v.Reason, "somebody else") || v.Reverted {
			t.Errorf("%+v", v)
		}
	}
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"docs/made", "docs/other.md"}) {
		t.Errorf("violations %q", paths)
	}
	law, _ := settled.Detail["judged_by"].(map[string]any)
	if scope, _ := law["scope"].([]any); len(scope) != 1 || scope[0] != "src/**" || law["git"] != true {
		t.Errorf("judged by %v", settled.Detail["judged_by"])
	}
	if problems := w.verify(); len(problems) > 0 {
		t.Errorf("verify: %+v", problems)
	}
	check(t, w.server.end())
}

type settledRecord struct {
	Kind       string
	Violations []struct {
		Path, Reason string
		Reverted     bool
	}
	Detail map[string]any
}

// settled is the record of the command that a crash ended.
func (w *world) settled() settledRecord {
	w.t.Helper()
	for line := range strings.Lines(w.ledger()) {
		var r struct{ Metadata map[string]settledRecord }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatal(err)
		}
		if own := r.Metadata["orchestra-mcp"]; own.Kind == "recovered" {
			return own
		}
	}
	w.t.Fatal("nothing was settled")
	return settledRecord{}
}

// testProgram is this test binary where every user can start it.
func testProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(shared(t), "server")
	content, err := os.ReadFile("/proc/self/exe")
	check(t, err)
	check(t, os.WriteFile(program, content, 0o755))
	return program
}
