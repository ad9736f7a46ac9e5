package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// typescript is a connected TypeScript client. Its requests run side by side.
type typescript struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	user user // nil: nobody must be asked
	// greeting is what the client learned when it connected.
	greeting struct {
		ProtocolVersion string                         `json:"protocolVersion"`
		Server          struct{ Name, Version string } `json:"server"`
		Instructions    string                         `json:"instructions"`
	}

	mu      sync.Mutex
	sent    int
	waiting map[int]chan driverLine
	forms   map[int]context.CancelFunc
	over    bool
	killed  bool
}

// driverLine is a line of the driver: an answer, or something about a form.
type driverLine struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *clientError    `json:"error"`

	Form      int             `json:"form"`
	Message   string          `json:"message"`
	Schema    json.RawMessage `json:"schema"`
	Withdrawn bool            `json:"withdrawn"`
}

// drive starts the driver; it ends with the test.
func (w *workspace) drive(d driver) *typescript {
	w.t.Helper()
	if d.User != nil && d.Elicitation == nil {
		d.Elicitation = args{}
	}
	config := check.Value(json.Marshal(d))(w.t)
	cmd := exec.Command(node(w.t, oldestNode), filepath.Join(clients, "drive.mjs"), string(config))
	cmd.Env = w.env()
	cmd.Stderr = testLog{w.t}
	stdin := check.Value(cmd.StdinPipe())(w.t)
	stdout := check.Value(cmd.StdoutPipe())(w.t)
	check.OK(w.t, cmd.Start())
	c := &typescript{t: w.t, cmd: cmd, in: stdin, user: d.User, waiting: make(map[int]chan driverLine), forms: make(map[int]context.CancelFunc)}
	greeting := c.expect(0) // the line about the connection has no id
	read := make(chan struct{})
	go func() { defer close(read); c.listen(stdout) }()
	w.t.Cleanup(func() {
		stdin.Close()
		// Wait closes the pipe, and what was not read is lost.
		select {
		case <-read:
		case <-time.After(patience):
		}
		if !c.isKilled() {
			w.ends(cmd)
		}
	})
	raw, err := c.await(greeting)
	if err == nil {
		err = json.Unmarshal(raw, &c.greeting)
	}
	check.Must(w.t, err == nil, "connect: %v", err)
	return c
}

func (c *typescript) request(method string, params any) (json.RawMessage, error) {
	return c.begin(method, params)()
}

// begin sends a request; what it returns waits for the answer.
func (c *typescript) begin(method string, params any) func() (json.RawMessage, error) {
	_, wait := c.send(method, params)
	return wait
}

// beginAbortable is a call of a tool that the application can give up.
func (c *typescript) beginAbortable(params any) (wait func() (json.RawMessage, error), abort func() error) {
	id, wait := c.send("callTool", params)
	return wait, func() error { return c.tell(args{"abort": id}) }
}

func (c *typescript) send(method string, params any) (id int, wait func() (json.RawMessage, error)) {
	c.mu.Lock()
	c.sent++
	id = c.sent
	c.mu.Unlock()
	answer := c.expect(id)
	err := c.tell(args{"id": id, "method": method, "params": params})
	return id, func() (json.RawMessage, error) {
		if err != nil {
			return nil, err
		}
		return c.await(answer)
	}
}

// leave closes the client as it closes itself, whatever it waits for.
func (c *typescript) leave() { _ = c.in.Close() }

// kill ends the client's process at whatever it is doing.
func (c *typescript) kill() {
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *typescript) isKilled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}

func (c *typescript) tell(line any) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.in.Write(append(raw, '\n'))
	return err
}

func (c *typescript) expect(id int) <-chan driverLine {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := make(chan driverLine, 1)
	if c.over {
		close(answer)
		return answer
	}
	c.waiting[id] = answer
	return answer
}

func (c *typescript) await(answer <-chan driverLine) (json.RawMessage, error) {
	line, ok := <-answer
	switch {
	case !ok:
		return nil, io.EOF
	case line.Error != nil:
		return nil, line.Error
	}
	return line.Result, nil
}

// listen passes the driver's lines on until its end.
func (c *typescript) listen(out io.Reader) {
	defer c.end()
	r := bufio.NewReader(out)
	for {
		raw, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var line driverLine
		if err := json.Unmarshal(raw, &line); err != nil {
			c.t.Errorf("the driver said %q: %v", raw, err)
			return
		}
		c.take(line)
	}
}

func (c *typescript) take(line driverLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case line.Withdrawn:
		if cancel := c.forms[line.Form]; cancel != nil {
			cancel()
		}
	case line.Form != 0:
		ctx, cancel := context.WithCancel(context.Background())
		c.forms[line.Form] = cancel
		go c.show(ctx, line)
	default:
		if answer := c.waiting[line.ID]; answer != nil {
			delete(c.waiting, line.ID)
			answer <- line
		}
	}
}

func (c *typescript) show(ctx context.Context, line driverLine) {
	if c.user == nil {
		c.t.Errorf("a client that cannot show this form was sent it: %s", line.Message)
		_ = c.tell(args{"form": line.Form, "fails": "there is no form here"})
		return
	}
	r := c.user(ctx, form{line.Message, line.Schema})
	if r.fails != "" {
		_ = c.tell(args{"form": line.Form, "fails": r.fails})
		return
	}
	_ = c.tell(args{"form": line.Form, "answer": r}) // the client may have gone
}

// end takes back all that waits for the driver.
func (c *typescript) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, answer := range c.waiting {
		close(answer)
	}
	clear(c.waiting)
	for _, cancel := range c.forms {
		cancel()
	}
}

var _ client = (*typescript)(nil)
