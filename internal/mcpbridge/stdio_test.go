package mcpbridge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

func TestArriveOrderIsLineOrder(t *testing.T) {
	const lines = 1000
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	go func() {
		var b strings.Builder
		b.WriteString(initialize + "\n")
		for i := range lines {
			b.WriteString(callLine(i, "echo", fmt.Sprintf(`{"n":%d}`, i)) + "\n")
		}
		_, _ = io.WriteString(c.in, b.String())
	}()
	for range lines + 1 {
		a := c.read()
		check.Must(t, a.Error == nil, "refused: %s", a.Raw)
	}
	for i, call := range h.calls() {
		want := fmt.Sprintf(`{"n":%d}`, i)
		check.Must(t, string(call.Arguments) == want, "call %d arrived with %s", i, call.Arguments)
	}
	check.Equal(t, len(h.calls()), lines)
}

// TestSpareGoroutinesEnd: what a connection keeps for later calls ends with it.
func TestSpareGoroutinesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{}).initialize()
	for i := range 20 {
		c.send(callLine(i, "echo", "{}"))
		c.read()
	}
	check.OK(t, c.end())
	eventually(t, "the connection's goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestInitializeIsABarrier(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	c.send(callLine(1, "whoami", "{}"), initialize, callLine(2, "whoami", "{}"))
	c.read().wantError(t, "1", -32600, "not initialized")
	a := c.read()
	check.Must(t, string(a.ID) == `"init"`, "got %s, want the answer to initialize", a.Raw)
	who := c.read().text(t)
	for _, part := range []string{`"Modern":false`, `"Name":"tester"`, `"CanElicit":true`, `"ProtocolVersion":"2025-11-25"`} {
		check.That(t, strings.Contains(who, part), "the caller is %s, without %s", who, part)
	}
	check.Equal(t, len(h.calls()), 1)
}

// A bridge puts several clients through one process, each with a handshake.
func TestFurtherInitializeIsServed(t *testing.T) {
	hello := func(id int, version, capabilities, name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":%q,"version":"1"}}}`,
			id, version, capabilities, name)
	}
	const asks = `{"elicitation":{}}`
	for _, test := range []struct {
		name, second string
		want         []string
	}{
		{"the same client", hello(2, "2025-11-25", asks, "one"), []string{`"Name":"one","Version":"1"`, `"CanElicit":true`, `"ProtocolVersion":"2025-11-25"`}},
		{"another client", hello(2, "2025-11-25", asks, "two"), []string{`"Name":"","Version":""`, `"CanElicit":true`}},
		{"one that cannot be asked", hello(2, "2025-11-25", `{}`, "one"), []string{`"CanElicit":false`}},
		{"an older one", hello(2, "2025-06-18", asks, "one"), []string{`"CanElicit":true`, `"ProtocolVersion":"2025-06-18"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHandler(t)
			running, _ := waiting(h)
			c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
			c.send(hello(1, "2025-11-25", asks, "one"))
			c.read()
			c.send(callLine(10, "wait", "{}"))
			receive(t, running, "{}")
			c.send(test.second, callLine(3, "whoami", "{}"))
			a := c.read()
			check.Must(t, a.Error == nil && string(a.ID) == "2", "the handshake was answered %s", a.Raw)
			who := c.read().text(t)
			for _, want := range test.want {
				check.That(t, strings.Contains(who, want), "the caller is %s, without %s", who, want)
			}
			calls := h.calls()
			check.Equal(t, calls[0].Caller.Connection, calls[1].Caller.Connection, "the connection changed")
			c.send(cancelLine(10)) // the first client's call is in flight still
		})
	}
}

func TestCancelRunningCall(t *testing.T) {
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{}).initialize()
	c.send(callLine(1, "wait", "{}"), cancelLine(1), callLine(2, "echo", "{}"))
	a := c.read()
	check.That(t, string(a.ID) == "2", "got %s; a cancelled call must not be answered", a.Raw)
}

// Calls that take long leave room for those that only read.
func TestReadsAreServedBesideLongCalls(t *testing.T) {
	h := newHandler(t)
	var started atomic.Int64
	release := make(chan struct{})
	h.tools["wait"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
		started.Add(1)
		<-release
		return mcpbridge.Result{}
	}
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for i := range 100 {
		c.send(callLine(i, "wait", "{}"))
	}
	eventually(t, "64 calls run", func() bool { return started.Load() == 64 })
	c.send(callLine(1000, "echo", "{}"))
	a := c.read()
	check.Must(t, string(a.ID) == "1000", "got %s, want the answer of the tool that only reads", a.Raw)
	close(release)
	for range 100 {
		c.read()
	}
}

// A cancelled call that waits for a place never starts; cancellation and ping are read although every place is taken.
func TestCancelQueuedCall(t *testing.T) {
	h := newHandler(t)
	var started atomic.Int64
	release := make(chan struct{})
	h.tools["wait"] = func(ctx context.Context, _ mcpbridge.Call) mcpbridge.Result {
		started.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return mcpbridge.Result{}
	}
	queued := make(chan error, 1)
	h.tools["rich"] = func(ctx context.Context, _ mcpbridge.Call) mcpbridge.Result {
		queued <- ctx.Err()
		return mcpbridge.Result{}
	}
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for i := range 64 {
		c.send(callLine(i, "wait", "{}"))
	}
	eventually(t, "64 calls run", func() bool { return started.Load() == 64 })
	c.send(callLine(1000, "rich", "{}"), cancelLine(1000), `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if a := c.read(); string(a.ID) != `"p"` {
		t.Fatalf("got %s, want the ping's answer", a.Raw)
	}
	c.send(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	if a := c.read(); string(a.ID) != `"l"` {
		t.Fatalf("got %s, want the list's answer", a.Raw)
	}
	// What it holds, it gives back at once: calls of other connections may wait for it.
	select {
	case err := <-queued:
		check.That(t, errors.Is(err, context.Canceled), "the cancelled call was started with a context that is not done: %v", err)
	case <-time.After(patience):
		t.Error("the cancelled call keeps its place in the order")
	}
	close(release)
	for range 64 {
		a := c.read()
		check.That(t, string(a.ID) != "1000", "the cancelled call was answered")
	}
	h.waitIdle()
}

func TestTooMuchInFlight(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{MaxLine: 1000}).initialize()
	big := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 700))
	for i := range 6 {
		c.send(callLine(i, "wait", big))
	}
	c.read().wantError(t, "5", -31000, "in flight")
	c.send(cancelLine(0), `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.read()
	eventually(t, "there is room again", func() bool {
		c.send(callLine(9, "echo", big))
		return c.read().Error == nil
	})
}

// Reads that hang leave calls and pings alone.
func TestReadsThatHang(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	config := bridgeConfig(newHandler(t))
	config.Resources = []mcpbridge.Resource{{URI: "x://y", Name: "y", Read: func(context.Context, map[string]string) (string, error) {
		<-block
		return "", nil
	}}}
	c := startStdio(t, check.Value(mcpbridge.New(config))(t), mcpbridge.StdioOptions{}).initialize()
	for i := range 20 {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"x://y"}}`, i))
	}
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	a := c.read()
	check.That(t, string(a.ID) == `"p"`, "got %s", a.Raw)
	c.send(callLine(100, "echo", "{}"))
	if a := c.read(); string(a.ID) != "100" {
		t.Errorf("got %s", a.Raw)
	}
}

func TestDuplicateIDInFlight(t *testing.T) {
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{}).initialize()
	c.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"wait"}}`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"echo"}}`)
	c.read().wantError(t, `"\u0061"`, -32600, "in flight")
	c.send(callLine(1, "echo", "{}"), callLine(1, "echo", "{}"))
	c.read()
}

func TestEndOfInput(t *testing.T) {
	run := func(name string, does func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, does) })
	}
	run("calls in flight finish and are answered", func(t *testing.T) {
		h := newHandler(t)
		h.tools["wait"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
			time.Sleep(100 * time.Millisecond)
			return mcpbridge.Result{Text: "finished"}
		}
		var out bytes.Buffer
		in := initialize + "\n" + callLine(1, "wait", "{}") + "\n" + callLine(2, "wait", "{}")
		check.OK(t, newServer(t, h).ServeStdio(t.Context(), strings.NewReader(in), &out, mcpbridge.StdioOptions{Drain: patience}))
		check.Equal(t, strings.Count(out.String(), "finished"), 2)
	})
	run("calls that go on are cancelled and answered", func(t *testing.T) {
		var out bytes.Buffer
		in := initialize + "\n" + callLine(1, "wait", "{}") + "\n"
		check.NoError(t, newServer(t, newHandler(t)).ServeStdio(t.Context(), strings.NewReader(in), &out, mcpbridge.StdioOptions{Drain: 50 * time.Millisecond}))
		check.That(t, strings.Contains(out.String(), "cancelled"), "no answer to the cancelled call:\n%s", out.String())
	})
	run("a call that ignores its context does not keep the server", func(t *testing.T) {
		h := newHandler(t)
		block := make(chan struct{})
		defer close(block)
		h.tools["wait"] = func(context.Context, mcpbridge.Call) mcpbridge.Result { <-block; return mcpbridge.Result{} }
		in := initialize + "\n" + callLine(1, "wait", "{}") + "\n"
		check.NoError(t, newServer(t, h).ServeStdio(t.Context(), strings.NewReader(in), io.Discard, mcpbridge.StdioOptions{}))
	})
}

func TestStopBySignal(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{Drain: 20 * time.Millisecond}).initialize()
	c.send(callLine(1, "wait", "{}"))
	eventually(t, "the call has arrived", func() bool { return len(h.calls()) == 1 })
	c.stop()
	check.Equal(t, c.read().text(t), "cancelled")
	err := c.wait()
	check.That(t, err == nil, "ended with %v", err)
}

func TestWriteErrorEnds(t *testing.T) {
	broken := errors.New("broken pipe")
	inReader, in := io.Pipe()
	defer in.Close()
	ended := make(chan error, 1)
	s := newServer(t, newHandler(t))
	go func() {
		ended <- s.ServeStdio(context.Background(), inReader, failingWriter{broken}, mcpbridge.StdioOptions{})
	}()
	fmt.Fprintln(in, initialize)
	select {
	case err := <-ended:
		check.That(t, errors.Is(err, broken), "ended with %v, want the write error", err)
	case <-time.After(patience):
		t.Fatal("the server did not end")
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestReadErrorEnds(t *testing.T) {
	broken := errors.New("device gone")
	err := newServer(t, newHandler(t)).ServeStdio(t.Context(), io.MultiReader(strings.NewReader(initialize), failingReader{broken}), io.Discard, mcpbridge.StdioOptions{})
	check.That(t, errors.Is(err, broken), "ended with %v, want the read error", err)
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestLongLineInBoundedMemory(t *testing.T) {
	const length, limit = 64 << 20, 1 << 20
	h := newHandler(t)
	in := io.MultiReader(
		strings.NewReader(initialize+"\n"),
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`),
		io.LimitReader(letters{}, length),
		strings.NewReader("\"}}}\n"+callLine(2, "echo", `{"still":"here"}`)+"\n"),
	)
	var out bytes.Buffer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := newServer(t, h).ServeStdio(t.Context(), in, &out, mcpbridge.StdioOptions{MaxLine: limit})
	runtime.ReadMemStats(&after)
	check.OK(t, err)
	allocated := after.TotalAlloc - before.TotalAlloc
	check.That(t, allocated <= 16*limit, "a line of %d bytes took %d bytes of memory in all", length, allocated)
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	check.Must(t, len(answers) == 3, "%d answers:\n%s", len(answers), out.String())
	parseAnswer(t, answers[1]).wantError(t, "null", -32600, "longer than")
	check.Equal(t, parseAnswer(t, answers[2]).text(t), `{"still":"here"}`, "the call after the long line")
	check.Equal(t, len(h.calls()), 1)
}

// letters is an endless line.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestDeepNestingIsRefused(t *testing.T) {
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{}).initialize()
	c.send(callLine(1, "echo", `{"a":`+strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)+`}`))
	c.read().wantError(t, "null", -32600, "nested")
	c.send(callLine(2, "echo", `{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`))
	a := c.read()
	check.That(t, a.Error == nil, "200 levels were refused: %s", a.Raw)
}

func TestConnectionIdentity(t *testing.T) {
	var gone []string
	h := newHandler(t)
	config := bridgeConfig(h)
	config.Disconnected = func(connection string) { gone = append(gone, connection) }
	s := check.Value(mcpbridge.New(config))(t)
	for range 2 {
		in := initialize + "\n" + callLine(1, "echo", "{}") + "\n" + callLine(2, "echo", "{}") + "\n"
		check.OK(t, s.ServeStdio(t.Context(), strings.NewReader(in), io.Discard, mcpbridge.StdioOptions{}))
	}
	calls := h.calls()
	first, second := calls[0].Caller.Connection, calls[2].Caller.Connection
	if first == "" || len(first) < 22 || first != calls[1].Caller.Connection || first == second {
		t.Errorf("connections %q, %q, %q", first, calls[1].Caller.Connection, second)
	}
	check.That(t, len(gone) == 2 && gone[0] == first && gone[1] == second, "disconnected: %q", gone)
}
