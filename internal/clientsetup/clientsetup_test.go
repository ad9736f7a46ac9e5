package clientsetup_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"

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
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.opts = clientsetup.Options{Workspace: p.workspace, Command: "/opt/bin/orchestra-mcp", Home: p.home, OS: "linux",
		LookupEnv: func(string) (string, bool) { return "", false }}
	return p
}

func (p *place) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.workspace, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.workspace, filepath.FromSlash(name)))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

func (p *place) plan(client string) *clientsetup.Plan {
	p.t.Helper()
	plan, err := clientsetup.New(client, p.opts)
	if err != nil {
		p.t.Fatal(err)
	}
	return plan
}

func (p *place) apply(client string) *clientsetup.Plan {
	p.t.Helper()
	plan := p.plan(client)
	if err := plan.Apply(p.workspace); err != nil {
		p.t.Fatal(err)
	}
	return plan
}

func decodeJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	standard, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	var value map[string]any
	if err := json.Unmarshal(standard, &value); err != nil {
		t.Fatalf("not a JSON object: %v\n%s", err, text)
	}
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
				if file.Action != clientsetup.Created {
					t.Errorf("%s is %s, want created", file.Name, file.Action)
				}
				if string(file.Fragment) != string(file.Content) {
					t.Errorf("%s: the fragment of a new file is not its content", file.Name)
				}
				names = append(names, strings.TrimPrefix(filepath.ToSlash(file.Name), filepath.ToSlash(filepath.Dir(p.home))+"/"))
			}
			if !slices.Equal(names, want[client]) {
				t.Errorf("files %q, want %q", names, want[client])
			}
			if len(plan.Open) == 0 || plan.Next == "" {
				t.Error("the plan does not say what stays open, or what to do next")
			}
			before := snapshot(t, filepath.Dir(p.home))
			again := p.apply(client)
			for _, file := range again.Files {
				if file.Action != clientsetup.Unchanged {
					t.Errorf("second run: %s is %s, want unchanged", file.Name, file.Action)
				}
			}
			if after := snapshot(t, filepath.Dir(p.home)); !slices.Equal(before, after) {
				t.Errorf("second run changed files:\n%s\nafter\n%s", before, after)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestServerEntry(t *testing.T) {
	p := newPlace(t)
	p.apply("claude-code")
	p.apply("vscode")
	for name, list := range map[string]string{".mcp.json": "mcpServers", ".vscode/mcp.json": "servers"} {
		servers := decodeJSON(t, p.read(name))[list].(map[string]any)
		entry := servers["orchestra"].(map[string]any)
		args := entry["args"].([]any)
		if entry["type"] != "stdio" || entry["command"] != "/opt/bin/orchestra-mcp" ||
			len(args) != 3 || args[0] != "serve" || args[1] != "--workspace" || args[2] != p.workspace {
			t.Errorf("%s: entry %v", name, entry)
		}
	}
}

func TestMergeKeepsWhatIsThere(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"comments and trailing commas", `{
	// our servers
	"servers": {
		"db": {"command": "db", "args": []}, // the database
	},
	"inputs": [], /* none yet */
}
`, `{
	// our servers
	"servers": {
		"db": {"command": "db", "args": []}, // the database
		"orchestra": {
			"type": "stdio",
			"command": "/opt/bin/orchestra-mcp",
			"args": ["serve", "--workspace", "WORKSPACE"]
		},
	},
	"inputs": [], /* none yet */
}
`},
		{"comment behind the last one without a comma", `{
  "inputs": [] // none
}
`, `{
  "inputs": [], // none
  "servers": {
    "orchestra": {
      "type": "stdio",
      "command": "/opt/bin/orchestra-mcp",
      "args": ["serve", "--workspace", "WORKSPACE"]
    }
  }
}
`},
		{"on one line", `{"servers":{"a":{"url":"http://x"}}}`,
			`{"servers":{"a":{"url":"http://x"}, "orchestra": {
      "type": "stdio",
      "command": "/opt/bin/orchestra-mcp",
      "args": ["serve", "--workspace", "WORKSPACE"]
    }}}`},
		{"an old entry of ours with the operator's own keys", `{
    "servers": {
        "orchestra": {
            "command": "/old/orchestra-mcp",
            "args": ["serve"],
            "env": {"A": "b"}, // mine
            "type": "stdio"
        }
    }
}`, `{
    "servers": {
        "orchestra": {
            "command": "/opt/bin/orchestra-mcp",
            "args": ["serve", "--workspace", "WORKSPACE"],
            "env": {"A": "b"}, // mine
            "type": "stdio"
        }
    }
}`},
		{"line ends and byte order mark of Windows", "\ufeff{\r\n  \"inputs\": []\r\n}\r\n",
			"\ufeff{\r\n  \"inputs\": [],\r\n  \"servers\": {\r\n    \"orchestra\": {\r\n      \"type\": \"stdio\",\r\n" +
				"      \"command\": \"/opt/bin/orchestra-mcp\",\r\n      \"args\": [\"serve\", \"--workspace\", \"WORKSPACE\"]\r\n    }\r\n  }\r\n}\r\n"},
		{"empty file", "", "{\n  \"servers\": {\n    \"orchestra\": {\n      \"type\": \"stdio\",\n" +
			"      \"command\": \"/opt/bin/orchestra-mcp\",\n      \"args\": [\"serve\", \"--workspace\", \"WORKSPACE\"]\n    }\n  }\n}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(".vscode/mcp.json", test.before)
			plan := p.apply("vscode")
			if plan.Files[0].Action != clientsetup.Updated {
				t.Errorf("action %s", plan.Files[0].Action)
			}
			want := strings.ReplaceAll(test.after, "WORKSPACE", p.workspace)
			if got := p.read(".vscode/mcp.json"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if again := p.plan("vscode"); again.Files[0].Action != clientsetup.Unchanged {
				t.Errorf("second run: %s", again.Files[0].Action)
			}
			info, err := os.Stat(filepath.Join(p.workspace, ".vscode/mcp.json"))
			if err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v (%v), want that of the old file", info.Mode(), err)
			}
		})
	}
}

func TestClaudeCodeDenials(t *testing.T) {
	p := newPlace(t)
	p.write(".claude/settings.json", `{
  "model": "opus",
  "permissions": {
    "allow": ["WebFetch"],
    "deny": [
      "Read(./.env)",
      "Bash"
    ]
  }
}
`)
	plan := p.apply("claude-code")
	want := `{
  "model": "opus",
  "permissions": {
    "allow": ["WebFetch"],
    "deny": [
      "Read(./.env)",
      "Bash",
      "PowerShell",
      "Monitor",
      "Edit",
      "Write",
      "NotebookEdit",
      "EnterWorktree",
      "Read",
      "Grep",
      "Glob"
    ]
  }
}
`
	if got := p.read(".claude/settings.json"); got != want {
		t.Errorf("got\n%s", got)
	}
	if detail := plan.Files[1].Detail; strings.Contains(detail, "Bash") || !strings.Contains(detail, "Write") {
		t.Errorf("detail %q should name what is added, and only that", detail)
	}
}

func TestKeepReadTools(t *testing.T) {
	p := newPlace(t)
	p.opts.KeepReadTools = true
	for _, client := range []string{"claude-code", "roo", "vscode", "cursor"} {
		p.apply(client)
	}
	if text := p.read(".claude/settings.json"); strings.Contains(text, `"Read"`) || !strings.Contains(text, `"Write"`) {
		t.Errorf("settings %s", text)
	}
	if text := p.read(".roomodes"); !strings.Contains(text, "- read") {
		t.Errorf("modes %s", text)
	}
	if text := p.read(".cursor/hooks.json"); !strings.Contains(text, "--keep-read-tools") {
		t.Errorf("hooks %s", text)
	}
	// Asking later for less does not give back, asking for more closes.
	p.opts.KeepReadTools = false
	p.apply("claude-code")
	p.apply("cursor")
	if text := p.read(".claude/settings.json"); !strings.Contains(text, `"Read"`) {
		t.Errorf("settings %s", text)
	}
	if text := p.read(".cursor/hooks.json"); strings.Contains(text, "--keep-read-tools") || strings.Count(text, "client-guard") != 1 {
		t.Errorf("hooks %s", text)
	}
	p.opts.KeepReadTools = true
	p.apply("claude-code")
	if text := p.read(".claude/settings.json"); !strings.Contains(text, `"Read"`) {
		t.Errorf("a denial was taken back: %s", text)
	}
}

func TestStrictClientsAreWarnedOfComments(t *testing.T) {
	p := newPlace(t)
	p.write(".claude/settings.json", "{\n  // mine\n}\n")
	plan := p.plan("claude-code")
	if len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0], ".claude/settings.json") {
		t.Errorf("warnings %q", plan.Warnings)
	}
}

func TestUnmergeableFilesAreLeftAlone(t *testing.T) {
	tests := []struct{ client, file, content string }{
		{"vscode", ".vscode/mcp.json", "{ not json"},
		{"vscode", ".vscode/mcp.json", "[]"},
		{"vscode", ".vscode/mcp.json", `{"servers": []}`},
		{"vscode", ".vscode/mcp.json", `{"servers": {"orchestra": "x"}}`},
		{"vscode", ".vscode/mcp.json", `{"servers": {}, "servers": {}}`},
		{"claude-code", ".claude/settings.json", `{"permissions": {"deny": "Bash"}}`},
		{"claude-code", ".claude/settings.json", `{"permissions": {"deny": []}, "permissions": {}}`},
		{"cursor", ".cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": {}}}`},
		{"roo", ".roomodes", "customModes: [{slug: a, name: A}]\n"},
		{"roo", ".roomodes", "customModes:\n  - slug: [\n"},
		{"roo", ".roomodes", "customModes: 3\n"},
		{"roo", ".roomodes", `{"customModes": 3}`},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: [\n---\n"},
	}
	for _, test := range tests {
		p := newPlace(t)
		p.write(test.file, test.content)
		_, err := clientsetup.New(test.client, p.opts)
		if !errors.Is(err, clientsetup.ErrUnmergeable) || !strings.Contains(err.Error(), test.file) {
			t.Errorf("%s with %q: error %v, want one that names the file", test.file, test.content, err)
		}
		if got := p.read(test.file); got != test.content {
			t.Errorf("%s was changed to %q", test.file, got)
		}
	}
}

func TestLinksOutOfTheWorkspaceAreNotFollowed(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(p.home, "settings.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.workspace, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := clientsetup.New("claude-code", p.opts); !errors.Is(err, clientsetup.ErrOutside) {
		t.Errorf("file link: %v", err)
	}
	q := newPlace(t)
	if err := os.Symlink(q.home, filepath.Join(q.workspace, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if _, err := clientsetup.New("cursor", q.opts); !errors.Is(err, clientsetup.ErrOutside) {
		t.Errorf("directory link: %v", err)
	}
}

func TestLinkedHomeConfigurationStaysALink(t *testing.T) {
	p := newPlace(t)
	dotfiles := filepath.Join(p.home, "dotfiles.json")
	if err := os.WriteFile(dotfiles, []byte(`{"mcpServers": {"fs": {"command": "fs"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(p.home, ".config", "Claude", "claude_desktop_config.json")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfiles, config); err != nil {
		t.Fatal(err)
	}
	plan := p.apply("claude-desktop")
	if info, err := os.Lstat(config); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	text, err := os.ReadFile(dotfiles)
	if err != nil || !strings.Contains(string(text), `"orchestra"`) || !strings.Contains(string(text), `"fs"`) {
		t.Errorf("%s %v", text, err)
	}
	if !slices.ContainsFunc(plan.Open, func(s string) bool { return strings.Contains(s, `"fs"`) }) {
		t.Errorf("the other server is not named among what stays open: %q", plan.Open)
	}
}

func TestDesktopServesSeveralWorkspaces(t *testing.T) {
	p := newPlace(t)
	p.apply("claude-desktop")
	q := *p
	q.workspace = filepath.Join(filepath.Dir(p.workspace), "other ä")
	if err := os.Mkdir(q.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	q.opts.Workspace = q.workspace
	plan := q.apply("claude-desktop")
	servers := decodeJSON(t, string(plan.Files[0].Content))["mcpServers"].(map[string]any)
	if len(servers) != 2 || servers["orchestra"] == nil || servers["orchestra-other"] == nil {
		t.Errorf("servers %v", servers)
	}
	for _, each := range []*place{p, &q} {
		if again := each.plan("claude-desktop"); again.Files[0].Action != clientsetup.Unchanged {
			t.Errorf("%s: %s", each.workspace, again.Files[0].Action)
		}
	}
}

func TestDesktopConfigurationPerSystem(t *testing.T) {
	env := map[string]string{"APPDATA": `/appdata`, "XDG_CONFIG_HOME": "/xdg"}
	for system, want := range map[string]string{
		"darwin": "HOME/Library/Application Support/Claude/claude_desktop_config.json", "windows": "/appdata/Claude/claude_desktop_config.json",
		"linux": "/xdg/Claude/claude_desktop_config.json",
	} {
		p := newPlace(t)
		p.opts.OS = system
		p.opts.LookupEnv = func(name string) (string, bool) { value, ok := env[name]; return value, ok }
		want = strings.Replace(want, "HOME", p.home, 1)
		if got := p.plan("claude-desktop").Files[0].Path; got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
}

func TestRooModes(t *testing.T) {
	tests := []struct{ name, before string }{
		{"none", ""},
		{"only a comment", "# our modes\n"},
		{"other keys", "other: 1\n"},
		{"an empty list", "customModes: [] # none\nother: 1\n"},
		{"nothing behind the key", "customModes:\n"},
		{"indented list, no final line break", "customModes:\n  - slug: docs\n    name: Docs\n    groups:\n      - read\n      - - edit\n        - fileRegex: \\.md$"},
		{"list at the margin, a key and comments behind it", "# modes\ncustomModes:\n- slug: docs # keep\n  name: \"Docs\"\n  groups: [read]\n\n# the rest\nother:\n  - 1\n"},
		{"block text at the end", "customModes:\n  - slug: docs\n    groups: [read]\n    customInstructions: |-\n      One\n\n      # not a comment\n"},
		{"JSON", "{\n  \"customModes\": [\n    {\"slug\": \"docs\", \"name\": \"D\", \"groups\": [\"read\", [\"edit\", {\"fileRegex\": \"x\"}]]}\n  ]\n}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(".roomodes", test.before)
			p.apply("roo")
			after := p.read(".roomodes")
			var was, is struct {
				CustomModes []map[string]any `yaml:"customModes"`
				Other       any              `yaml:"other"`
			}
			if err := errors.Join(yaml.Unmarshal([]byte(test.before), &was), yaml.Unmarshal([]byte(after), &is)); err != nil {
				t.Fatalf("%v\n%s", err, after)
			}
			if len(is.CustomModes) != len(was.CustomModes)+1 {
				t.Fatalf("modes:\n%s", after)
			}
			mode := is.CustomModes[len(was.CustomModes)]
			if groups := mode["groups"].([]any); mode["slug"] != "orchestra" || len(groups) != 1 || groups[0] != "mcp" {
				t.Errorf("mode %v", mode)
			}
			is.CustomModes = is.CustomModes[:len(was.CustomModes)]
			left, _ := json.Marshal(was)
			right, _ := json.Marshal(is)
			if string(left) != string(right) && len(was.CustomModes) > 0 {
				t.Errorf("the others changed:\n%s\n%s", left, right)
			}
			for line := range strings.Lines(test.before) {
				if line = strings.TrimSuffix(strings.TrimRight(line, "\n"), " [] # none"); !strings.Contains(after, line) {
					t.Errorf("line %q is gone:\n%s", line, after)
				}
			}
			if again := p.plan("roo"); again.Files[1].Action != clientsetup.Unchanged {
				t.Errorf("second run: %s", again.Files[1].Action)
			}
		})
	}
}

func TestHandMadeModesAndAgentsAreKept(t *testing.T) {
	tests := []struct{ client, file, content string }{
		{"roo", ".roomodes", "customModes:\n  - slug: orchestra\n    name: mine\n    groups: [mcp, command]\n"},
		{"roo", ".roomodes", `{"customModes": [{"slug": "orchestra", "groups": ["mcp", ["edit", {"fileRegex": "x"}]]}]}`},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: ['orchestra/*', 'edit']\n---\nmine\n"},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: orchestra/*, edit\n---\nmine\n"},
		{"vscode", ".github/agents/orchestra.agent.md", "mine, without a list of tools\n"},
	}
	for _, test := range tests {
		p := newPlace(t)
		p.write(test.file, test.content)
		plan := p.apply(test.client)
		if !plan.Weakened() || p.read(test.file) != test.content {
			t.Errorf("%s %q: weakened %v, now %q", test.client, test.content, plan.Weakened(), p.read(test.file))
		}
	}
	p := newPlace(t)
	p.write(".github/agents/orchestra.agent.md", "---\r\ntools: ['orchestra/read_file']\r\n---\r\nmine, stricter\r\n")
	if plan := p.apply("vscode"); plan.Weakened() || plan.Files[1].Action != clientsetup.Unchanged {
		t.Errorf("a stricter agent was not accepted: %+v", plan.Files[1])
	}
}

func TestAFileThatChangesMeanwhileIsNotOverwritten(t *testing.T) {
	p := newPlace(t)
	plan := p.plan("claude-code")
	p.write(".mcp.json", `{"mine": 1}`)
	if err := plan.Apply(p.workspace); !errors.Is(err, clientsetup.ErrChanged) {
		t.Errorf("error %v", err)
	}
	if got := p.read(".mcp.json"); got != `{"mine": 1}` {
		t.Errorf("now %q", got)
	}
}

func TestUnknownClient(t *testing.T) {
	_, err := clientsetup.New("emacs", newPlace(t).opts)
	if !errors.Is(err, clientsetup.ErrUnknownClient) || !strings.Contains(err.Error(), "claude-code") {
		t.Errorf("error %v", err)
	}
}

func TestCursorGuard(t *testing.T) {
	tests := []struct {
		input, want string
		keepRead    bool
	}{
		{input: `{"tool_name": "MCP:write_to_file"}`, want: "allow"},
		{input: `{"tool_name": "Task"}`, want: "allow"},
		{input: `{"tool_name": "Shell"}`, want: "deny"},
		{input: `{"tool_name": "Write"}`, want: "deny"},
		{input: `{"tool_name": "SomethingNew"}`, want: "deny"},
		{input: `{"tool_name": "Read"}`, want: "deny"},
		{input: `{"tool_name": "Read"}`, want: "allow", keepRead: true},
		{input: `{"tool_name": "Write"}`, want: "deny", keepRead: true},
		{input: `{}`, want: "deny"},
		{input: ``, want: "deny"},
		{input: `[1`, want: "deny"},
	}
	for _, test := range tests {
		var out strings.Builder
		if err := clientsetup.CursorGuard(strings.NewReader(test.input), &out, test.keepRead); err != nil {
			t.Fatal(err)
		}
		answer := decodeJSON(t, out.String())
		if answer["permission"] != test.want {
			t.Errorf("%s (reading kept: %v): %v", test.input, test.keepRead, answer)
		}
		if test.want == "deny" && !strings.Contains(answer["user_message"].(string), "read_file") {
			t.Errorf("%s: the refusal does not say what to use: %v", test.input, answer)
		}
	}
}

func TestMovedBinaryReplacesItsHook(t *testing.T) {
	p := newPlace(t)
	p.write(".cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": [{"command": "mine.sh", "matcher": "Shell"}], "stop": [{"command": "x"}]}}`)
	p.apply("cursor")
	p.opts.Command = "/new place/orchestra-mcp"
	p.apply("cursor")
	hooks := decodeJSON(t, p.read(".cursor/hooks.json"))["hooks"].(map[string]any)
	list := hooks["preToolUse"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["command"] != "mine.sh" || hooks["stop"] == nil {
		t.Fatalf("hooks %v", hooks)
	}
	ours := list[1].(map[string]any)
	if ours["command"] != "'/new place/orchestra-mcp' client-guard cursor" || ours["failClosed"] != true {
		t.Errorf("our hook %v", ours)
	}
}

func FuzzMergeJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"servers":{}}`, "{\n \"a\": 1, // x\n}", `{"servers":{"orchestra":{"args":[1,],}}}`, "\ufeff{}", "{/**/}", `{"a":[],"servers":{"b":{}}/*c*/}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newPlace(t)
		p.write(".vscode/mcp.json", text)
		plan, err := clientsetup.New("vscode", p.opts)
		if err != nil {
			if !errors.Is(err, clientsetup.ErrUnmergeable) {
				t.Fatalf("error %v", err)
			}
			return
		}
		p.write(".vscode/mcp.json", string(plan.Files[0].Content))
		again, err := clientsetup.New("vscode", p.opts)
		if err != nil || again.Files[0].Action != clientsetup.Unchanged {
			t.Fatalf("second run: %v on\n%s", err, plan.Files[0].Content)
		}
	})
}

func FuzzRooModes(f *testing.F) {
	for _, seed := range []string{
		"", "customModes:\n", "customModes: []\n", "customModes:\n- slug: a\n  x: |+\n    b\n\n\nother: 1\n", "a: 1\n...\n",
		"---\ncustomModes:\n  - slug: a\n    groups: [read]\n# end", "{\"customModes\": []}", "customModes: &x\n  - slug: a\nb: *x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newPlace(t)
		p.write(".roomodes", text)
		plan, err := clientsetup.New("roo", p.opts)
		if err != nil {
			if !errors.Is(err, clientsetup.ErrUnmergeable) {
				t.Fatalf("error %v", err)
			}
			return
		}
		after := string(plan.Files[1].Content)
		isJSON := strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), "{")
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); isJSON || strings.HasPrefix(line, "customModes:") {
				continue
			}
			if !strings.Contains(after, line) {
				t.Fatalf("line %q is gone:\n%s", line, after)
			}
		}
		p.write(".roomodes", after)
		again, err := clientsetup.New("roo", p.opts)
		if err != nil || string(again.Files[1].Content) != after {
			t.Fatalf("second run: %v on\n%s", err, after)
		}
	})
}

// TestDocs holds docs/clients.md to what is written: each file and each tool that is taken away stands there.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(text)
	for _, client := range clientsetup.Names() {
		plan := newPlace(t).plan(client)
		if !strings.Contains(docs, "## "+plan.Title+"\n") {
			t.Errorf("docs/clients.md has no section on %s", plan.Title)
		}
		for _, file := range plan.Files {
			if name := filepath.ToSlash(file.Name); !strings.Contains(docs, "`"+name+"`") && !strings.Contains(docs, "`"+filepath.Base(name)+"`") {
				t.Errorf("docs/clients.md does not name %s", name)
			}
			deny, _ := decodedAt(string(file.Fragment), "permissions", "deny").([]any)
			for _, tool := range deny {
				if !strings.Contains(docs, "`"+tool.(string)+"`") {
					t.Errorf("docs/clients.md does not name %s", tool)
				}
			}
		}
	}
}

func decodedAt(text string, path ...string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return nil
	}
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}
