package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` +
	"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// process is the program on pipes, spoken to without any client.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	early []message // answers that came before the one that was awaited
	log   *strings.Builder
	ended bool
	// patience is how long an answer may take.
	patience time.Duration
}

// message is what the program sends.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// start runs the program; it is ended with the test.
func (w *workspace) start(env ...string) *process {
	w.t.Helper()
	return w.startAs(exec.Command(program, "serve", "--workspace", w.dir), env...)
}

// startAs is start with a command that becomes the program.
func (w *workspace) startAs(cmd *exec.Cmd, env ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, cmd: cmd, lines: make(chan string, 10000), log: &strings.Builder{}, patience: patience}
	p.cmd.Env, p.cmd.Stderr = w.env(env...), p.log
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out := check.Value(p.cmd.StdoutPipe())(w.t)
	check.OK(w.t, p.cmd.Start())
	go p.read(out)
	w.t.Cleanup(p.end)
	return p
}

// read passes lines on; what is no line of the protocol is told apart later.
func (p *process) read(out io.Reader) {
	defer close(p.lines)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			p.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// initialized starts the program and opens the protocol session.
func (w *workspace) initialized(env ...string) *process {
	w.t.Helper()
	return w.start(env...).initialized()
}

func (p *process) initialized() *process {
	p.t.Helper()
	p.send(initialize)
	m := p.await("init")
	check.Must(p.t, m.Error == nil, "initialize: %+v", m.Error)
	return p
}

func (p *process) send(lines ...string) {
	p.t.Helper()
	check.Value(io.WriteString(p.in, strings.Join(lines, "\n")+"\n"))(p.t)
}

// next is the program's next message. Anything else on standard output is a fault.
func (p *process) next() (message, bool) {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			return message{}, false
		}
		var m message
		err := json.Unmarshal([]byte(line), &m)
		check.Must(p.t, err == nil && m.JSONRPC == "2.0" && strings.HasSuffix(line, "\n"), "this is no message: %q (%v)", line, err)
		return m, true
	case <-time.After(p.patience):
		p.t.Fatalf("no answer\n%s", p.log)
	}
	return message{}, false
}

// await is the answer to a request. Answers come in any order: those to others are kept for their turn.
func (p *process) await(id any) message {
	p.t.Helper()
	answers := func(m message) bool { return fmt.Sprint(m.ID) == fmt.Sprint(id) && m.Method == "" }
	if i := slices.IndexFunc(p.early, answers); i >= 0 {
		m := p.early[i]
		p.early = slices.Delete(p.early, i, i+1)
		return m
	}
	for {
		m, ok := p.next()
		check.Must(p.t, ok, "the program ended without an answer to %v", id)
		if answers(m) {
			return m
		}
		if m.Method == "" {
			p.early = append(p.early, m)
		}
	}
}

// callLine is a tools/call as a line.
func callLine(id any, tool string, arguments args) string {
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": args{"name": tool, "arguments": arguments}})
	if err != nil {
		panic(err) // arguments of a test are plain values
	}
	return string(line)
}

// request makes process a client for the methods that a test needs.
func (p *process) request(method string, params any) (json.RawMessage, error) {
	p.t.Helper()
	if method != "callTool" {
		return nil, fmt.Errorf("no method %s", method)
	}
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params})
	if err != nil {
		return nil, err
	}
	p.send(string(line))
	m := p.await("call")
	if m.Error != nil {
		return nil, fmt.Errorf("%s (%d)", m.Error.Message, m.Error.Code)
	}
	return m.Result, nil
}

func (p *process) agent() agent { return newAgent(p.t, p) }

// result is the tool's answer in a message.
func (m message) result(t *testing.T) answer {
	t.Helper()
	r, err := agenttest.Read(t, m.Result)
	check.Must(t, err == nil && r.Text != "", "no tool result: %v %s %+v", err, m.Result, m.Error)
	return r
}

// end closes the program's input and demands that it ends well.
func (p *process) end() {
	if p.ended {
		return
	}
	p.in.Close()
	p.exits()
}

// exits waits for the program's end, which must be a good one and come within patience.
func (p *process) exits() {
	p.t.Helper()
	p.ended = true
	timeout := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timeout.Stop()
	for range p.lines {
	}
	err := p.cmd.Wait()
	check.That(p.t, err == nil, "the program ended with %v\n%s", err, p.log)
}

// kill ends the program at whatever it is doing.
func (p *process) kill() {
	p.t.Helper()
	p.ended = true
	check.OK(p.t, p.cmd.Process.Kill())
	for range p.lines {
	}
	_ = p.cmd.Wait()
}

var _ client = (*process)(nil)
