package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
)

// directory makes a directory with files; a name with a slash at its end is an empty directory.
func directory(t *testing.T, files map[string]string) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			check.OK(t, os.MkdirAll(path, 0o755))
			continue
		}
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(content), 0o644))
	}
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return dir, root
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name       string
		files      map[string]string
		toolchains []string
		scope      []string
		verify     []string
	}{
		{name: "nothing", scope: []string{"src/**", "tests/**"}},
		{
			name: "go", files: map[string]string{"go.mod": "", "go.sum": "", "main.go": "", "cmd/": "", "ledger/x/y.go": "", "vendor/a/b.go": "", "docs/a.md": "", ".git/": ""},
			toolchains: []string{"Go"}, scope: []string{"cmd/**", "ledger/**", "*.go", "go.mod", "go.sum"}, verify: []string{"go test ./..."},
		},
		{
			name: "node", files: map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`, "pnpm-lock.yaml": "", "src/a.ts": "", "node_modules/x/y.js": "", "eslint.config.js": "", "dist/a.js": ""},
			toolchains: []string{"Node.js"}, scope: []string{"src/**", "package.json", "pnpm-lock.yaml"}, verify: []string{"pnpm test"},
		},
		{
			name: "node without a directory", files: map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`, "index.js": ""},
			toolchains: []string{"Node.js"}, scope: []string{"*.js", "package.json", "package-lock.json"},
		},
		{
			name: "python", files: map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n", "mypackage/__init__.py": "", "venv/lib/a.py": "", "tests/": ""},
			toolchains: []string{"Python"}, scope: []string{"mypackage/**", "tests/**", "pyproject.toml"}, verify: []string{"python -m pytest"},
		},
		{
			name: "another package manager", files: map[string]string{"package.json": `{"packageManager": "pnpm@10.1.0"}`, "pyproject.toml": "[tool.uv]\n", "src/": ""},
			toolchains: []string{"Node.js", "Python"}, scope: []string{"src/**", "package.json", "pnpm-lock.yaml", "pyproject.toml", "uv.lock"},
		},
		{
			name: "two", files: map[string]string{"Cargo.toml": "", "Cargo.lock": "", "src/lib.rs": "", "package.json": "{", "web/": ""},
			toolchains: []string{"Node.js", "Rust"}, scope: []string{"src/**", "web/**", "package.json", "package-lock.json", "Cargo.toml", "Cargo.lock"}, verify: []string{"cargo test"},
		},
		{
			name: "gradle with its wrapper", files: map[string]string{"build.gradle.kts": "", "gradlew": "", "src/main/java/A.java": ""},
			toolchains: []string{"Gradle"}, scope: []string{"src/**", "build.gradle.kts"}, verify: []string{"./gradlew test"},
		},
		{
			name: "names that mean something in a glob", files: map[string]string{"go.mod": "", "[a]{b,c}*/x.go": ""},
			toolchains: []string{"Go"}, scope: []string{`\[a\]\{b\,c\}\*/**`, "go.mod", "go.sum"}, verify: []string{"go test ./..."},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, root := directory(t, test.files)
			found := check.Value(scaffold.Detect(root))(t)
			var names, verify []string
			for _, toolchain := range found.Toolchains {
				names = append(names, toolchain.Name)
				if toolchain.Verify != "" {
					verify = append(verify, toolchain.Verify)
				}
			}
			check.That(t, slices.Equal(names, test.toolchains) && slices.Equal(found.Scope, test.scope) && slices.Equal(verify, test.verify),
				"toolchains %q, scope %q, verify %q", names, found.Scope, verify)
			_, git := test.files[".git/"]
			check.That(t, found.GitRoot == git, "git root: %v", found.GitRoot)
		})
	}
}

func TestDetectDoesNotFollowLinks(t *testing.T) {
	outside, _ := directory(t, map[string]string{"a.go": ""})
	dir, root := directory(t, map[string]string{"go.mod": ""})
	check.OK(t, os.Symlink(outside, filepath.Join(dir, "src")))
	found, err := scaffold.Detect(root)
	check.That(t, err == nil && slices.Equal(found.Scope, []string{"go.mod", "go.sum"}), "scope %q, %v", found.Scope, err)
}

func TestGuessedClient(t *testing.T) {
	for name, want := range map[string]string{".cursor/": "cursor", ".roomodes": "roo", ".vscode/": "vscode", "CLAUDE.md": "claude-code", "x": "claude-code"} {
		_, root := directory(t, map[string]string{name: ""})
		found, err := scaffold.Detect(root)
		check.That(t, err == nil && found.Client == want, "%s: %q, %v", name, found.Client, err)
	}
}

func options(scope ...string) scaffold.Options {
	return scaffold.Options{
		Intent: scaffold.FirstIntent{ID: "INT-001", Name: "A: b # c", Description: "Two\n\nlines: \"x\"\n", Scope: scope,
			StartedAt: time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC)},
		Detection: scaffold.Detection{Toolchains: []scaffold.Toolchain{{Name: "Go", Programs: []string{"go"}, Verify: "go test ./..."}}},
		Config:    []byte("# settings\n"),
	}
}

func TestCreate(t *testing.T) {
	dir, root := directory(t, nil)
	results := check.Value(scaffold.Create(root, options("src/**", `a "b": c`)))(t)
	for _, result := range results {
		check.That(t, result.Action == scaffold.Created, "%+v", result)
	}
	text := check.Value(os.ReadFile(filepath.Join(dir, scaffold.IntentsFile)))(t)
	var file struct {
		Intents []map[string]any `yaml:"active_intents"`
	}
	err := yaml.Unmarshal(text, &file)
	check.Must(t, err == nil, "%v\n%s", err, text)
	want := map[string]any{
		"id": "INT-001", "name": "A: b # c", "status": "IN_PROGRESS", "description": "Two\n\nlines: \"x\"\n",
		"owned_scope": []any{"src/**", `a "b": c`}, "started_at": time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC), "verify": []any{"go test ./..."},
	}
	check.That(t, len(file.Intents) == 1 && reflect.DeepEqual(file.Intents[0], want), "intents %v\n%s", file.Intents, text)
}

func TestCreateNeverOverwrites(t *testing.T) {
	files := map[string]string{
		scaffold.IntentsFile: "mine 1", scaffold.ConfigFile: "mine 2", scaffold.IgnoreFile: "mine 3", scaffold.GitIgnoreFile: "mine 4",
		scaffold.AttributesFile: "*.go text\r\n.orchestration/agent_trace.jsonl merge=binary\r\n/.orchestration/trace/*.jsonl -merge\r\n" +
			".orchestration/archive/** diff\r\n.orchestration/seals/** text",
	}
	dir, root := directory(t, files)
	results := check.Value(scaffold.Create(root, options()))(t)
	check.That(t, len(results) == len(files), "results %+v", results)
	for _, result := range results {
		check.That(t, result.Action == scaffold.Kept && result.Detail != "", "%+v", result)
	}
	for name, content := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check.That(t, err == nil && string(text) == content, "%s is %q now (%v)", name, text, err)
	}
}

func TestAttributes(t *testing.T) {
	const rest = ".orchestration/trace/*.jsonl merge=union -text\n.orchestration/archive/** -diff -merge -text\n.orchestration/seals/** -text\n"
	const both = ".orchestration/agent_trace.jsonl merge=union -text\n" + rest
	tests := []struct{ before, after string }{
		{"", both},
		{"*.go text\n", "*.go text\n" + both},
		{"*.go text", "*.go text\n" + both},
		{"a\r\n", "a\r\n" + strings.ReplaceAll(both, "\n", "\r\n")},
		{".orchestration/agent_trace.jsonl text merge=union\n", ".orchestration/agent_trace.jsonl text merge=union\n" + rest},
		{"/.orchestration/seals/** text eol=lf\n", "/.orchestration/seals/** text eol=lf\n" + strings.TrimSuffix(both, ".orchestration/seals/** -text\n")},
		{strings.Join(strings.SplitAfter(both, "\n")[:2], ""), both}, // of a version without archives
		{"# .orchestration/agent_trace.jsonl merge=union\n" + both, "# .orchestration/agent_trace.jsonl merge=union\n" + both},
	}
	for _, test := range tests {
		dir, root := directory(t, map[string]string{scaffold.AttributesFile: test.before})
		for range 2 {
			_, err := scaffold.Create(root, options())
			check.OK(t, err)
			text, _ := os.ReadFile(filepath.Join(dir, scaffold.AttributesFile))
			check.That(t, string(text) == test.after, "from %q: %q, want %q", test.before, text, test.after)
		}
	}
}

// TestBeside: of a ledger beside the tree git ignores what leads there, and has nothing to merge but seals.
func TestBeside(t *testing.T) {
	for _, beside := range []bool{true, false} {
		dir, root := directory(t, nil)
		opts := options()
		opts.Beside = beside
		_, err := scaffold.Create(root, opts)
		check.OK(t, err)
		attributes, _ := os.ReadFile(filepath.Join(dir, scaffold.AttributesFile))
		ignored, _ := os.ReadFile(filepath.Join(dir, scaffold.GitIgnoreFile))
		got := string(attributes) == ".orchestration/seals/** -text\n"
		check.That(t, got == beside, "beside %v: attributes %q", beside, attributes)
		for _, line := range []string{"/agent_trace.jsonl\n", "/trace/\n", "/archive/\n"} {
			got := strings.Contains(string(ignored), "\n"+line)
			check.That(t, got == beside, "beside %v: ignored %q", beside, ignored)
		}
		for _, line := range []string{"/state/\n", "/cache/\n", "/intent_map.md\n"} {
			check.That(t, strings.Contains(string(ignored), "\n"+line), "beside %v: ignored %q", beside, ignored)
		}
	}
}

func TestCreateStaysInside(t *testing.T) {
	outside := t.TempDir()
	dir, root := directory(t, nil)
	check.OK(t, os.Symlink(outside, filepath.Join(dir, ".orchestration")))
	_, err := scaffold.Create(root, options())
	check.That(t, err != nil, "no error")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written outside: %v %v", entries, err)
	}

	dir, root = directory(t, nil)
	check.OK(t, os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, scaffold.AttributesFile)))
	results, err := scaffold.Create(root, options())
	check.That(t, err == nil && results[len(results)-1].Action == scaffold.Kept, "%+v %v", results, err)
}

func TestCheckPlace(t *testing.T) {
	base := t.TempDir()
	home := filepath.Join(base, "home", "me")
	check.OK(t, os.MkdirAll(filepath.Join(home, "work"), 0o755))
	link := filepath.Join(base, "link")
	check.OK(t, os.Symlink(home, link))
	for _, dir := range []string{"/", home, filepath.Dir(home), link} {
		err := scaffold.CheckPlace(dir, home)
		check.That(t, errors.Is(err, scaffold.ErrUnfit), "%s: %v", dir, err)
	}
	for _, dir := range []string{filepath.Join(home, "work"), filepath.Join(base, "home", "you")} {
		err := scaffold.CheckPlace(dir, home)
		check.That(t, err == nil, "%s: %v", dir, err)
	}
}

func TestEnclosingRepository(t *testing.T) {
	dir, _ := directory(t, map[string]string{".git/": "", "a/b/": ""})
	got := scaffold.EnclosingRepository(filepath.Join(dir, "a", "b"))
	check.That(t, got == dir, "got %q", got)
}
