package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// heldFully has the programs of servers reach nothing outside: what other tests write there is not laid at their door.
func heldFully(o *tools.UpstreamOptions) {
	o.Level = func(string) sandbox.Level { return sandbox.Full }
}

// What a server that may write changed is found, judged by the scope of the call, and undone as a command's is.
func TestServersThatWriteAreCommands(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	l := behind(t, dir, []upstream.Definition{files(func(d *upstream.Definition) { d.Writes = true })},
		heldFully, func(o *server.Options) { o.Settings.Commands.RevertViolations = true })
	s := l.selects("INT-001")
	write := func(name, content string) { check.Write(t, dir, name, content) }
	l.does["send"] = func(context.Context, map[string]any) (string, error) {
		write("src/made.txt", "made\n")
		write("docs/made.txt", "made\n")
		write("docs/other.md", "changed\n")
		// Another call of the same session goes on meanwhile: what it does is its own.
		r := l.call("write_to_file", args{"session": s, "path": "src/beside.txt", "content": "beside\n"})
		check.That(t, !r.IsError, "%s", r.Text)
		return "done", nil
	}
	r := l.call("files_send", args{"session": s})
	check.Must(t, r.IsError && r.Object["error_type"] == "COMMAND_OUT_OF_SCOPE", "%s", r.Raw)
	check.That(t, len(r.texts) == 3 && r.texts[0] == "done" && strings.Contains(r.texts[2], "docs/"), "%v", r.texts)
	e, u := l.last(record.KindCommand)
	check.That(t, e.Command.Command == "files send" && u.Tool == "send" && e.Command.OutputHash == u.Result && e.Command.Sandbox == "full", "%+v %+v", e.Command, u)
	var changed []string
	for _, c := range e.Changes {
		changed = append(changed, c.Path)
	}
	check.That(t, slices.Equal(changed, []string{"src/made.txt"}) && len(e.Violations) == 2 && e.Violations[0].Reverted, "%v %+v", changed, e.Violations)
	l.holds(map[string]string{"src/made.txt": "made\n", "docs/made.txt": "", "docs/other.md": "# Other\n", "src/beside.txt": "beside\n"})
	plan := check.Value(l.server.PlanUndo(t.Context(), undo.Request{Records: []string{e.ID}}))(t)
	_, _, err := l.server.Undo(t.Context(), plan)
	check.OK(t, err)
	l.holds(map[string]string{"src/made.txt": "", "src/beside.txt": "beside\n"})
}

// What the program of a server changed when it was started is found too where the call never reached it.
func TestServersThatWriteWhenTheyStart(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files(func(d *upstream.Definition) { d.Writes = true })},
		heldFully, func(o *server.Options) { o.Settings.Commands.RevertViolations = true })
	s := l.selects("INT-001")
	l.does["send"] = func(context.Context, map[string]any) (string, error) {
		return "", fmt.Errorf("no: %w", tools.ErrNotSent)
	}
	r := l.call("files_send", args{"session": s})
	check.That(t, r.Object["error_type"] == "UPSTREAM_UNAVAILABLE", "%s %s", r.Text, r.Raw)
	l.does["send"] = func(context.Context, map[string]any) (string, error) {
		check.Write(t, l.dir, "src/made.txt", "made\n")
		check.Write(t, l.dir, "docs/made.txt", "made\n")
		return "", fmt.Errorf("no: %w", tools.ErrNotSent)
	}
	r = l.call("files_send", args{"session": s})
	check.That(t, r.IsError && strings.Contains(r.texts[0], "was not asked") && r.Object["error_type"] == "COMMAND_OUT_OF_SCOPE", "%s %s", r.Text, r.Raw)
	e, u := l.last(record.KindCommand)
	check.That(t, len(e.Changes) == 1 && e.Changes[0].Path == "src/made.txt" && len(e.Violations) == 1 && u.Problem == "it was not asked" && u.IsError && u.Result == "", "%+v %+v", e.Record, u)
	l.holds(map[string]string{"src/made.txt": "made\n", "docs/made.txt": ""})
}

// A server that the sandbox keeps from writing fails in its own words: the agent is told what they mean, and what to do.
func TestServersThatOnlyRead(t *testing.T) {
	t.Parallel()
	for level, told := range map[sandbox.Level]bool{sandbox.Full: true, sandbox.None: false} {
		l := behind(t, newWorkspace(t), []upstream.Definition{files()}, func(o *tools.UpstreamOptions) { o.Level = func(string) sandbox.Level { return level } })
		l.does["write"] = func(context.Context, map[string]any) (string, error) {
			return `{"content":[{"type":"text","text":"EROFS"}],"isError":true}`, nil
		}
		l.does["send"] = l.does["write"]
		s := l.selects("INT-001")
		for tool, a := range map[string]args{"files_write": {"session": s, "path": "src/n.txt"}, "files_send": {"session": s}} {
			r := l.call(tool, a)
			want := map[string]string{"files_write": "workspace: write", "files_send": "writable"}[tool]
			check.That(t, r.IsError && strings.Contains(string(r.Raw), want) == told, "%s: %s", tool, r.Raw)
		}
	}
}

// The calls of one server that may write run one at a time, and who waits can leave.
func TestServersThatWriteTakeTurns(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files(func(d *upstream.Definition) { d.Writes = true })}, heldFully)
	s := l.selects("INT-005")
	var mu sync.Mutex
	running, most := 0, 0
	l.does["send"] = func(context.Context, map[string]any) (string, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return "x", nil
	}
	l.does["open"] = l.does["send"]
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if i%2 == 0 {
				l.passes("files_send", args{"session": s})
			} else {
				l.passes("files_open", args{"url": "https://x/"})
			}
		})
	}
	all.Wait()
	check.Equal(t, most, 1, "calls at a time")
	began, end := make(chan bool), make(chan bool)
	l.does["send"] = func(context.Context, map[string]any) (string, error) { close(began); <-end; return "x", nil }
	all.Go(func() { l.passes("files_send", args{"session": s}) })
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := l.server.Do(ctx, hooks.Request{Tool: "files_open", Arguments: check.Value(hooks.MakeArguments(args{"url": "https://x/"}))(t), Caller: session.Caller{Connection: "c"}})
	check.That(t, gone.Refusal != nil && gone.Refusal.Code() == "CANCELLED", "%s", gone.Text)
	close(end)
	all.Wait()
}

// Tools that are searched are found by words and called by their names: the gate, the record and the question are those of the tool.
func TestSearchAndCall(t *testing.T) {
	t.Parallel()
	many := files(func(d *upstream.Definition) { d.Name, d.Prefix, d.Searched = "many", "many_", true })
	l := behind(t, newWorkspace(t), []upstream.Definition{files(), many}, nil)
	for i := range 100 {
		l.offers("many", fmt.Sprint("tool", i), `{"type":"object","properties":{"x":{"type":"string","description":"`+strings.Repeat("d", 500)+`"}}}`)
	}
	l.offers("many", "create_issue", `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`, func(t *catalogue.Tool) { t.Description = "Opens a ticket." })
	l.offers("many", "listTickets", `{"type":"object","properties":{}}`, safe)
	check.Equal(t, len(l.upstreams.Listed(l.Tools(t.Context()))), 6)
	found := func(a args) (names []string) {
		r := l.call("search_tools", a)
		check.That(t, !r.IsError && len(r.Structured) < 40<<10, "%s", r.Text)
		for _, one := range r.Object["tools"].([]any) {
			names = append(names, one.(map[string]any)["name"].(string))
		}
		return names
	}
	check.Equal(t, found(args{"query": "create an issue"})[0], "many_create_issue")
	check.Equal(t, strings.Join(found(args{"query": "tickets", "limit": 1}), "|"), "many_listTickets")
	check.Equal(t, found(args{"query": "ticket"})[0], "many_create_issue")
	check.That(t, len(found(args{"query": "tool", "limit": 50})) > 10, "too few")
	check.Equal(t, len(found(args{"query": "read file"})), 0, "tools of servers that are listed")

	l.stopped("MISSING_OR_INVALID_INTENT", "call_tool", args{"name": "many_create_issue", "arguments": args{"title": "x"}})
	s := l.selects("INT-005")
	l.stopped("INVALID_ARGUMENTS", "call_tool", args{"session": s, "name": "many_create_issue", "arguments": args{}})
	l.stopped("INVALID_ARGUMENTS", "call_tool", args{"session": s, "name": "files_send", "arguments": args{}})
	l.stopped("INVALID_ARGUMENTS", "call_tool", args{"session": s, "name": "write_to_file", "arguments": args{"path": "src/x", "content": ""}})
	l.stopped("UPSTREAM_UNAVAILABLE", "call_tool", args{"name": "many_waits"})
	waits := l.stopped("UPSTREAM_UNAVAILABLE", "many_waits", args{})
	check.That(t, strings.Contains(waits.Text, "It waits: orchestra-mcp servers review many"), "%s", waits.Text)
	r := l.passes("call_tool", args{"session": s, "name": "many_create_issue", "arguments": args{"title": "x"}})
	check.Equal(t, strings.Join(r.texts, "|"), `{"title":"x"}`)
	e, u := l.last(record.KindMutation)
	check.That(t, e.Call == "many_create_issue" && u.Tool == "create_issue" && u.Server == "many", "%+v", e.Record)
	l.passes("call_tool", args{"name": "many_listTickets"})
}

// Without a server that is searched nothing is offered beside, and nothing with any but what they offer.
func TestListsWithoutOtherServers(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files()}, nil)
	for _, spec := range l.server.Specs() {
		check.That(t, spec.Name != "search_tools" && spec.Name != "call_tool" && !strings.HasPrefix(spec.Name, "files_"), "%s is among our tools", spec.Name)
	}
}
