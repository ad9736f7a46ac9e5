//go:build unix

package server_test

import (
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// Of a server that was killed nothing is shown as live, and what it had begun is unsettled until the next one comes.
func TestStatusOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	c := startChild(t, dir)
	t.Cleanup(c.kill)
	if err := c.greet(); err != nil {
		t.Fatal(err)
	}
	selected, err := c.call("select_active_intent", args{"intent_id": "INT-001"})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.call("execute_command", args{"session": selected.StructuredContent.Session, "command": "echo > src/begun; while :; do sleep 0.1; done", "background": true}); err != nil || a.IsError {
		t.Fatalf("%+v %v", a, err)
	}
	b := &bench{t: t, dir: dir}
	b.eventually("the command runs", func() bool { return b.exists("src/begun") })
	look := func() status.Report {
		t.Helper()
		r, err := status.Of(t.Context(), status.Options{Dir: dir, Now: time.Now})
		if err != nil || len(r.Problems) > 0 {
			t.Fatalf("%v %v", err, r.Problems)
		}
		return r
	}
	if r := look(); len(r.Servers) != 1 || len(r.Agents) != 1 || len(r.Running) != 1 || r.Ledger.Unsettled != 0 {
		t.Errorf("while it lives: %+v", r)
	}
	c.kill()
	if r := look(); len(r.Servers)+len(r.Agents)+len(r.Running) > 0 || r.Ledger.Unsettled != 1 {
		t.Errorf("after it was killed: %+v", r)
	}
}
