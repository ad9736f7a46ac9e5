package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// daemons leaves processes behind in every way that a command has; each writes its id to src/pids first.
const daemons = `say='echo $$ >> src/pids; exec sleep 600'; setsid -f sh -c "$say"; (sh -c "$say" &); env -i PATH="$PATH" sh -c "$say" & ` +
	`env -i PATH="$PATH" setsid -f sh -c "(sh -c '$say' &) ; $say"; `

// daemonCount is how many ids that makes.
const daemonCount = 5

// pids are those of the daemons, once all have told theirs.
func (w *workspace) pids() []string {
	w.t.Helper()
	var pids []string
	eventually(w.t, "the daemons run", func() bool {
		content, _ := os.ReadFile(w.path("src/pids"))
		pids = strings.Fields(string(content))
		return len(pids) == daemonCount && strings.HasSuffix(string(content), "\n")
	})
	return pids
}

// processState is the letter in /proc/PID/stat, "" if there is no process.
func processState(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

// living are those that have not ended.
func living(pids []string) (left []string) {
	for _, pid := range pids {
		if state := processState(pid); state != "" && state != "Z" && state != "X" {
			left = append(left, pid)
		}
	}
	return left
}

// The commands of daemons run where their process ids are those of the test,
// and without a question about a line that hides what it runs.
const (
	unboxed  = "ORCHESTRA_SANDBOX=off"
	unjudged = "ORCHESTRA_COMMANDS_UNJUDGED=allow"
	direct   = "ORCHESTRA_COMMANDS_STAGE=never" // for commands that see, or are seen, while they run
)

// Whatever ends a command or the server ends the daemons of the command, in the foreground and in the background.
func TestDaemonsEnd(t *testing.T) {
	for _, background := range []bool{false, true} {
		for name, tell := range map[string]func(*process){
			"end of input": func(p *process) { p.in.Close() },
			"SIGTERM":      func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
		} {
			t.Run(fmt.Sprintf("%s, background %v", name, background), func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				p := w.initialized(unboxed, unjudged)
				session := p.agent().Selects("INT-001")
				p.send(callLine(1, "execute_command", args{"session": session, "timeout": 600, "background": background, "command": daemons + "sleep 600"}))
				pids := w.pids()
				if background {
					p.await(1)
				}
				tell(p)
				p.exits()
				left := living(pids)
				check.That(t, len(left) == 0, "processes %v are left", left)
				w.wantRecord(`"kind":"command"`, `"programs":["setsid"`)
				if background {
					w.wantRecord(`"ended_by":"ended with the server"`)
				}
			})
		}
	}
}

// The end of the command, its time-out and its cancellation leave nothing.
func TestDaemonsEndWithTheirCommand(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized(unboxed, unjudged)
	session := p.agent().Selects("INT-001")
	for name, c := range map[string]struct {
		line    string
		timeout int
		then    func()
	}{
		"end":          {daemons + "while [ $(wc -l < src/pids) -lt 5 ]; do sleep 0.1; done", 600, func() {}},
		"time-out":     {daemons + "sleep 600", 10, func() {}},
		"cancellation": {daemons + "sleep 600", 600, func() { p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`) }},
	} {
		w.remove("src/pids")
		p.send(callLine(7, "execute_command", args{"session": session, "timeout": c.timeout, "command": c.line}))
		pids := w.pids()
		c.then()
		eventually(t, name+": nothing is left", func() bool { return len(living(pids)) == 0 })
		p.agent().OK("execute_command", args{"session": session, "command": "true"}) // behind the other in their session
	}
}

// A server that is killed takes the shells with it; the next one ends the rest and says so.
func TestDaemonsOfAKilledServer(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized(unboxed, unjudged)
	session := p.agent().Selects("INT-001")
	p.send(callLine(1, "execute_command", args{"session": session, "timeout": 600, "command": daemons + "sleep 600"}))
	pids := w.pids()
	p.kill()
	next := w.initialized(unboxed, unjudged, "ORCHESTRA_LOG_LEVEL=warn")
	grouped := strings.Contains(fmt.Sprint(next.agent().OK("execute_command", args{"session": session, "command": "true"}).Object), "cgroup")
	eventually(t, "the next server has ended them", func() bool {
		left := len(living(pids))
		return left == 0 || !grouped && left <= 3 // those that cleared their environment are known by the group only
	})
	for _, pid := range living(pids) { // nothing of the test stays
		var id int
		if _, err := fmt.Sscan(pid, &id); err == nil && id > 1 {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
	w.wantRecord(`"kind":"recovered"`)
}

// A client that closes the stream of its call ends the command.
func TestClosedStreamEndsTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.serveHTTP("http", unboxed, unjudged)
	a := newAgent(t, w.dialGo(e, modern))
	session := a.Selects("INT-001")
	ctx, hangUp := context.WithCancel(t.Context())
	body := modernLine(t, 1, "execute_command", args{"session": session, "timeout": 600, "command": daemons + "sleep 600"})
	request := check.Value(http.NewRequestWithContext(ctx, "POST", e.url, bytes.NewReader(body)))(t)
	for name, value := range map[string]string{
		"Authorization": "Bearer " + e.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "execute_command",
	} {
		request.Header.Set(name, value)
	}
	go func() {
		if response, err := http.DefaultClient.Do(request); err == nil {
			defer response.Body.Close()
			var all bytes.Buffer
			_, _ = all.ReadFrom(response.Body)
			check.That(t, ctx.Err() != nil, "an answer came: %d %s", response.StatusCode, all.String())
		}
	}()
	pids := w.pids()
	hangUp()
	eventually(t, "nothing is left", func() bool { return len(living(pids)) == 0 })
	a.OK("execute_command", args{"session": session, "command": "true"})
	w.wantRecord(`"kind":"command"`, `"programs":["setsid"`)
}

// modernLine is a tools/call of the era without sessions.
func modernLine(t *testing.T, id any, tool string, arguments args) []byte {
	t.Helper()
	const prefix = "io.modelcontextprotocol/"
	line := check.Value(json.Marshal(args{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": args{
		"name": tool, "arguments": arguments,
		"_meta": args{prefix + "protocolVersion": modern, prefix + "clientInfo": args{"name": "raw", "version": "1"}, prefix + "clientCapabilities": args{}},
	}}))(t)
	return line
}

// A command has the three streams and nothing else: neither those of the protocol nor the server's files and sockets.
func TestDescriptorsOfCommands(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	e := w.serveHTTP("http")
	own := map[string]bool{}
	for _, fd := range []string{"0", "1"} {
		target := check.Value(os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.cmd.Process.Pid, fd)))(t)
		own[target] = true
	}
	for name, a := range map[string]agent{"stdio": p.agent(), "http": newAgent(t, w.dialGo(e, modern))} {
		session := a.Selects("INT-001")
		r := a.OK("execute_command", args{"session": session, "command": "ls -l /proc/$$/fd; cat; echo input ended"})
		open := map[string]string{}
		for line := range strings.Lines(r.Str("output")) {
			if left, target, ok := strings.Cut(strings.TrimSpace(line), " -> "); ok {
				open[left[strings.LastIndexByte(left, ' ')+1:]] = target
			}
		}
		if len(open) != 3 || open["0"] != "/dev/null" || !strings.HasPrefix(open["1"], "pipe:") || open["1"] != open["2"] || own[open["1"]] || !strings.HasSuffix(r.Str("output"), "\ninput ended\n") {
			t.Errorf("%s: %v\n%s", name, open, r.Str("output"))
		}
	}
}

// A hundred commands at once on one connection: they all run, some wait for their turn, and reads are served meanwhile.
func TestHundredCommands(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, mkfifo(w.path("src/go")))
	p := w.start(direct)
	const commands = 100
	for i := range commands {
		p.send(string(modernLine(t, fmt.Sprintf("s%d", i), "select_active_intent", args{"intent_id": "INT-001"})))
	}
	sessions := map[string]string{}
	for len(sessions) < commands {
		m, ok := p.next()
		check.Must(t, ok, "the program ended")
		if id, _ := m.ID.(string); strings.HasPrefix(id, "s") {
			sessions[id] = m.result(t).Str("session")
		}
	}
	for id, session := range sessions {
		p.send(string(modernLine(t, "c"+id, "execute_command", args{"session": session, "command": ": < src/go; echo done"})))
	}
	for i := range 10 {
		p.send(string(modernLine(t, fmt.Sprintf("r%d", i), "read_file", args{"path": "src/a.txt", "session": sessions["s0"]})))
		// The one of this session waits for its command, as sent; those without a session do not.
		p.send(string(modernLine(t, fmt.Sprintf("f%d", i), "list_intents", args{})))
	}
	free, ended := 0, 0
	for free < 10 {
		m, _ := p.next()
		if id, _ := m.ID.(string); strings.HasPrefix(id, "f") {
			free++
		} else if strings.HasPrefix(id, "c") {
			t.Fatalf("a command has ended: %s", m.Result)
		}
	}
	begun := time.Now()
	w.letsPass("src/go")
	for ended < commands {
		m, ok := p.next()
		check.Must(t, ok, "the program ended")
		if id, _ := m.ID.(string); strings.HasPrefix(id, "cs") {
			ended++
			check.Equal(t, m.result(t).Str("output"), "done\n", "%s", id)
		}
	}
	t.Logf("%d commands ended within %v, peak memory %d MiB", commands, time.Since(begun).Round(time.Millisecond), peakMemory(t, p)>>20)
	matches, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.cmd.Process.Pid))
	check.That(t, len(matches) <= 300, "%d threads", len(matches))
}
