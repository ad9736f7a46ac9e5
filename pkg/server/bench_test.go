package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// benchEngine is a server without flushes on a workspace of its own, and a function that makes calls of one connection.
func benchEngine(b *testing.B, files map[string]string) func(b *testing.B, tool string, arguments args) {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check.OK(b, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(b, os.WriteFile(path, []byte(text), 0o644))
	}
	set := settings.Defaults()
	set.Durability = settings.OS
	srv := check.Value(server.New(server.Options{Dir: dir, Settings: set, Logger: zerolog.Nop()}))(b)
	b.Cleanup(func() { srv.Close() })
	return func(b *testing.B, tool string, arguments args) {
		raw := check.Value(json.Marshal(arguments))(b)
		result := srv.Do(b.Context(), hooks.Request{Tool: tool, Arguments: hooks.ReadArguments(raw), Caller: session.Caller{Connection: "bench"}})
		check.Must(b, !result.IsError, "%s: %s", tool, result.Text)
	}
}

// goContent is 4 KiB of Go.
func goContent(i int) string {
	function := "func f%d(list []int) (total int) {\n\tfor _, n := range list {\n\t\tif n > 0 {\n\t\t\ttotal += n\n\t\t}\n\t}\n\treturn total\n}\n\n"
	var text strings.Builder
	fmt.Fprintf(&text, "package a\n\n// Version %08d.\n", i)
	for n := 0; text.Len() < 4000; n++ {
		fmt.Fprintf(&text, function, n)
	}
	return text.String()
}

// BenchmarkGate is the way of a call through the engine, without a transport and without flushes: what is allocated,
// and where the time goes that is not the disk's.
func BenchmarkGate(b *testing.B) {
	content := strings.Repeat("a line of sixty-four bytes, with its newline, for the benchmark\n", 64)
	do := benchEngine(b, map[string]string{
		".orchestration/active_intents.yaml": intentsYAML, "src/a.txt": content, "src/a.go": goContent(-1), "src/b.txt": "00000000\n" + content,
	})
	do(b, "select_active_intent", args{"intent_id": "INT-001"})
	do(b, "read_file", args{"path": "src/a.txt"})
	do(b, "read_file", args{"path": "src/b.txt"})
	do(b, "read_file", args{"path": "src/a.go"})
	edits := 0
	for _, c := range []struct {
		name, tool string
		arguments  func(i int) args
	}{
		{"read", "read_file", func(int) args { return args{"path": "src/a.txt"} }},
		{"unchanged", "write_to_file", func(int) args { return args{"path": "src/a.txt", "content": content} }},
		{"write", "write_to_file", func(i int) args { return args{"path": "src/a.txt", "content": fmt.Sprintf("%08d\n%s", i, content)} }},
		{"edit", "edit_file", func(int) args {
			edits++
			return args{"path": "src/b.txt", "old_string": fmt.Sprintf("%08d\n", edits-1), "new_string": fmt.Sprintf("%08d\n", edits)}
		}},
		// A class is computed for Go: what that adds to a write of the same size.
		{"write Go", "write_to_file", func(i int) args { return args{"path": "src/a.go", "content": goContent(i)} }},
		{"select", "select_active_intent", func(int) args { return args{"intent_id": "INT-001"} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				do(b, c.tool, c.arguments(i))
			}
		})
	}
}
