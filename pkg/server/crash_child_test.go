//go:build unix

package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// serveEnv makes this test binary a server of the workspace that it names, on
// standard input and output, until it is killed or its input ends.
const serveEnv = "ORCHESTRA_TEST_SERVE"

// behindEnv says how far its clock is behind.
const behindEnv = "ORCHESTRA_TEST_BEHIND"

// stagedEnv has its commands work on layers of their own.
const stagedEnv = "ORCHESTRA_TEST_STAGED"

// unboxedEnv has it hold no command.
const unboxedEnv = "ORCHESTRA_TEST_UNBOXED"

// serveIfChild does not return in a child.
func serveIfChild() {
	if dir := os.Getenv(serveEnv); dir != "" {
		if err := serveAsChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(undoEnv); dir != "" {
		fmt.Fprintln(os.Stderr, undoAsChild(dir)) // it ends by being killed
		os.Exit(1)
	}
	if dir := os.Getenv(lawEnv); dir != "" {
		fmt.Fprintln(os.Stderr, lawAsChild(dir)) // it ends by being killed
		os.Exit(1)
	}
	if dir := os.Getenv(stepEnv); dir != "" {
		fmt.Fprintln(os.Stderr, stepAsChild(dir)) // it ends by being killed
		os.Exit(1)
	}
}

// childSegment is short enough that servers are also killed while they rotate the ledger, in bytes.
const childSegment = 24 << 10

func serveAsChild(dir string) error {
	allowTracing()
	set := settings.Defaults()
	set.Ledger.SegmentSize = childSegment
	if os.Getenv(stagedEnv) == "" {
		set.Commands.Stage = settings.Never // what commands do is looked for while they run, and found when they were killed
	}
	options := server.Options{
		Dir: dir, Settings: set, Logger: zerolog.New(os.Stderr).Level(zerolog.WarnLevel), AdoptOrphans: true,
	}
	if behind, err := time.ParseDuration(os.Getenv(behindEnv)); err == nil {
		options.Clock = func() time.Time { return time.Now().Add(-behind) }
	}
	if os.Getenv(unboxedEnv) != "" {
		unsandboxed(&options)
	}
	srv, err := server.New(options)
	if err != nil {
		return err
	}
	return errors.Join(srv.ServeStdio(context.Background(), os.Stdin, os.Stdout), srv.Close())
}

// child is a server in a process of its own, with a client that can have any number of calls under way.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	err *os.File // its standard error

	mu      sync.Mutex
	next    int
	waiting map[int]chan json.RawMessage
	gone    chan struct{} // closed when its output ends
	kill    func()        // SIGKILL; returns when nothing of the process is left
}

var errKilled = errors.New("the server is gone")

// startChild starts a server, under the program that is given before it.
func startChild(t *testing.T, dir string, under ...string) *child {
	t.Helper()
	line := append(under, os.Args[0])
	c := &child{cmd: exec.Command(line[0], line[1:]...), waiting: map[int]chan json.RawMessage{}, gone: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), serveEnv+"="+dir)
	var err error
	if c.err, err = os.CreateTemp(t.TempDir(), "stderr"); err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = c.err
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out := check.Value(c.cmd.StdoutPipe())(t)
	check.OK(t, c.cmd.Start())
	go c.listen(out)
	c.kill = sync.OnceFunc(func() {
		_ = c.cmd.Process.Kill()
		<-c.gone
		_ = c.cmd.Wait()
	})
	return c
}

func (c *child) listen(out io.Reader) {
	defer close(c.gone)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var message struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(line, &message) != nil || message.ID == 0 {
			continue
		}
		c.mu.Lock()
		waiting := c.waiting[message.ID]
		delete(c.waiting, message.ID)
		c.mu.Unlock()
		waiting <- message.Result
	}
}

func (c *child) request(method string, params any) (json.RawMessage, error) {
	answer := make(chan json.RawMessage, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = answer
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, errKilled
	}
	select {
	case result := <-answer:
		return result, nil
	case <-time.After(answerTime):
		return nil, fmt.Errorf("no answer to %s within %v", method, answerTime)
	case <-c.gone:
		select {
		case result := <-answer: // the last thing that it said
			return result, nil
		default:
			return nil, errKilled
		}
	}
}

// toolAnswer is what the tests want to know of a tool's result.
type toolAnswer struct {
	IsError           bool `json:"isError"`
	StructuredContent struct {
		Session   string `json:"session"`
		RecordID  string `json:"record_id"`
		Content   string `json:"content"`
		Hash      string `json:"content_hash"`
		ErrorType string `json:"error_type"`
		Error     string `json:"error"`
		Details   struct {
			Changed *bool `json:"changed"`
		} `json:"details"`
	} `json:"structuredContent"`
}

func (c *child) call(tool string, arguments args) (toolAnswer, error) {
	result, err := c.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return toolAnswer{}, err
	}
	var a toolAnswer
	return a, json.Unmarshal(result, &a)
}

// greet opens the conversation.
func (c *child) greet() error {
	_, err := c.request("initialize", map[string]any{
		"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

// end closes the input and demands that the server ends in order.
func (c *child) end() error {
	c.in.Close()
	<-c.gone
	return c.cmd.Wait()
}

// said is its standard error.
func (c *child) said() string {
	text, _ := os.ReadFile(c.err.Name())
	return string(text)
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	check.OK(t, syscall.Mkfifo(path, 0o600))
}
