package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// target is the file that every attack wants to write, out of the scope of INT-001; content is what it gets.
const (
	target  = "docs/n.md"
	content = "new\n"
)

// siege is a workspace under attack, with a server that is spoken to without any client's help.
type siege struct {
	*workspace
	attack attack
	// send carries one message of 2026-07-28 for a principal to the server.
	send func(who string, id int, tool string, line []byte) message
	// line is the server's own process, with a client of the initialize era that shows forms; nil over HTTP.
	line *process
	// late is how much the clock of a server over HTTP has been put on.
	late atomic.Int64
	ids  int
	last string
}

func besieged(t *testing.T, a attack, transport string) *siege {
	t.Helper()
	s := &siege{workspace: newWorkspace(t), attack: a}
	s.serve(transport)
	return s
}

// elsewhere is another workspace of the same user.
func (s *siege) elsewhere() *siege {
	w := newWorkspace(s.t)
	w.home = s.home
	other := &siege{workspace: w, attack: s.attack}
	other.serve("stdio")
	return other
}

// again is another server process on the same workspace.
func (s *siege) again() *siege {
	other := &siege{workspace: s.workspace, attack: s.attack}
	other.serve("stdio")
	return other
}

func (s *siege) serve(transport string) {
	s.t.Helper()
	if transport == "HTTP" {
		s.send = s.overHTTP(s.principals())
		return
	}
	s.line = s.start(s.settings()...)
	s.line.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	s.line.await("init")
	s.send = func(_ string, id int, _ string, line []byte) message {
		s.line.send(string(line))
		return s.line.await(id)
	}
}

// settings have the operator asked in whichever way there is.
func (s *siege) settings() []string {
	env := []string{"ORCHESTRA_APPROVALS_SCOPE_VIOLATION=ask", "ORCHESTRA_SANDBOX=off", "ORCHESTRA_COMMANDS_UNJUDGED=allow"}
	if s.attack.waits { // for the form alone: the inbox would be waited for as long
		env = append(env, waitsForOperator, "ORCHESTRA_APPROVALS_SCOPE_VIOLATION=elicit")
	}
	return env
}

// principals serves alice and bob, as an embedder does.
func (s *siege) principals() string {
	s.t.Helper()
	return s.embed(func(o *server.Options) {
		o.UserDir = filepath.Join(s.home, "config", "orchestra-mcp")
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(s.late.Load())) }
		o.Settings.Approvals.ScopeViolation, o.Settings.Approvals.Wait = settings.Ask, 0
	}).url
}

func (s *siege) overHTTP(url string) func(string, int, string, []byte) message {
	var send func(string, int, string, []byte) message
	send = func(who string, n int, tool string, line []byte) message {
		s.t.Helper()
		request := check.Value(http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, bytes.NewReader(line)))(s.t)
		for name, value := range map[string]string{
			"Authorization": "Bearer token of " + who, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": tool,
		} {
			request.Header.Set(name, value)
		}
		response := check.Value(http.DefaultClient.Do(request))(s.t)
		defer response.Body.Close()
		if response.StatusCode == http.StatusTooManyRequests { // what the server asks of a caller as busy as the long form
			time.Sleep(time.Second)
			return send(who, n, tool, line)
		}
		body := check.Value(io.ReadAll(response.Body))(s.t)
		if _, event, ok := bytes.Cut(body, []byte("data: ")); ok {
			body = event
		}
		var m message
		err := json.NewDecoder(bytes.NewReader(body)).Decode(&m)
		check.Must(s.t, err == nil, "no message: %v %s", err, body)
		return m
	}
	return send
}

// answerOf is what a tools/call came to, in either era.
type answerOf struct {
	siege     *siege
	protocol  bool // an error of the protocol
	ended     string
	State     string         `json:"requestState"`
	Type      string         `json:"resultType"`
	Refused   bool           `json:"isError"`
	Fields    map[string]any `json:"structuredContent"`
	Questions map[string]struct {
		Params struct {
			Message string `json:"message"`
		} `json:"params"`
	} `json:"inputRequests"`
}

func (s *siege) read(m message) answerOf {
	s.t.Helper()
	a := answerOf{siege: s}
	if m.Error != nil {
		a.protocol, a.ended = true, m.Error.Message
	} else if err := json.Unmarshal(m.Result, &a); err != nil {
		s.t.Fatalf("%v: %s", err, m.Result)
	}
	s.last = string(m.Result) + a.ended
	return a
}

// became is the answer in a word.
func (a answerOf) became() string {
	code, _ := a.Fields["error_type"].(string)
	switch {
	case a.protocol:
		return turnedAway
	case a.Type == "input_required", code == "APPROVAL_REQUIRED":
		return asked
	case a.Refused:
		return code
	}
	return passes
}

// must demands what an attack begins with.
func (a answerOf) must(became string) answerOf {
	a.siege.t.Helper()
	got := a.became()
	check.Must(a.siege.t, got == became, "an attack cannot begin with %q, want %q: %s", got, became, a.siege.last)
	return a
}

// id is that of the request that was put to the operator.
func (a answerOf) id() string {
	a.siege.t.Helper()
	details, _ := a.must(asked).Fields["details"].(map[string]any)
	id, _ := details["approval_id"].(string)
	check.Must(a.siege.t, id != "", "no id: %s", a.siege.last)
	return id
}

// modern makes a call of 2026-07-28 for a client that shows forms; more are further params.
func (s *siege) modern(who, tool string, arguments, more args) answerOf {
	s.t.Helper()
	s.ids++
	params := args{"name": tool, "arguments": arguments, "_meta": meta(args{"elicitation": args{}})}
	maps.Copy(params, more)
	line := check.Value(json.Marshal(args{"jsonrpc": "2.0", "id": s.ids, "method": "tools/call", "params": params}))(s.t)
	return s.read(s.send(who, s.ids, tool, line))
}

func meta(capabilities args) args {
	const prefix = "io.modelcontextprotocol/"
	return args{
		prefix + "protocolVersion": modern, prefix + "clientCapabilities": capabilities,
		prefix + "clientInfo": args{"name": "attacker", "version": "1"},
	}
}

// legacy makes a call of the initialize era, whose client shows forms.
func (s *siege) legacy(tool string, arguments args) answerOf {
	s.t.Helper()
	return s.read(s.line.await(s.begin(tool, arguments)))
}

// begin sends such a call and does not wait for its answer.
func (s *siege) begin(tool string, arguments args) int {
	s.t.Helper()
	s.ids++
	s.line.send(callLine(s.ids, tool, arguments))
	return s.ids
}

// selects selects an intent in either era; who is of no account over stdio.
func (s *siege) selects(who, intent string) string {
	s.t.Helper()
	session, _ := s.modern(who, "select_active_intent", args{"intent_id": intent}, nil).must(passes).Fields["session"].(string)
	return session
}

// writes are the arguments of the call that every attack is about.
func writes(session string) args { return args{"session": session, "path": target, "content": content} }

// operator runs the operator's command, as from a terminal of their own.
func (s *siege) operator(code int, arguments ...string) string {
	s.t.Helper()
	cmd := exec.Command(program, append(arguments, "--workspace", s.dir)...)
	cmd.Env, cmd.Dir = s.env(s.settings()...), s.home
	out, err := cmd.CombinedOutput()
	got := cmd.ProcessState.ExitCode()
	check.Must(s.t, got == code, "%v: exit code %d, want %d (%v)\n%s", arguments, got, code, err, out)
	return string(out)
}

func (s *siege) approves(id string, flags ...string) {
	s.t.Helper()
	s.operator(0, append([]string{"approvals", "approve", id, "--yes"}, flags...)...)
}

// runs has the agent run a command, which needs no approval. What it changes out of the scope is told and stands.
func (s *siege) runs(session, line string) string {
	s.t.Helper()
	ran := s.modern("alice", "execute_command", args{"session": session, "command": line}, nil)
	if ran.became() != "COMMAND_OUT_OF_SCOPE" {
		ran.must(passes)
	}
	return fmt.Sprint(ran.Fields["output"])
}

// unwrites takes the target away, and has alice see that it is gone.
func (s *siege) unwrites(session string) {
	s.t.Helper()
	check.OK(s.t, os.Remove(s.path(target)))
	s.modern("alice", "read_file", args{"session": session, "path": target}, nil).must("FILE_NOT_FOUND")
}
