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
	failed []string // ids of checks that failed, warn or were skipped; sorted
	passed int
}

// under is a server that the suite looks at, by one revision.
type under struct{ address, revision string }

// all runs every scenario that the revision has.
func (u under) all(t *testing.T) map[string]scenario {
	t.Helper()
	dir, out := u.run(t, "--suite", "all")
	found := map[string]scenario{}
	for part := range strings.SplitSeq(out, "\n=== Running scenario: ") {
		if name, said, ok := strings.Cut(part, " ===\n"); ok {
			said, _, _ = strings.Cut(said, "\n=== SUMMARY ===")
			found[name] = read(t, dir, name, said)
		}
	}
	check.Must(t, len(found) > 0 && strings.Contains(out, "\n=== SUMMARY ===\n"), "the suite did not come to its end:\n%s", out)
	return found
}

// one runs a scenario by itself.
func (u under) one(t *testing.T, name string) scenario {
	t.Helper()
	dir, out := u.run(t, "--scenario", name)
	return read(t, dir, name, out)
}

func (u under) run(t *testing.T, what ...string) (results, out string) {
	t.Helper()
	line := check.Value(suite())(t)
	results = t.TempDir()
	args := slices.Concat(line[1:], []string{"server", "--url", u.address, "--spec-version", u.revision, "--output-dir", results}, what)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	said, _ := exec.CommandContext(ctx, line[0], args...).CombinedOutput() // its exit code counts what is expected to fail as well
	return results, string(said)
}

// read reads the checks of a scenario.
func read(t *testing.T, dir, name, output string) scenario {
	t.Helper()
	s := scenario{output: output}
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
		case "FAILURE", "WARNING", "SKIPPED": // what was skipped is as little held as what failed
			failed[c.ID] = true
			s.output += fmt.Sprintf("\n%s %s: %s", c.Status, c.ID, c.ErrorMessage)
		}
	}
	s.failed = slices.Sorted(maps.Keys(failed))
	return s
}
