package upstreams_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// patience is longer than any answer takes, on a busy machine too.
const patience = 2 * time.Minute

// args are the arguments of a call.
type args = agenttest.Args

// world is a user's home with a workspace in it, and servers in the user's settings.
type world struct {
	t         *testing.T
	home, dir string
	path      []string // where programs are found
}

// newWorld declares servers in the user's settings: YAML, of which {modules} is where the servers from npm lie.
func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{t: t, home: home, dir: filepath.Join(home, "work"), path: filepath.SplitList(os.Getenv("PATH"))}
	agenttest.Workspace(t, w.dir)
	check.Write(t, w.dir, ".orchestration/.intentignore", "secret:.env\n")
	check.Write(t, w.dir, ".env", "TOKEN=not-for-you\n")
	w.settings(settings)
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(w.dir, ".orchestration", "agent_trace.jsonl")); err == nil {
			agenttest.Verify(t, w.dir, false)
		}
	})
	return w
}

// settings replaces the user's.
func (w *world) settings(text string) {
	w.t.Helper()
	if strings.Contains(text, "{modules}") {
		modules := installed(w.t)
		w.path = append(w.path, modules) // what lies in the system's temporary directory is seen by this alone
		text = strings.ReplaceAll(text, "{modules}", modules)
	}
	if strings.Contains(text, "{fixture}") {
		text = strings.ReplaceAll(text, "{fixture}", w.fixture())
	}
	check.Write(w.t, w.home, "config/orchestra-mcp/config.yaml", text)
}

// fixture is this test's program in the user's home, as a server's.
func (w *world) fixture() string {
	w.t.Helper()
	at := filepath.Join(w.home, "bin", "fixture")
	if _, err := os.Stat(at); err == nil {
		return at
	}
	own := check.Value(os.Executable())(w.t)
	check.OK(w.t, os.MkdirAll(filepath.Dir(at), 0o755))
	content := check.Value(os.ReadFile(own))(w.t)
	check.OK(w.t, os.WriteFile(at, content, 0o755))
	return at
}

func (w *world) env(more ...string) []string {
	return append([]string{
		"PATH=" + strings.Join(w.path, string(filepath.ListSeparator)), "HOME=" + w.home, "TMPDIR=" + os.TempDir(), // short: browsers have sockets there
		"XDG_CONFIG_HOME=" + filepath.Join(w.home, "config"), "XDG_CACHE_HOME=" + filepath.Join(w.home, "cache"),
		"XDG_DATA_HOME=" + filepath.Join(w.home, "data"), "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0",
	}, more...)
}

// anyCode is for a program whose exit code says nothing about what is tested.
const anyCode = -1

// runs is the program in a terminal, which ends with that code.
func (w *world) runs(code int, arguments ...string) string {
	w.t.Helper()
	cmd := exec.Command(program, append(arguments, "--workspace", w.dir)...)
	cmd.Env, cmd.Dir = w.env(), w.dir
	out, _ := cmd.CombinedOutput()
	check.Must(w.t, code == anyCode || cmd.ProcessState.ExitCode() == code, "%v ended with %d:\n%s", arguments, cmd.ProcessState.ExitCode(), out)
	return string(out)
}

// records are the ledger's lines that have all of some parts.
func (w *world) records(parts ...string) []string {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.dir, ".orchestration", "agent_trace.jsonl"))
	if os.IsNotExist(err) {
		return nil
	}
	check.OK(w.t, err)
	return agenttest.Having(strings.Split(strings.TrimSpace(string(content)), "\n"), parts...)
}

// client is a raw one over pipes.
type client struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	log  *lockedText
	next int
	// asked answers what the server asks the client's user; nil for a client that cannot ask.
	asked func(params json.RawMessage) any

	mu     sync.Mutex
	answer map[string]chan message
	notes  []message
	noted  chan struct{} // has a token where a note came
	gone   chan struct{}
}

type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// connects starts the program and opens the protocol's session; it is ended with the test.
func (w *world) connects(env ...string) *client { return w.connectsFor(nil, env...) }

// connectsFor is connects for a client with a user.
func (w *world) connectsFor(asked func(params json.RawMessage) any, env ...string) *client {
	w.t.Helper()
	capabilities := args{}
	if asked != nil {
		capabilities["elicitation"] = args{}
	}
	c := &client{
		t: w.t, asked: asked, cmd: exec.Command(program, "serve", "--workspace", w.dir), log: &lockedText{}, answer: map[string]chan message{},
		noted: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	c.cmd.Env, c.cmd.Stderr = w.env(env...), c.log
	c.in = check.Value(c.cmd.StdinPipe())(w.t)
	out := check.Value(c.cmd.StdoutPipe())(w.t)
	check.OK(w.t, c.cmd.Start())
	go c.read(out)
	w.t.Cleanup(c.end)
	c.must("initialize", args{
		"protocolVersion": "2025-11-25", "clientInfo": args{"name": "raw", "version": "1"}, "capabilities": capabilities,
	})
	c.send(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return c
}

// end closes the client's end, and holds that the program ends for it.
func (c *client) end() {
	_ = c.in.Close()
	done := make(chan error, 1)
	go func() { <-c.gone; done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		check.That(c.t, err == nil, "the program ended with %v\n%s", err, c.log)
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		c.t.Errorf("the program does not end\n%s", c.log)
	}
	if c.t.Failed() {
		c.t.Logf("standard error of the program:\n%s", c.log)
	}
}

func (c *client) read(out io.Reader) {
	defer close(c.gone)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Errorf("this is no message: %q", line)
			continue
		}
		c.take(m)
	}
}

func (c *client) take(m message) {
	switch {
	case m.Method == "elicitation/create":
		c.send(args{"jsonrpc": "2.0", "id": m.ID, "result": c.asked(m.Params)})
	case m.Method != "":
		c.mu.Lock()
		c.notes = append(c.notes, m)
		c.mu.Unlock()
		select {
		case c.noted <- struct{}{}:
		default:
		}
	default:
		c.mu.Lock()
		waits := c.answer[string(m.ID)]
		delete(c.answer, string(m.ID))
		c.mu.Unlock()
		if waits == nil {
			c.t.Errorf("an answer that nobody waits for: %s", m.ID)
			return
		}
		waits <- m
	}
}

func (c *client) send(m any) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // what tests send is plain values
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.in.Write(append(line, '\n'))
}

// begin sends a request; its answer comes through the channel.
func (c *client) begin(method string, params any) (id string, answer chan message) {
	c.mu.Lock()
	c.next++
	id, answer = fmt.Sprint(c.next), make(chan message, 1)
	c.answer[id] = answer
	c.mu.Unlock()
	c.send(args{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	return id, answer
}

func (c *client) await(what string, answer chan message) message {
	c.t.Helper()
	select {
	case m := <-answer:
		return m
	case <-c.gone:
		select {
		case m := <-answer:
			return m
		default:
		}
		c.t.Fatalf("the program ended without an answer to %s\n%s", what, c.log)
	case <-time.After(patience):
		c.t.Fatalf("no answer to %s\n%s", what, c.log)
	}
	return message{}
}

func (c *client) request(method string, params any) message {
	c.t.Helper()
	_, answer := c.begin(method, params)
	return c.await(method, answer)
}

// must is the result of a request that succeeds.
func (c *client) must(method string, params any) json.RawMessage {
	c.t.Helper()
	m := c.request(method, params)
	check.Must(c.t, m.Error == nil, "%s: %+v\n%s", method, m.Error, c.log)
	return m.Result
}

// note waits for a notification.
func (c *client) note(fits func(message) bool) message {
	c.t.Helper()
	late := time.After(patience)
	for {
		c.mu.Lock()
		i := slices.IndexFunc(c.notes, fits)
		var found message
		if i >= 0 {
			found = c.notes[i]
		}
		c.mu.Unlock()
		if i >= 0 {
			return found
		}
		select {
		case <-c.noted:
		case <-late:
			c.t.Fatalf("the notification does not come\n%s", c.log)
		}
	}
}

// until waits until something holds, and looks whenever the program has told of something.
func (c *client) until(what string, holds func() bool) {
	c.t.Helper()
	late := time.After(patience)
	for !holds() {
		select {
		case <-c.noted:
		case <-late:
			c.t.Fatalf("%s: it does not come to it\n%s", what, c.log)
		}
	}
}

// agent calls the program's tools.
func (c *client) agent() agenttest.Agent {
	return agenttest.Agent{T: c.t, Send: func(tool string, arguments args) (json.RawMessage, error) {
		m := c.request("tools/call", args{"name": tool, "arguments": arguments})
		if m.Error != nil {
			return nil, fmt.Errorf("%s (%d)", m.Error.Message, m.Error.Code)
		}
		return m.Result, nil
	}}
}

// call is a call whose result may have any form.
func (c *client) call(tool string, arguments args) (answer agenttest.Answer, whole json.RawMessage) {
	c.t.Helper()
	whole = c.must("tools/call", args{"name": tool, "arguments": arguments})
	return check.Value(agenttest.Read(c.t, whole))(c.t), whole
}

// ok demands success.
func (c *client) ok(tool string, arguments args) agenttest.Answer {
	c.t.Helper()
	a, whole := c.call(tool, arguments)
	check.Must(c.t, !a.Error, "%s %v: %s", tool, arguments, whole)
	return a
}

// refused demands a refusal of ours.
func (c *client) refused(code, tool string, arguments args) agenttest.Answer {
	c.t.Helper()
	a, whole := c.call(tool, arguments)
	check.Must(c.t, a.Error && a.Object["error_type"] == code, "%s %v: want %s, got %s", tool, arguments, code, whole)
	return a
}

// definition is a tool as it is listed.
type definition struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct{ ReadOnlyHint, DestructiveHint *bool }
}

// tools are those that begin with a prefix.
func (c *client) tools(prefix string) (found []definition) {
	c.t.Helper()
	var list struct{ Tools []definition }
	check.OK(c.t, json.Unmarshal(c.must("tools/list", args{}), &list))
	for _, tool := range list.Tools {
		if strings.HasPrefix(tool.Name, prefix) {
			found = append(found, tool)
		}
	}
	return found
}

// names are those of tools that begin with a prefix.
func (c *client) names(prefix string) (names []string) {
	c.t.Helper()
	for _, tool := range c.tools(prefix) {
		names = append(names, tool.Name)
	}
	return names
}
