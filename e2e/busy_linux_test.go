package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// A session that sends many commands, reads and writes at once waits for its
// own: whatever of it waits or runs, other sessions on the same connection
// read, write and list, and its calls take effect in the order sent.
func TestBusySessionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	a := p.agent()
	busy, other := a.selects("INT-001"), a.selects("INT-005")
	const commands, reads = 64, 20
	p.send(callLine("c0", "execute_command", args{"session": busy, "command": "until [ -e src/go ]; do sleep 0.05; done; echo 0 >> src/order.txt"}))
	for i := range commands - 1 {
		p.send(callLine(fmt.Sprintf("c%d", i+1), "execute_command", args{"session": busy, "command": fmt.Sprintf("echo %d >> src/order.txt", i+1)}))
	}
	for i := range reads {
		p.send(callLine(fmt.Sprintf("r%d", i), "read_file", args{"session": busy, "path": "src/a.txt"}))
	}
	a.ok("read_file", args{"session": other, "path": "src/a.txt"})
	a.ok("write_to_file", args{"session": other, "path": "src/other.txt", "content": "served\n"})
	if r := a.ok("execute_command", args{"session": other, "command": "echo served too"}); r.str("output") != "served too\n" {
		t.Errorf("%q", r.str("output"))
	}
	w.write("src/go", "")
	for ended := 0; ended < commands+reads; {
		m, ok := p.next()
		if !ok {
			t.Fatal("the program ended")
		}
		if m.Method == "" {
			if r := m.result(t); r.IsError {
				t.Errorf("%v: %s", m.ID, r.text())
			}
			ended++
		}
	}
	for i, line := range strings.Fields(w.read("src/order.txt")) {
		if line != fmt.Sprint(i) {
			t.Fatalf("line %d is of command %s", i, line)
		}
	}
}

// As many commands as may run on one connection leave the places of file tools
// free.
func TestManyCommandsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	a := p.agent()
	other := a.selects("INT-005")
	const commands = 70
	for i := range commands {
		p.send(string(modernLine(t, fmt.Sprintf("s%d", i), "select_active_intent", args{"intent_id": "INT-001"})))
		session := p.await(fmt.Sprintf("s%d", i)).result(t).str("session")
		p.send(callLine(fmt.Sprintf("c%d", i), "execute_command", args{"session": session, "command": "until [ -e src/go ]; do sleep 0.2; done"}))
	}
	a.ok("write_to_file", args{"session": other, "path": "src/other.txt", "content": "served\n"})
	a.ok("read_file", args{"session": other, "path": "src/a.txt"})
	w.write("src/go", "")
	for ended := 0; ended < commands; {
		m, ok := p.next()
		if !ok {
			t.Fatal("the program ended")
		}
		if id, _ := m.ID.(string); strings.HasPrefix(id, "c") {
			if r := m.result(t); r.IsError || r.Fields["exit_code"] != float64(0) {
				t.Errorf("%v: %s", m.ID, r.text())
			}
			ended++
		}
	}
}
