package intent_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

const sample = `# Our work.
active_intents:
  - id: INT-001 # the first
    name: Build Weather API
    status: TODO   # not begun
    description: |
      Weather.

      # not a comment
    owned_scope: ["src/api/**", "src/weather.ts"]
    constraints:
      - "Use TypeScript" # why not
    acceptance_criteria: ["Unit tests in tests/ pass"]
    agent: builder
    commands: {allow: ["go", "git status"], ask: ["npm install"], deny: ["git push"], network: deny}
    rules:
      - {name: no-eval, when: 'true', action: refuse, message: "no"}
    verify: ["go test ./..."]
    priority: high

  # The second one.
  - id: INT-002
    name: Docs
    status: IN_PROGRESS
    started_at: 2026-02-18T18:30:00Z
    owned_scope:
    - docs/**   # everything
    - README.md

version: 3
# The end.
`

// workspace is a workspace with an intents file, and its store.
type workspace struct {
	t     testing.TB
	dir   string
	store *intent.Store
}

func newWorkspace(t testing.TB, intents string) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir()}
	check.OK(t, os.Mkdir(filepath.Join(w.dir, ".orchestration"), 0o755))
	w.write(".orchestration/active_intents.yaml", intents)
	w.store = w.open()
	return w
}

func (w *workspace) open() *intent.Store {
	w.t.Helper()
	root := check.Value(os.OpenRoot(w.dir))(w.t)
	w.t.Cleanup(func() { _ = root.Close() })
	return intent.Open(root)
}

func (w *workspace) write(name, text string) {
	w.t.Helper()
	check.OK(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644))
}

func (w *workspace) intents() string {
	w.t.Helper()
	data := check.Value(os.ReadFile(filepath.Join(w.dir, ".orchestration/active_intents.yaml")))(w.t)
	return string(data)
}

func (w *workspace) load() *intent.Set {
	w.t.Helper()
	return check.Value(w.store.Load())(w.t)
}

func get(t *testing.T, set *intent.Set, id string) *intent.Intent {
	t.Helper()
	in, ok := set.Get(id)
	check.Must(t, ok, "no intent %s", id)
	return in
}

func TestLoad(t *testing.T) {
	set := newWorkspace(t, sample).load()
	all := set.All()
	check.Must(t, len(all) == 2 && all[0].ID == "INT-001" && all[1].ID == "INT-002", "All: %v", all)
	in := get(t, set, "INT-001")
	want := intent.CommandRules{Allow: []string{"go", "git status"}, Ask: []string{"npm install"},
		Deny: []string{"git push"}, Network: "deny"}
	switch {
	case in.Name != "Build Weather API", in.Status != intent.Todo, in.Line != 3, in.Agent != "builder",
		in.Description != "Weather.\n\n# not a comment\n":
		t.Errorf("texts: %+v", in)
	case !slices.Equal(in.OwnedScope, []string{"src/api/**", "src/weather.ts"}),
		!slices.Equal(in.Constraints, []string{"Use TypeScript"}), !slices.Equal(in.Verify, []string{"go test ./..."}),
		!slices.Equal(in.AcceptanceCriteria, []string{"Unit tests in tests/ pass"}):
		t.Errorf("lists: %+v", in)
	case !slices.Equal(in.Commands.Allow, want.Allow), !slices.Equal(in.Commands.Ask, want.Ask),
		!slices.Equal(in.Commands.Deny, want.Deny), in.Commands.Network != want.Network:
		t.Errorf("commands: %+v", in.Commands)
	case !slices.Equal(in.Rules, []intent.Rule{{Name: "no-eval", When: "true", Action: rule.Refuse, Message: "no"}}):
		t.Errorf("rules: %+v", in.Rules)
	case !in.Scope().Match("src/api/x.ts"), in.Scope().Match("src/other.ts"):
		t.Error("scope")
	}
	second := get(t, set, "INT-002")
	check.That(t, second.StartedAt.Equal(time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC)), "started_at: %v", second.StartedAt)
	var messages []string
	for _, w := range set.Warnings() {
		messages = append(messages, w.String())
	}
	if got := strings.Join(messages, "\n"); !strings.Contains(got, `yaml:19:5: unknown key "priority"`) ||
		!strings.Contains(got, `yaml:30:1: unknown key "version"`) || len(messages) != 2 {
		t.Errorf("warnings:\n%s", got)
	}
}

func TestLoadOtherVocabulary(t *testing.T) {
	set := newWorkspace(t, `intents:
  - {id: a, name: A, status: pending, ownedScope: [x], acceptanceCriteria: [y], startedAt: "2026-01-02 03:04:05"}
  - {id: b, name: B, status: COMPLETED, ownedScope: []}
`).load()
	a, b := get(t, set, "a"), get(t, set, "b")
	if a.Status != intent.Todo || b.Status != intent.Done || !slices.Equal(a.OwnedScope, []string{"x"}) ||
		!slices.Equal(a.AcceptanceCriteria, []string{"y"}) || a.StartedAt.Year() != 2026 {
		t.Errorf("%+v %+v", a, b)
	}
	check.That(t, b.Scope().Unrestricted() && b.Scope().Match("any/thing") && len(set.Warnings()) == 1, "unrestricted: %v", set.Warnings())
}

func TestAdd(t *testing.T) {
	w := newWorkspace(t, sample)
	in := intent.Intent{ID: "INT-007", Name: "New: one", Status: intent.Todo, Description: "Two\nlines\n",
		OwnedScope: []string{"*.go", `a"b`}, Constraints: []string{"- x"}, Verify: []string{"true"},
		Rules:    []intent.Rule{{Name: "r", When: "false"}},
		Commands: intent.CommandRules{Deny: []string{"git push"}, Network: "allow"}}
	set := check.Value(w.store.Add(t.Context(), in))(t)
	got := get(t, set, "INT-007")
	check.That(t, got.Description == in.Description && slices.Equal(got.OwnedScope, in.OwnedScope), "%+v", got)
	want := strings.Replace(sample, "    - README.md\n", `    - README.md

  - id: INT-007
    name: 'New: one'
    status: TODO
    description: |
      Two
      lines
    owned_scope: ["*.go", "a\"b"]
    constraints: ["- x"]
    commands:
      deny: ["git push"]
      network: allow
    rules:
      - name: r
        when: "false"
        action: refuse
    verify: ["true"]
`, 1)
	check.Equal(t, w.intents(), want)
	_, err := w.store.Add(t.Context(), in)
	check.That(t, errors.Is(err, intent.ErrDuplicateID), "twice: %v", err)
	_, id, err := w.store.AddNext(t.Context(), intent.Intent{Name: "x", Status: intent.Todo})
	check.That(t, err == nil && id == "INT-008", "AddNext: %q %v", id, err)
}

func TestNotInitialized(t *testing.T) {
	w := newWorkspace(t, sample)
	check.OK(t, os.Remove(filepath.Join(w.dir, ".orchestration/active_intents.yaml")))
	_, err := w.store.Load()
	check.That(t, errors.Is(err, intent.ErrNotInitialized) && !w.store.Initialized(), "no file: %v", err)
	if _, err := w.store.Add(t.Context(), intent.Intent{ID: "a", Status: intent.Todo}); !errors.Is(err,
		intent.ErrNotInitialized) {
		t.Errorf("Add without a file: %v", err)
	}
	check.OK(t, os.RemoveAll(filepath.Join(w.dir, ".orchestration")))
	_, err = w.store.AddScope(t.Context(), "a", []string{"b"})
	check.That(t, errors.Is(err, intent.ErrNotInitialized), "AddScope without a directory: %v", err)
	_, err = w.store.Load()
	check.That(t, errors.Is(err, intent.ErrNotInitialized), "no directory: %v", err)
}
