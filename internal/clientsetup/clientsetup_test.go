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
	p.opts = clientsetup.Options{Workspace: p.workspace, Launch: clientsetup.At("/opt/bin/orchestra-mcp"), Home: p.home, OS: "linux", UserDir: filepath.Join(base, "user"),
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
		"codex":          {".codex/config.toml", ".codex/hooks.json"},
		"copilot":        {".github/mcp.json", ".github/hooks/orchestra.json"},
		"cursor":         {".cursor/mcp.json", ".cursor/hooks.json"},
		"cline": {"home/.cline/data/settings/cline_mcp_settings.json", ".clinerules/hooks/PreToolUse", ".clinerules/hooks/PostToolUse",
			".clinerules/hooks/TaskComplete", ".clinerules/hooks/TaskCancel"},
		"devin":    {".devin/config.json", ".devin/hooks.v1.json"},
		"gemini":   {".gemini/settings.json"},
		"opencode": {"opencode.json", ".opencode/plugins/orchestra.js"},
		"roo":      {".roo/mcp.json", ".roomodes"},
		"vscode":   {".vscode/mcp.json", ".github/hooks/orchestra.json", ".github/agents/orchestra.agent.md"},
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
	args := map[string][]string{"cursor": {"--workspace", "${workspaceFolder}"}, "vscode": {"--workspace", "${workspaceFolder}"}}
	absolute, words := regexp.MustCompile(`"(/|[A-Za-z]:)|'/| /[a-z]`), regexp.MustCompile(`"[^"]*"`)
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
		ours := plan.Files[0].Content
		want, program := args[client], "orchestra-mcp"
		if client == "claude-desktop" || client == "cline" { // a file of the user
			want, program = []string{"--workspace", p.workspace}, "/opt/bin/orchestra-mcp"
		}
		line := slices.Concat([]string{program, "serve"}, want)
		got := words.FindAllString(string(ours), -1)
		at := slices.Index(got, `"`+program+`"`)
		check.Must(t, at >= 0 && len(got) >= at+len(line), "%s: %s", client, ours)
		got = slices.DeleteFunc(got[at:], func(word string) bool { return word == `"args"` })[:len(line)]
		check.That(t, strings.Join(got, " ") == `"`+strings.Join(line, `" "`)+`"`, "%s: entry %q", client, got)
	}
}

// TestAnOldEntryLosesItsPath: what an earlier setup wrote is mended; the operator's own flags stay.
func TestAnOldEntryLosesItsPath(t *testing.T) {
	for client, file := range map[string]string{"claude-code": ".mcp.json", "roo": ".roo/mcp.json", "cursor": ".cursor/mcp.json", "gemini": ".gemini/settings.json"} {
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

func TestUnknownClient(t *testing.T) {
	_, err := clientsetup.New("emacs", newPlace(t).opts)
	check.That(t, errors.Is(err, clientsetup.ErrUnknownClient) && strings.Contains(err.Error(), "claude-code"), "error %v", err)
}
