//go:build unix

package server_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// A program that hangs ends with its client: nothing waits for it, and nothing
// of it is left.
func TestProgramsEndWithTheClient(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*settings.Settings, string){
		"pre-hook":  func(s *settings.Settings, line string) { s.Hooks = []settings.Hook{pre(line, "Write")} },
		"post-hook": func(s *settings.Settings, line string) { s.Hooks = []settings.Hook{post(line, "Write")} },
		"check":     func(s *settings.Settings, line string) { s.Checks = []settings.Check{{Paths: "**", Command: line}} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			alive := filepath.Join(t.TempDir(), "alive")
			b := start(t, dir, func(o *server.Options) {
				set(&o.Settings, "mkfifo '"+alive+"'; exec sleep 1000 > '"+alive+"'")
			})
			t.Cleanup(b.close)
			in, client := io.Pipe()
			done := make(chan error, 1)
			go func() { done <- b.server.ServeStdio(t.Context(), in, io.Discard) }()
			for _, line := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"select_active_intent","arguments":{"intent_id":"INT-001"}}}`,
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"src/n.txt","content":"x"}}}`,
			} {
				if _, err := io.WriteString(client, line+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			var reader *os.File
			for reader == nil { // the other end opens when the program runs
				if _, err := os.Stat(alive); err == nil {
					reader, _ = os.Open(alive)
				}
				time.Sleep(time.Millisecond)
			}
			defer reader.Close()
			client.Close()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(answerTime):
				t.Fatal("the server did not end with its input")
			}
			if n, err := reader.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%d %v", n, err) // the end of the file says that the program is gone
			}
			if written := b.exists("src/n.txt"); written != (name != "pre-hook") {
				t.Errorf("written: %v", written)
			}
		})
	}
}
