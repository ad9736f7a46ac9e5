package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// Whatever happens, standard output carries messages only: process.next holds
// each line to that.
func TestNothingButProtocol(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized("ORCHESTRA_LOG_LEVEL=debug", "ORCHESTRA_NO_SUCH_THING=1")
	p.send("not JSON", `{"jsonrpc":"2.0","id":1,"method":"no/such/method"}`, callLine(2, "no_such_tool", args{}))
	p.await(2)
	a := p.agent()
	session := a.selects("INT-001")
	a.ok("execute_command", args{"command": "echo to stdout; echo to stderr >&2; printf '\\377\\0'", "session": session})
	a.refused("SCOPE_VIOLATION", "write_to_file", args{"path": "docs/x", "content": "", "session": session})
	p.end()
	if !strings.Contains(p.log.String(), "ORCHESTRA_NO_SUCH_THING") {
		t.Errorf("standard error lacks the warning: %s", p.log)
	}
}

func TestCallBeforeInitialize(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.start("ORCHESTRA_UNINITIALIZED=allow")
	p.send(callLine(1, "write_to_file", args{"path": "src/early.txt", "content": "x"}))
	if m := p.await(1); m.Error == nil {
		t.Errorf("served before initialize: %s", m.Result)
	}
	p.send(initialize)
	if m := p.await("init"); m.Error != nil {
		t.Errorf("initialize: %+v", m.Error)
	}
	if _, err := os.Stat(w.path("src/early.txt")); err == nil {
		t.Error("the call had an effect")
	}
}

// A write right behind the selection sees it, and the end of input, even
// without a final newline, loses neither.
func TestPipelinedCallsBeforeEndOfInput(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.start()
	lines := []string{initialize, callLine(1, "select_active_intent", args{"intent_id": "INT-001"})}
	const writes = 3 // a busy machine may need long for more, and what is not done a second after the end of input is given up
	for i := range writes {
		lines = append(lines, callLine(2+i, "write_to_file", args{"path": fmt.Sprintf("src/p%d.txt", i), "content": "x\n"}))
	}
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	for i := range 1 + writes {
		if r := p.await(1 + i).result(t); r.IsError {
			t.Fatalf("call %d: %s", i, r.text())
		}
	}
	p.exits()
	check.Equal(t, len(w.records(`"kind":"mutation"`)), writes)
}

// What never becomes a call is answered by an error, has no effect, and the
// connection goes on.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	p.agent().selects("INT-001")
	write := callLine("hostile", "write_to_file", args{"path": "src/hostile.txt", "content": "PLACE"})
	for name, line := range map[string]string{
		"not UTF-8":         strings.Replace(write, "PLACE", "\xff\xfe", 1),
		"truncated UTF-8":   strings.Replace(write, "PLACE", "\xe2\x82", 1),
		"nested objects":    strings.Replace(write, `"PLACE"`, strings.Repeat(`{"a":`, 100_000)+"1"+strings.Repeat("}", 100_000), 1),
		"unclosed brackets": strings.Repeat("[", 1_000_000),
		"not JSON":          strings.TrimSuffix(write, "}"),
		"two values":        write + write,
		"duplicate key":     strings.Replace(write, `"id":`, `"id":"other","id":`, 1),
		"other case":        strings.Replace(write, `"method"`, `"Method"`, 1),
		"batch":             "[" + write + "]",
		"NUL":               "\x00" + write,
	} {
		p.send(line)
		if m, _ := p.next(); m.Error == nil {
			t.Errorf("%s: not an error: %s", name, m.Result)
		}
	}
	if _, err := os.Stat(w.path("src/hostile.txt")); err == nil {
		t.Error("a hostile line changed a file")
	}
	p.agent().ok("list_intents", args{})
}

// The server's own requests are answered; garbage after a good request does
// not take its answer away.
func TestPingBetweenGarbage(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t).initialized()
	p.send("", "   ", "garbage", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "\x01\x02")
	if m := p.await(1); string(m.Result) != "{}" {
		t.Errorf("ping: %s %+v", m.Result, m.Error)
	}
}

// Paths that a shell or an editor could produce by accident or design, on the
// real program: none may touch anything outside the intent.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	outside := filepath.Join(t.TempDir(), "victim")
	check.OK(t, os.WriteFile(outside, []byte("untouched\n"), 0o644))
	w.link(filepath.Dir(outside), "src/up")
	w.link("../docs/nowhere", "src/dangling")
	w.link("../docs", "src/docs")
	a := w.initialized().agent()
	session := a.selects("INT-001")
	for _, path := range []string{
		"", ".", "/", "src", "src/", "src/.", "src/..", "../src/x", "src/../docs/x", "src2/x", "SRC/x", outside, "src/up/victim",
		"src/up/new", "src/dangling", "src/docs/x.md", "src/a.txt/x", "src/a.txt/", "src/\x00", "src/" + strings.Repeat("x", 300),
		"src/../.git/hooks/pre-commit", ".git", ".Git/config", "src/../.orchestration/config.yaml", ".INTENTIGNORE", "/proc/self/mem", "/dev/null",
	} {
		r := a.call("write_to_file", args{"path": path, "content": "owned\n", "session": session})
		if !r.IsError {
			t.Errorf("%q was written: %s", path, r.text())
		}
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "untouched\n" {
		t.Errorf("outside: %q %v", content, err)
	}
	if entries, _ := os.ReadDir(w.path("docs")); len(entries) != 1 {
		t.Errorf("docs has %v", entries)
	}
	if got := w.records(`"kind":"mutation"`); len(got) != 0 {
		t.Errorf("records: %s", got)
	}
}

// A line of the ledger is one JSON object, whatever an agent wrote into it.
func TestLedgerLinesStayLines(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	a := w.initialized().agent()
	session := a.selects("INT-001")
	a.ok("execute_command", args{"command": "printf 'a\\n\\u2028{}' # \u2028\"}\\ .\n:", "session": session})
	a.ok("write_to_file", args{"path": "src/{\"}.txt", "content": "\n{}\n", "session": session})
	for _, line := range w.records() {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %q", line)
		}
	}
	if len(w.records(`"kind":"mutation"`)) != 1 || len(w.records(`"kind":"command"`)) != 1 {
		t.Errorf("records: %q", w.records())
	}
}
