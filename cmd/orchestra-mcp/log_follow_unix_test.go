//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// TestFollow follows a ledger in a process of its own: what comes is printed as it comes, nothing else, and an interrupt
// ends it well.
func TestFollow(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want [2]string // of the last record that is there, and of the one that comes
	}{
		"table":  {[]string{"--kind", "mutation"}, [2]string{"undo deleted src/client.ts", "write_to_file modified src/later.ts"}},
		"json":   {[]string{"--json", "--intent", "INT-002"}, [2]string{`"call":"undo"`, `"path":"src/later.ts"`}},
		"by dir": {[]string{"--path", "src"}, [2]string{"undo deleted src/client.ts", "src/later.ts"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := toldStory(t)
			lines, end := following(t, dir, append([]string{"log", "-f", "-n", "1"}, c.args...)...)
			if name != "json" {
				expectLine(t, lines, "TIME")
			}
			expectLine(t, lines, c.want[0])
			add(t, dir, record.Record{Kind: record.KindRead, IntentID: "INT-001", Call: "read_file"})
			add(t, dir, record.Record{Kind: record.KindMutation, IntentID: "INT-002", Call: "write_to_file",
				Changes: []record.Change{{Change: change.Change{Op: change.Modified, Path: "src/later.ts"}}}})
			expectLine(t, lines, c.want[1])
			rest := end(os.Interrupt)
			check.That(t, rest == "", "more was printed: %s", rest)
			checkLedger(t, dir)
		})
	}
}

// following starts the program, and gives what it prints, and how to end it, which must succeed.
func following(t *testing.T, dir string, args ...string) (lines *bufio.Reader, end func(os.Signal) string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "orchestra-mcp", args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out := check.Value(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	lines = bufio.NewReader(out)
	return lines, func(signal os.Signal) string {
		check.OK(t, cmd.Process.Signal(signal))
		rest, readErr := io.ReadAll(lines)
		err := cmd.Wait()
		check.That(t, err == nil && readErr == nil && errs.Len() == 0, "it ended with %v, %v: %s", err, readErr, errs.String())
		return string(rest)
	}
}

func expectLine(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	line, err := lines.ReadString('\n')
	check.Must(t, err == nil && strings.Contains(line, want), "printed %q (%v), want %q", line, err, want)
}

func add(t *testing.T, dir string, r record.Record) {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(t)
	_, err := l.Append(t.Context(), r)
	check.OK(t, err)
	check.OK(t, l.Close(t.Context()))
}

// Whoever reads the output may stop: the program ends without a word.
func TestFollowWithoutReader(t *testing.T) {
	dir := toldStory(t)
	shell := exec.CommandContext(t.Context(), "sh", "-c", `orchestra-mcp log -n 0 --json 2>errs | head -n 1 >/dev/null; cat errs; rm errs`)
	shell.Dir = filepath.Join(dir, "src")
	out, err := shell.CombinedOutput()
	check.That(t, err == nil && len(out) == 0, "%v: %s", err, out)
}
