package agenttest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// Intents are those of a workspace.
const Intents = `# The work of this test.
active_intents:
  - id: INT-001
    name: Build Weather API
    status: IN_PROGRESS
    description: Serve the weather.
    owned_scope: ["src/**", "go.mod"]
    constraints: ["Use TypeScript"]
  - id: INT-002
    name: Write docs
    status: TODO
    owned_scope: ["docs/**"]
  - id: INT-003
    name: Finished
    status: DONE
    owned_scope: ["old/**"]
  - id: INT-004
    name: Stuck
    status: BLOCKED
    owned_scope: ["stuck/**"]
  - id: INT-005
    name: Everything
    status: IN_PROGRESS
    owned_scope: ["**"]
`

// Workspace makes a git repository with Intents and two files, in scope of one each.
func Workspace(t *testing.T, dir string) {
	t.Helper()
	check.Write(t, dir, ".orchestration/active_intents.yaml", Intents)
	check.Write(t, dir, "src/a.txt", "one\ntwo\nthree\n")
	check.Write(t, dir, "docs/other.md", "# Other\n")
	check.Repository(t, dir)
}

// Problems are those of the ledger.
func Problems(t *testing.T, dir string) []ledger.Problem {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	return check.Value(verify.Verify(context.Background(), root))(t).Problems
}

// Verify holds that the ledger is intact, but for calls that a test has go unrecorded.
func Verify(t *testing.T, dir string, gapsMeant bool) {
	t.Helper()
	problems := slices.DeleteFunc(Problems(t, dir), func(p ledger.Problem) bool { return gapsMeant && p.Kind == ledger.ProblemUnrecorded })
	check.That(t, len(problems) == 0, "the ledger does not verify: %+v", problems)
	if !gapsMeant { // which go with what the ledger's place had
		Reproduces(t, dir)
	}
}

// Having are the lines that have all parts.
func Having(lines []string, parts ...string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	})
}
