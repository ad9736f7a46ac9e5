package e2e_test

import (
	"fmt"
	"io"
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
	check.That(t, strings.Contains(p.log.String(), "ORCHESTRA_NO_SUCH_THING"), "standard error lacks the warning: %s", p.log)
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
	check.Value(io.WriteString(p.in, strings.Join(lines, "\n")))(t)
	p.in.Close()
	for i := range 1 + writes {
		r := p.await(1 + i).result(t)
		check.Must(t, !r.IsError, "call %d: %s", i, r.text())
	}
	p.exits()
	check.Equal(t, len(w.records(`"kind":"mutation"`)), writes)
}
