package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// node is a process of clients/drive.mjs, with any number of clients in it.
type node struct {
	cmd  *exec.Cmd
	read chan struct{} // closed with its output

	mu      sync.Mutex
	in      io.WriteCloser
	clients map[int]*typescript
	over    bool
}

// common has the clients of all tests: one Node for each would be a third of all the work. It ends in TestMain, by endCommon.
var (
	common = sync.OnceValues(func() (*node, error) {
		n, err := newNode(nil, os.Stderr)
		if err == nil {
			endCommon = n.end
		}
		return n, err
	})
	endCommon = func() error { return nil }
)

func newNode(env []string, errs io.Writer) (*node, error) {
	program, err := nodeOf(oldestNode)
	if err != nil {
		return nil, err
	}
	n := &node{cmd: exec.Command(program, filepath.Join(clients, "drive.mjs")), read: make(chan struct{}), clients: make(map[int]*typescript)}
	n.cmd.Env, n.cmd.Stderr = env, errs
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go n.listen(out)
	return n, nil
}

// end closes the input, and waits for the end.
func (n *node) end() error {
	n.in.Close()
	<-n.read // Wait closes the pipe, and what was not read is lost
	return n.cmd.Wait()
}

// listen passes lines on until the end of the process.
func (n *node) listen(out io.Reader) {
	defer close(n.read)
	r := bufio.NewReader(out)
	for {
		raw, err := r.ReadBytes('\n')
		var line driverLine
		if err == nil {
			err = json.Unmarshal(raw, &line)
		}
		n.mu.Lock()
		c := n.clients[line.Client]
		if err != nil {
			n.over = true
			for _, c := range n.clients {
				defer c.end()
			}
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		c.take(line)
	}
}

func (n *node) tell(line args) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_, err = n.in.Write(append(raw, '\n'))
	return err
}

// typescript is a connected TypeScript client. Its requests run side by side.
type typescript struct {
	t      *testing.T
	node   *node
	number int
	user   user // nil: nobody must be asked
	// greeting is what the client learned when it connected.
	greeting struct {
		ProtocolVersion string                         `json:"protocolVersion"`
		Server          struct{ Name, Version string } `json:"server"`
		Instructions    string                         `json:"instructions"`
		OAuth           struct {
			Steps   []string
			Asked   map[string]string
			Token   string
			IDToken string `json:"id_token"`
		} `json:"oauth"`
	}
	gone  chan struct{}   // closed with the connection
	heard chan driverLine // what one that follows lists and logs hears

	mu      sync.Mutex
	sent    int
	waiting map[int]chan driverLine
	forms   map[int]context.CancelFunc
	over    bool
}

// driverLine is a line of the driver: an answer, or something about a form.
type driverLine struct {
	Client int             `json:"client"`
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *clientError    `json:"error"`
	Closed bool            `json:"closed"`
	Log    string          `json:"log"`

	Form      int             `json:"form"`
	Message   string          `json:"message"`
	Schema    json.RawMessage `json:"schema"`
	Withdrawn bool            `json:"withdrawn"`

	Changed string          `json:"changed"`
	Listed  []string        `json:"listed"`
	Logged  json.RawMessage `json:"logged"`
}

// drive connects a client, in a process of its own if it is to be killed; it ends with the test.
func (w *workspace) drive(d driver) *typescript {
	w.t.Helper()
	if d.User != nil && d.Elicitation == nil {
		d.Elicitation = args{}
	}
	needsNode(w.t, oldestNode)
	starts := common
	if d.mortal {
		starts = func() (*node, error) { return newNode(w.env(), testLog{w.t}) }
	}
	n, err := starts()
	check.OK(w.t, err)
	c := &typescript{t: w.t, node: n, user: d.User, gone: make(chan struct{}), heard: make(chan driverLine, 100), waiting: make(map[int]chan driverLine), forms: make(map[int]context.CancelFunc)}
	n.mu.Lock()
	check.Must(w.t, !n.over, "the driver has ended")
	c.number = len(n.clients) + 1
	n.clients[c.number] = c
	n.mu.Unlock()
	greeting := c.expect(0) // the line about the connection has no id
	w.t.Cleanup(func() {
		c.leave()
		select {
		case <-c.gone:
		case <-time.After(patience):
			w.t.Error("the client does not leave")
		}
		if d.mortal && n.cmd.ProcessState == nil {
			check.NoError(w.t, n.end())
		}
	})
	check.OK(w.t, c.tell(args{"connect": d}))
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
func (c *typescript) leave() { _ = c.tell(args{"close": true}) }

// kill ends the process of a mortal client at whatever it is doing.
func (c *typescript) kill() {
	_ = c.node.cmd.Process.Kill()
	<-c.node.read
	_ = c.node.cmd.Wait()
}

// tell says something about the client to the driver.
func (c *typescript) tell(line args) error {
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if over {
		return io.EOF
	}
	line["client"] = c.number
	return c.node.tell(line)
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

func (c *typescript) take(line driverLine) {
	if line.Closed {
		c.end()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
	case line.Log != "":
		c.t.Log(line.Log)
	case line.Changed != "" || line.Logged != nil:
		c.heard <- line
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

// end takes back all that waits for the client.
func (c *typescript) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	close(c.gone)
	for _, answer := range c.waiting {
		close(answer)
	}
	clear(c.waiting)
	for _, cancel := range c.forms {
		cancel()
	}
}

var _ client = (*typescript)(nil)
