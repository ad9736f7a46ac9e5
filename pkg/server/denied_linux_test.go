package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// denialOf is the only thing that the sandbox is said to have denied, "" if there is none.
func denialOf(t *testing.T, r reply) (path, said string) {
	t.Helper()
	all, _ := r.Object["sandbox_denied"].([]any)
	if len(all) == 0 {
		return "", ""
	}
	first, _ := all[0].(map[string]any)
	path, _ = first["path"].(string)
	var parts []string
	for _, key := range []string{"operation", "intent_id", "action_hint", "reason", "suggestion"} {
		text, _ := first[key].(string)
		parts = append(parts, text)
	}
	said = strings.Join(parts, " | ")
	check.That(t, strings.Contains(r.Text, "[the sandbox denied ") && strings.Contains(r.Text, path), "the text does not say so: %s", r.Text)
	return path, said
}

// What failed because of the sandbox is told with its path, the intent and how to ask; what failed for another reason is not.
func TestWhatTheSandboxDeniedIsSaid(t *testing.T) {
	t.Parallel()
	const expand = "write | INT-001 | request_scope_expansion | it is out of the scope of INT-001 | Call request_scope_expansion with paths: "
	cases := []struct{ name, line, path, said string }{
		{"shell", "echo x > $(printf docs/other.md)", "docs/other.md", expand + `["docs/other.md"]`},
		{"new file", "touch docs/new.md", "docs/new.md", expand + `["docs/new.md"]`},
		{"in the directory of cd", "cd docs && touch new.md", "docs/new.md", expand},
		{"other directory", "mkdir -p other/deep", "other", expand + `["other"]`},
		{"temporary beside", "sed -i s/O/o/ docs/other.md", "docs/other.md", expand + `["docs/other.md"]`},
		{"python", "python3 -c \"open('docs/p.md', 'w')\"", "docs/p.md", expand},
		{"owned by another", "touch docs/new.md", "docs/new.md", "Or select INT-"},
		{"git", "touch .git/x", ".git/x", "write | INT-001 | ask_user"},
		{"governance", "echo x >> $(printf .orchestration/active_intents.yaml)", ".orchestration/active_intents.yaml", "it belongs to the governance files"},
		{"program configuration", "mkdir .cursor", ".cursor", "write_to_file, which asks the operator"},
		{"packages from a script", "mkdir -p node_modules/x", "node_modules", "run that command itself"},
		{"outside", "touch ~/mine", "~/mine", "it is outside of the workspace"},
	}
	plain := []struct{ name, line string }{
		{"permission bits of a file", "cat src/closed.txt; echo x >> src/readonly.txt; false"},
		{"permission bits out of scope", "cat docs/closed.md; echo x >> $(printf docs/closed.md)"},
		{"not executable", "src/a.txt"},
		{"not executable, out of scope", "docs/other.md"},
		{"not there", "cat docs/nothing.md"},
		{"only printed", "grep -rn 'file system' docs; false"},
		{"succeeded", "touch docs/new.md || true"},
		{"failed for itself", "exit 3"},
	}
	for level, able := range map[string]func(*server.Options){"full": func(*server.Options) {}, "landlock": landlockOnly} {
		t.Run(level, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, "go.mod", "module x\n")
			check.Write(t, dir, "src/closed.txt", "x")
			check.Write(t, dir, "src/readonly.txt", "x")
			check.Write(t, dir, "docs/closed.md", "x")
			check.Write(t, dir, "docs/errors.md", "EROFS is\ndocs/other.md:Read-only file system\n")
			for name, mode := range map[string]os.FileMode{"src/closed.txt": 0, "docs/closed.md": 0, "src/readonly.txt": 0o444} {
				check.OK(t, os.Chmod(filepath.Join(dir, name), mode))
			}
			b, s := start(t, dir, able).under("INT-001")
			for _, c := range cases {
				r := b.ok("execute_command", args{"session": s, "command": c.line})
				path, said := denialOf(t, r)
				home := os.Getenv("HOME")
				check.That(t, path == strings.Replace(c.path, "~", home, 1) && strings.Contains(said, c.said),
					"%s: %q: %q: %s\n%s", c.name, c.line, path, said, r.Text)
			}
			for _, c := range plain {
				r := b.ok("execute_command", args{"session": s, "command": c.line})
				if path, said := denialOf(t, r); said != "" {
					t.Errorf("%s: %q is laid to the sandbox: %q: %s\n%s", c.name, c.line, path, said, r.Text)
				}
			}
		})
	}
}

// At full there is more that a command does not have.
func TestWhatElseTheSandboxDeniedIsSaid(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/.intentignore", "secret:.env\n")
	check.Write(t, dir, ".env", "KEY=1\n")
	place := check.Value(os.MkdirTemp("/tmp", "orchestra-test-"))(t) // a command has a /tmp of its own
	defer os.RemoveAll(place)
	shared := filepath.Join(place, "shared.txt")
	check.Write(t, place, "shared.txt", "x")
	b, s := start(t, dir, func(o *server.Options) { o.Settings.Commands.Network = "deny" }).under("INT-001")
	check.Write(t, dir, "go.mod", "module x\n")
	for line, want := range map[string][2]string{
		"cat .env":      {".env", "read |  | choose_different_file"},
		"cat " + shared: {shared, "commands see a private directory in the place of /tmp"},
		"mv src src2":   {"src2", "write | INT-001 | request_scope_expansion"},
		"rm -r src":     {"src", "move |  | follow_constraints"},
		"touch docs/new.md 2>&1 | sed 's/.*: //'; false":                            {"", "write | INT-001 | request_scope_expansion | the command tried to write something"},
		"chown 12345 go.mod":                                                        {"", "root |  | follow_constraints"},
		"python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80))\"": {"", "connect | INT-001 | ask_user | the settings deny commands the network"},
	} {
		check.Write(t, dir, "src/a.txt", "x")
		r := b.ok("execute_command", args{"session": s, "command": line})
		path, said := denialOf(t, r)
		check.That(t, path == want[0] && strings.Contains(said, want[1]), "%q: %q: %s\n%s", line, path, said, r.Text)
	}
}

// What the operator has let through, the sandbox lets through as well, existing or not.
func TestAnApprovedRedirectionIsWritten(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir, asks, func(o *server.Options) { o.Settings.Approvals.ProgramConfig = settings.Ask }).under("INT-001")
	check.Write(t, dir, ".vscode/settings.json", "{}\n")
	for _, line := range []string{"echo new > docs/other.md", "echo new > docs/new.md", "echo new > .vscode/settings.json", "echo new > .mcp.json"} {
		call := args{"session": s, "command": line}
		b.answers(b.required("execute_command", call), approval.Once, "")
		r := b.ok("execute_command", call)
		name := strings.Fields(line)[3]
		check.That(t, r.Object["exit_code"] == float64(0) && b.read(name) == "new\n", "%s: %s", line, r.Text)
	}
}
