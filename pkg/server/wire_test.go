package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// wire is a client that writes its own bytes: it pipelines calls in a known
// order and sends what no library would.
type wire struct {
	t     *testing.T
	out   io.WriteCloser
	lines chan string
}

// wired connects one in the initialize era.
func (b *bench) wired() *wire {
	b.t.Helper()
	b.t.Cleanup(b.close)
	toServer, out := io.Pipe()
	in, fromServer := io.Pipe()
	w := &wire{t: b.t, out: out, lines: make(chan string, 100)}
	done := make(chan error, 1)
	go func() { done <- b.server.ServeStdio(context.Background(), toServer, fromServer) }()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- line
		}
	}()
	b.t.Cleanup(func() {
		out.Close()
		if err := <-done; err != nil {
			b.t.Errorf("serving ended with %v", err)
		}
	})
	w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}` + "\n")
	w.answers(1)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	return w
}

func (w *wire) send(bytes string) {
	w.t.Helper()
	if _, err := io.WriteString(w.out, bytes); err != nil {
		w.t.Fatal(err)
	}
}

// callLine is a tools/call with its arguments as they are.
func callLine(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

// answer is a response: a tool's object, or the code of an error.
type answer struct {
	Error  int
	Object map[string]any
	Text   string
}

// answers waits for n responses and gives them by id.
func (w *wire) answers(n int) map[int]answer {
	w.t.Helper()
	got := map[int]answer{}
	for len(got) < n {
		select {
		case line := <-w.lines:
			var message struct {
				ID     *int   `json:"id"`
				Method string `json:"method"`
				Error  *struct {
					Code    int    `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
				Result struct {
					Structured map[string]any `json:"structuredContent"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(line), &message); err != nil {
				w.t.Fatalf("no JSON: %s", line)
			}
			if message.Method != "" {
				continue
			}
			id := -1
			if message.ID != nil {
				id = *message.ID
			}
			a := answer{Object: message.Result.Structured, Text: line}
			if message.Error != nil {
				a.Error = message.Error.Code
			}
			got[id] = a
		case <-time.After(answerTime):
			w.t.Fatalf("%d answers of %d: %v", len(got), n, got)
		}
	}
	return got
}
