package clientsetup_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// place is a workspace and a home of its own.
type place struct {
	t               *testing.T
	workspace, home string
	opts            clientsetup.Options
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base := t.TempDir()
	p := &place{t: t, workspace: filepath.Join(base, "work space"), home: filepath.Join(base, "home")}
	for _, dir := range []string{p.workspace, p.home} {
		check.OK(t, os.Mkdir(dir, 0o755))
	}
	p.opts = clientsetup.Options{Workspace: p.workspace, Executable: "/opt/bin/orchestra-mcp", Home: p.home, OS: "linux", UserDir: filepath.Join(base, "user"),
		LookupEnv: func(string) (string, bool) { return "", false }}
	return p
}

func (p *place) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.workspace, filepath.FromSlash(name))
	check.OK(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(p.t, os.WriteFile(path, []byte(content), 0o640))
}

func (p *place) read(name string) string {
	p.t.Helper()
	text := check.Value(os.ReadFile(filepath.Join(p.workspace, filepath.FromSlash(name))))(p.t)
	return string(text)
}

func (p *place) plan(client string) *clientsetup.Plan {
	p.t.Helper()
	return check.Value(clientsetup.New(client, p.opts))(p.t)
}

func (p *place) apply(client string) *clientsetup.Plan {
	p.t.Helper()
	plan := p.plan(client)
	check.OK(p.t, plan.Apply(p.workspace))
	return plan
}

func decodeJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	standard, err := hujson.Standardize([]byte(text))
	check.Must(t, err == nil, "not JSON: %v\n%s", err, text)
	var value map[string]any
	err = json.Unmarshal(standard, &value)
	check.Must(t, err == nil, "not a JSON object: %v\n%s", err, text)
	return value
}

func TestEveryClientFromNothingAndAgain(t *testing.T) {
	want := map[string][]string{
		"claude-desktop": {"home/.config/Claude/claude_desktop_config.json"},
		"claude-code":    {".mcp.json", ".claude/settings.json"},
		"cursor":         {".cursor/mcp.json", ".cursor/hooks.json", ".cursor/cli.json"},
		"roo":            {".roo/mcp.json", ".roomodes"},
		"vscode":         {".vscode/mcp.json", ".github/agents/orchestra.agent.md"},
	}
	for _, client := range clientsetup.Names() {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t)
			plan := p.apply(client)
			var names []string
			for _, file := range plan.Files {
				check.That(t, file.Action == clientsetup.Created, "%s is %s, want created", file.Name, file.Action)
				check.That(t, string(file.Fragment) == string(file.Content), "%s: the fragment of a new file is not its content", file.Name)
				names = append(names, strings.TrimPrefix(filepath.ToSlash(file.Name), filepath.ToSlash(filepath.Dir(p.home))+"/"))
			}
			check.That(t, slices.Equal(names, want[client]), "files %q, want %q", names, want[client])
			check.That(t, len(plan.Open) != 0 && plan.Next != "", "the plan does not say what stays open, or what to do next")
			before := snapshot(t, filepath.Dir(p.home))
			again := p.apply(client)
			for _, file := range again.Files {
				check.That(t, file.Action == clientsetup.Unchanged, "second run: %s is %s, want unchanged", file.Name, file.Action)
			}
			after := snapshot(t, filepath.Dir(p.home))
			check.That(t, slices.Equal(before, after), "second run changed files:\n%s\nafter\n%s", before, after)
		})
	}
}

// snapshot lists all files with their content.
func snapshot(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files = append(files, path+"\n"+string(text))
		return err
	})
	check.OK(t, err)
	return files
}

// TestNoMachinesPath: what can be committed works in another clone, in another work tree and on another machine.
func TestNoMachinesPath(t *testing.T) {
	args := map[string][]any{
		"claude-code": {"serve"}, "roo": {"serve"},
		"cursor": {"serve", "--workspace", "${workspaceFolder}"}, "vscode": {"serve", "--workspace", "${workspaceFolder}"},
	}
	absolute := regexp.MustCompile(`"(/|[A-Za-z]:)|'/| /[a-z]`)
	for _, client := range clientsetup.Names() {
		p := newPlace(t)
		plan := p.apply(client)
		for _, file := range plan.Files {
			if !strings.HasPrefix(file.Path, p.workspace) {
				continue
			}
			for _, text := range []string{string(file.Content), string(file.Fragment), p.read(file.Name)} {
				found := absolute.FindString(text)
				check.That(t, found == "" && !strings.Contains(text, p.home) && !strings.Contains(text, p.workspace),
					"%s: %s has a path (%q):\n%s", client, file.Name, found, text)
			}
		}
		entry := plan.Files[0].Content
		var servers map[string]any
		for _, list := range []string{"mcpServers", "servers"} {
			if found, ok := decodeJSON(t, string(entry))[list].(map[string]any); ok {
				servers = found
			}
		}
		ours := servers["orchestra"].(map[string]any)
		want, program := args[client], "orchestra-mcp"
		if want == nil { // a file of the user
			want, program = []any{"serve", "--workspace", p.workspace}, "/opt/bin/orchestra-mcp"
		}
		check.That(t, ours["command"] == program && slices.Equal(ours["args"].([]any), want), "%s: entry %v", client, ours)
	}
}

// TestAnOldEntryLosesItsPath: what an earlier setup wrote is mended; the operator's own flags stay.
func TestAnOldEntryLosesItsPath(t *testing.T) {
	for client, file := range map[string]string{"claude-code": ".mcp.json", "roo": ".roo/mcp.json", "cursor": ".cursor/mcp.json"} {
		p := newPlace(t)
		p.write(file, `{"mcpServers": {"orchestra": {"command": "/old/orchestra-mcp", "args": ["serve", "--workspace", "/old/tree", "--log-level", "debug"]}}}`)
		plan := p.apply(client)
		text := p.read(file)
		check.That(t, !strings.Contains(text, "/old") && strings.Contains(text, `"--log-level", "debug"`) && plan.Files[0].Action == clientsetup.Updated,
			"%s: %s", client, text)
		again := p.plan(client)
		check.That(t, again.Files[0].Action == clientsetup.Unchanged, "%s: again %s", client, again.Files[0].Action)
	}
}

func TestKeepReadTools(t *testing.T) {
	p := newPlace(t)
	p.opts.KeepReadTools = true
	for _, client := range []string{"claude-code", "roo", "vscode", "cursor"} {
		p.apply(client)
	}
	text := p.read(".claude/settings.json")
	check.That(t, !strings.Contains(text, `"Read"`) && strings.Contains(text, `"Write"`), "settings %s", text)
	text = p.read(".roomodes")
	check.That(t, strings.Contains(text, "- read"), "modes %s", text)
	text = p.read(".cursor/hooks.json")
	check.That(t, strings.Contains(text, "--keep-read-tools"), "hooks %s", text)
	// Asking later for less does not give back, asking for more closes.
	p.opts.KeepReadTools = false
	p.apply("claude-code")
	p.apply("cursor")
	text = p.read(".claude/settings.json")
	check.That(t, strings.Contains(text, `"Read"`), "settings %s", text)
	text = p.read(".cursor/hooks.json")
	check.That(t, !strings.Contains(text, "--keep-read-tools") && strings.Count(text, "client-guard") == 1, "hooks %s", text)
	p.opts.KeepReadTools = true
	p.apply("claude-code")
	text = p.read(".claude/settings.json")
	check.That(t, strings.Contains(text, `"Read"`), "a denial was taken back: %s", text)
}

func TestUnknownClient(t *testing.T) {
	_, err := clientsetup.New("emacs", newPlace(t).opts)
	check.That(t, errors.Is(err, clientsetup.ErrUnknownClient) && strings.Contains(err.Error(), "claude-code"), "error %v", err)
}
