package conformance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// oldestNode is what the suite runs on.
const oldestNode = 22

// suite is the command line that runs the suite, with the Node that package.json brings along, or the machine's own.
var suite = sync.OnceValues(func() ([]string, error) {
	script := filepath.Join("node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		return nil, errors.New("the suite is not installed: run `npm ci` in e2e/conformance")
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	ours, _ := filepath.Abs(filepath.Join("node_modules", "node-"+runtime.GOOS+"-"+cmp.Or(arch, runtime.GOARCH), "bin", "node"))
	for _, node := range []string{ours, "node"} {
		out, _ := exec.Command(node, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if n, _ := strconv.Atoi(major); n >= oldestNode {
			return []string{node, script}, nil
		}
	}
	return nil, fmt.Errorf("no Node %d or later", oldestNode)
})

// scenario is what the suite found in one of its scenarios.
type scenario struct {
	output string   // what it said
	failed []string // ids of checks that failed, or warn; sorted
	passed int
}

// runs lets all scenarios of a revision look at a server.
func runs(t *testing.T, address, revision string) map[string]scenario {
	t.Helper()
	line, err := suite()
	if err != nil {
		check.Must(t, os.Getenv("CI") == "", "%v", err)
		t.Skip(err)
	}
	dir := t.TempDir()
	args := append(slices.Clone(line[1:]), "server", "--url", address, "--suite", "all", "--spec-version", revision, "--output-dir", dir)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], args...)
	out, _ := cmd.CombinedOutput() // its exit code counts what is expected to fail as well
	found := map[string]scenario{}
	for part := range strings.SplitSeq(string(out), "\n=== Running scenario: ") {
		if name, said, ok := strings.Cut(part, " ===\n"); ok {
			said, _, _ = strings.Cut(said, "\n=== SUMMARY ===")
			found[name] = scenario{output: said}
		}
	}
	check.Must(t, len(found) > 0, "the suite ran nothing:\n%s", out)
	for name, s := range found {
		s.read(t, dir, name)
		found[name] = s
	}
	return found
}

// read reads the checks of a scenario.
func (s *scenario) read(t *testing.T, dir, name string) {
	t.Helper()
	files := check.Value(filepath.Glob(filepath.Join(dir, "server-"+name+"-2*", "checks.json")))(t)
	check.Must(t, len(files) == 1, "the suite has no result of %s: %v\n%s", name, files, s.output)
	var checks []struct {
		ID, Status, ErrorMessage string
	}
	check.OK(t, json.Unmarshal(check.Value(os.ReadFile(files[0]))(t), &checks))
	failed := map[string]bool{}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			s.passed++
		case "FAILURE", "WARNING":
			failed[c.ID] = true
			s.output += fmt.Sprintf("\n%s %s: %s", c.Status, c.ID, c.ErrorMessage)
		}
	}
	s.failed = slices.Sorted(maps.Keys(failed))
}
