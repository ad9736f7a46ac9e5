package server_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// A report shows what happens: who is connected, under which intent, what they did last, what runs, what waits, which
// check fails; and nobody once the server has ended.
func TestStatusShowsWhatHappens(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "    owned_scope: [\"src/**\"", "    verify: [\"exit 3\", \"true\"]\n    owned_scope: [\"src/**\"", 1))
	checked := func(o *server.Options) {
		o.Settings.Checks = []settings.Check{{Paths: "src/checked.*", Command: "grep -q good src/checked.txt"}}
	}
	brief := briefly(t)
	way := func(o *server.Options) { brief(o); checked(o) }
	b := start(t, dir, way).connect()
	var options server.Options
	way(&options)
	look := func() status.Report {
		t.Helper()
		r, err := status.Of(context.Background(), status.Options{Dir: dir, UserDir: options.UserDir, Now: time.Now})
		check.Must(t, err == nil && len(r.Problems) == 0, "%v %v", err, r.Problems)
		return r
	}
	if r := look(); len(r.Servers) > 0 {
		t.Errorf("a server that nobody called has made a mark: %+v", r.Servers)
	}
	b.ok("list_intents", nil)
	b.eventually("the mark of the server", func() bool { return len(look().Servers) == 1 })
	if r := look(); r.Servers[0].Transport != "stdio" || len(r.Agents) > 0 || !r.Initialized {
		t.Errorf("%+v", r)
	}

	s := b.selects("INT-001")
	b.call("update_intent", args{"session": s, "intent_id": "INT-001", "status": "DONE"})
	b.ok("write_to_file", args{"session": s, "path": "src/new.txt", "content": "x\n"})
	r := look()
	if len(r.Agents) != 1 || r.Agents[0].IntentID != "INT-001" || r.Agents[0].IntentName != "Build Weather API" || r.Agents[0].Client != "test 1" || !strings.Contains(r.Agents[0].LastAction, "src/new.txt") {
		t.Errorf("agents: %+v", r.Agents)
	}
	check.That(t, len(r.Checks) == 1 && r.Checks[0].Command == "exit 3" && r.Checks[0].ExitCode == 3, "checks: %+v", r.Checks)
	b.ok("write_to_file", args{"session": s, "path": "src/checked.txt", "content": "bad\n"})
	r = look()
	if len(r.Checks) != 2 || r.Checks[1].Paths != "src/checked.*" || r.Checks[1].ExitCode != 1 || r.Checks[1].IntentID != "INT-001" || r.Checks[1].RecordID != b.lastRecord(record.KindMutation).ID {
		t.Errorf("a check of the settings: %+v", r.Checks)
	}
	b.ok("edit_file", args{"session": s, "path": "src/checked.txt", "old_string": "bad", "new_string": "good"})
	if r = look(); len(r.Checks) != 1 {
		t.Errorf("a check that passes: %+v", r.Checks)
	}
	check.That(t, r.Ledger.Records != 0 && r.Ledger.Problems == 0, "ledger: %+v", r.Ledger)

	id := b.ok("execute_command", args{"session": s, "command": "while :; do sleep 0.1; done", "background": true}).str("command_id")
	asked := b.asks(b.operator(way), "request_scope_expansion", args{"session": s, "paths": []string{"lib/**"}, "reason": "needed"})
	r = look()
	if !slices.ContainsFunc(r.Running, func(one status.Running) bool {
		return strings.Contains(one.What, "sleep 0.1") && one.IntentID == "INT-001"
	}) {
		t.Errorf("running: %+v", r.Running)
	}
	check.That(t, len(r.Waiting) == 1 && r.Waiting[0].ID == asked.ID && strings.Contains(r.Waiting[0].Subject, "lib/**"), "waiting: %+v", r.Waiting)
	b.ok("stop_command", args{"session": s, "command_id": id})
	if known, err := presence.Workspaces(options.UserDir); err != nil || !slices.Equal(known, []string{b.server.Workspace().Dir()}) {
		t.Errorf("the workspace is not known to the user: %v %v", known, err)
	}

	b.hangUp()
	b.close()
	if r := look(); len(r.Servers)+len(r.Agents)+len(r.Running) > 0 {
		t.Errorf("after the end: %+v", r)
	}
}
