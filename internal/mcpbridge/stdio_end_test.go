package mcpbridge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

func TestEndOfInput(t *testing.T) {
	t.Run("calls in flight finish and are answered", func(t *testing.T) {
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
	t.Run("calls that go on are cancelled and answered", func(t *testing.T) {
		var out bytes.Buffer
		in := initialize + "\n" + callLine(1, "wait", "{}") + "\n"
		check.NoError(t, newServer(t, newHandler(t)).ServeStdio(t.Context(), strings.NewReader(in), &out, mcpbridge.StdioOptions{Drain: 50 * time.Millisecond}))
		check.That(t, strings.Contains(out.String(), "cancelled"), "no answer to the cancelled call:\n%s", out.String())
	})
	t.Run("a call that ignores its context does not keep the server", func(t *testing.T) {
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
	s := check.Value(mcpbridge.New(mcpbridge.Config{
		Name: "n", Version: "1", Tools: []mcpbridge.Tool{tool("echo")}, Handler: h,
		Disconnected: func(connection string) { gone = append(gone, connection) },
	}))(t)
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
