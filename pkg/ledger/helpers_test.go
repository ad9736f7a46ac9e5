package ledger_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

const (
	tracePath = ".orchestration/agent_trace.jsonl"
	session   = "7d4a7a0e-53f5-4d4f-9a4e-0a3f3f6f7a11"
)

// workspace is a directory with a ledger. When the test ends the ledger is verified.
type workspace struct {
	t        *testing.T
	dir      string
	root     *os.Root
	problems []ledger.ProblemKind // that the test expects to remain
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w, home := &workspace{t: t, dir: t.TempDir()}, t.TempDir()
	check.Write(t, home, ".gitconfig", "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n[commit]\ngpgsign = false\n")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	check.OK(t, os.Mkdir(filepath.Join(w.dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(w.dir))(t)
	w.root = root
	t.Cleanup(func() {
		var kinds []ledger.ProblemKind
		for _, p := range w.verify().Problems {
			kinds = append(kinds, p.Kind)
		}
		check.Equal(t, fmt.Sprint(kinds), fmt.Sprint(w.problems), "the ledger ends with problems")
		root.Close()
	})
	return w
}

func (w *workspace) open(opts ledger.Options) *ledger.Ledger {
	w.t.Helper()
	l := check.Value(ledger.Open(w.root, opts))(w.t)
	w.t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

func (w *workspace) verify() verify.Report {
	w.t.Helper()
	return check.Value(verify.Verify(context.Background(), w.root))(w.t)
}

// wantRecords checks the number of records, and that the chain holds.
func (w *workspace) wantRecords(n int) {
	w.t.Helper()
	report := w.verify()
	if report.Records != n || len(report.Problems) != 0 {
		w.t.Fatalf("the ledger has %d records and problems %v, want %d and none", report.Records, report.Problems, n)
	}
}

func (w *workspace) wantOneHead() {
	w.t.Helper()
	check.Equal(w.t, len(w.verify().Heads), 1, "heads")
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *workspace) read(name string) string {
	w.t.Helper()
	return string(check.Value(os.ReadFile(w.path(name)))(w.t))
}

func (w *workspace) write(name, content string) {
	w.t.Helper()
	check.Write(w.t, w.dir, name, content)
}

func (w *workspace) lines(name string) []string {
	return strings.Split(strings.TrimSuffix(w.read(name), "\n"), "\n")
}

func (w *workspace) git(args ...string) string {
	w.t.Helper()
	return strings.TrimSpace(check.Git(w.t, w.dir, args...))
}

func appendOne(t testing.TB, l *ledger.Ledger, r record.Record) ledger.Appended {
	t.Helper()
	return check.Value(l.Append(context.Background(), r))(t)
}

func sha(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

// mutation is a modification of one file as a tool would record it.
func mutation(intent, path string) record.Record {
	return record.Record{
		Kind: record.KindMutation, IntentID: intent, MutationClass: "INTENT_EVOLUTION", Call: "write_to_file",
		Session: session, Contributor: record.Contributor{Type: record.ContributorAI, ModelID: "anthropic/claude-x"},
		Client: record.Client{Name: "a client", Version: "1"},
		Class:  &record.Class{Declared: "INTENT_EVOLUTION", Computed: "INTENT_EVOLUTION", Evidence: "unproven"},
		Changes: []record.Change{{
			Change: change.Change{
				Op: change.Modified, Path: path, Before: change.Version{Hash: sha("a"), OID: strings.Repeat("1", 40)}, After: change.Version{Hash: sha("b"), OID: strings.Repeat("2", 40)}, Hunks: [][4]int{{10, 2, 10, 5}},
			},
			Ranges: []record.Range{{StartLine: 10, EndLine: 14, ContentHash: sha("lines")}},
		}},
	}
}

// everyKind has a full record of each kind, and some of the odd forms.
func everyKind() map[string]record.Record {
	move := mutation("INT-001", "src/new.go")
	move.Changes[0].Op, move.Changes[0].From = change.Moved, "src/old.go"
	move.Changes[0].Before.Mode, move.Changes[0].After.Mode = "0644", "0755"
	deletion := mutation("INT-001", "src/x <b>&\u2028.ts")
	deletion.Changes[0] = record.Change{
		Change: change.Change{Op: change.Deleted, Path: deletion.Changes[0].Path, Before: change.Version{Hash: sha("a")}},
	}
	unchanged := mutation("INT-001", "src/same.ts")
	unchanged.Changes = append(unchanged.Changes, record.Change{Change: change.Change{Op: change.Unchanged, Path: "src/a.ts", Before: change.Version{Hash: sha("a")}}},
		record.Change{
			Change:         change.Change{Op: change.Created, Path: "src/b.ts", After: change.Version{Hash: sha("b")}},
			ExternalBefore: true, Ranges: []record.Range{{StartLine: 1, EndLine: 1}},
		})
	human := mutation("INT-001", "src/x.ts")
	human.Contributor, human.Detail = record.Contributor{Type: "human"}, map[string]any{"undoes": []any{"a", "b"}}
	longModel := mutation("INT-001", "src/x.ts")
	longModel.Contributor.ModelID = strings.Repeat("é", 251)
	command := mutation("INT-001", "go.sum")
	command.Kind, command.Call = record.KindCommand, "execute_command"
	command.Command = &record.Command{Command: "go mod tidy && echo \"\x1b\"", Cwd: ".", ExitCode: -1, DurationMS: 12,
		TimedOut: true, OutputHash: sha("out"), Sandbox: "full"}
	command.Violations = []record.Violation{{Path: "docs/x.md", Op: change.Created, Reverted: true}}
	build := mutation("INT-001", "target/x.o")
	build.Kind = record.KindBuild
	recovered := mutation("INT-001", "src/x.ts")
	recovered.Kind, recovered.Detail = record.KindRecovered, map[string]any{"partial": true, "certainty": "probable"}
	return map[string]record.Record{
		"mutation": mutation("INT-001", "src/x.ts"), "move": move, "deletion": deletion, "unchanged": unchanged,
		"human": human, "long model": longModel, "command": command, "build": build, "recovered": recovered,
		"decision": {Kind: record.KindDecision, IntentID: "no such/intent?", Call: "write_to_file", Session: session,
			Decision: &record.Decision{Outcome: "refused", ErrorType: "SCOPE_VIOLATION", Step: 4, Hook: "scope",
				Reason: "not in scope", Also: []string{"STALE_FILE"}, Allowed: []string{"x"}, Paths: []string{"../../etc"}}},
		"selection": {Kind: record.KindSelection, IntentID: "INT-001", Call: "select_active_intent", Session: session,
			Contributor: record.Contributor{Type: "ai"}},
		"lifecycle": {Kind: record.KindLifecycle, IntentID: "INT-001", Call: "update_intent",
			Detail: map[string]any{"status": "DONE", "n": int64(1) << 60, "u": uint64(1) << 63, "f": 1.5, "z": nil,
				"deep": map[string]any{"b": []any{int64(1), "x", false}, "a": 1e300}}},
		"read": {Kind: record.KindRead, Call: "read_file", Detail: map[string]any{"path": "src/x.ts"}},
	}
}

func fixedClock() func() time.Time {
	at := time.Date(2026, 2, 18, 18, 30, 0, 123e6, time.UTC)
	return func() time.Time { return at }
}
