package clientsetup_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// ownText is a file as Claude Code has it, with servers of its user's; WORKSPACE is the project.
const ownText = `{
  "numStartups": 3,
  "oauthAccount": {"secret": "acc0unt"},
  "mcpServers": {
    "orchestra": {"command": "orchestra-mcp", "args": ["serve"]},
    "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"KEY": "s3cret"}},
    "both": {"command": "users"}
  },
  "projects": {
    "/other": {"mcpServers": {"no": {"command": "no"}}},
    "WORKSPACE": {
      "allowedTools": [],
      "mcpServers": {
        "both":  {"type": "http",   "url": "https://api.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "old": {"type": "sse", "url": "https://x"},
        "off": {"command": "off"},
        "here": {"type": "stdio", "command": "uv", "args": ["--directory", "WORKSPACE", "run", "./server.js"], "env": {"A": "a"}},
        "bin": {"command": "WORKSPACE/bin/a"}
      },
      "disabledMcpServers": ["off"],
      "history": ["a < b"]
    }
  }
}
`

func (p *place) own() string { return filepath.Join(p.home, ".claude.json") }

func (p *place) writeOwn(text string) string {
	p.t.Helper()
	text = strings.ReplaceAll(text, "WORKSPACE", p.workspace)
	check.OK(p.t, os.WriteFile(p.own(), []byte(text), 0o600))
	return text
}

func (p *place) readOwn() string {
	p.t.Helper()
	return string(check.Value(os.ReadFile(p.own()))(p.t))
}

// TestLocalServersMove: those that Claude Code has for its user in this project come into the user's settings, and those of all
// projects stay; the rest of the file is nobody's business.
func TestLocalServersMove(t *testing.T) {
	p := adopting(t)
	before := p.writeOwn(ownText)
	p.opts.Adopt = false
	open := strings.Join(p.plan("claude-code").Open, "\n")
	check.That(t, strings.Contains(open, "do not pass the gate: bin, both, here, off, old, memory."), "%s", open)
	p.opts.Adopt = true
	plan := p.apply("claude-code")
	left := map[string]string{}
	for _, l := range plan.Adoption.Left {
		left[l.Key] = l.Why
	}
	for key, parts := range map[string][]string{
		"old": {"SSE"}, "off": {"switched off"}, "bin": {"in the workspace"},
		"both": {`{"name":"both-2","command":"users"}`, "claude mcp remove both --scope user"}, // which is no longer hidden
		"memory": {"for all projects, also where this server is not set up", `{"name":"memory","command":"npx","args":["-y","@modelcontextprotocol/server-memory"],"mapping":"memory"}`,
			"put KEY into " + filepath.Join(p.opts.UserSecrets, "memory.secrets"), "claude mcp remove memory --scope user"},
	} {
		for _, part := range parts {
			check.That(t, strings.Contains(left[key], part) && !strings.Contains(left[key], "s3cret"), "%s lacks %q: %s", key, part, left[key])
		}
	}
	moved := plan.Adoption.Moved
	check.Must(t, len(moved) == 2 && len(left) == 5, "%+v", plan.Adoption)
	check.That(t, slices.Equal(moved[0].Taken, []string{"Authorization from TOKEN"}) && moved[0].Local && moved[0].From == p.own(), "%+v", moved[0])
	want := "servers:\n  - name: both\n    url: https://api.example/mcp\n  - name: here\n    command: uv\n    args: [\"--directory\", \"" + p.workspace + "\", \"run\", \"" + p.workspace + "/server.js\"]\n"
	check.Equal(t, p.user("config.yaml"), want)
	check.That(t, p.user("servers/both.secrets") == "Authorization: Bearer t0ken\n" && p.user("servers/here.secrets") == "A=a\n", "%s", p.user("servers/both.secrets"))
	after := before
	for _, entry := range []string{
		"        \"both\":  {\"type\": \"http\",   \"url\": \"https://api.example/mcp\", \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}},\n",
		"        \"here\": {\"type\": \"stdio\", \"command\": \"uv\", \"args\": [\"--directory\", \"" + p.workspace + "\", \"run\", \"./server.js\"], \"env\": {\"A\": \"a\"}},\n",
	} {
		after = strings.Replace(after, entry, "", 1)
	}
	check.Equal(t, p.readOwn(), after)
	if info := check.Value(os.Stat(p.own()))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	receipts := check.Value(filepath.Glob(filepath.Join(p.opts.UserDir, "setup", "*")))(t)
	for _, name := range receipts {
		var receipt struct{ Before []byte }
		check.OK(t, json.Unmarshal(check.Value(os.ReadFile(name))(t), &receipt))
		check.That(t, !strings.Contains(string(receipt.Before), "acc0unt") && !strings.Contains(string(receipt.Before), "s3cret"), "%s", receipt.Before)
	}
	again := p.plan("claude-code")
	check.That(t, !again.Changes() && len(again.Adoption.Moved) == 0, "a second run: %+v", again.Adoption)
	removal := p.remove("claude-code")
	check.That(t, len(removal.Adoption.Moved) == 2 && len(removal.Adoption.Left) == 0, "%+v", removal.Adoption)
	check.Equal(t, p.readOwn(), before)
	check.That(t, p.user("config.yaml")+p.user("servers/both.secrets")+p.user("servers/here.secrets") == "", "left behind: %s", p.user("config.yaml"))
	check.That(t, !p.remove("claude-code").Changes(), "a second removal")
}

// TestLocalServersElsewhere: CLAUDE_CONFIG_DIR says where the file is, and a link to the workspace is the workspace.
func TestLocalServersElsewhere(t *testing.T) {
	p := adopting(t)
	dir := t.TempDir()
	p.opts.LookupEnv = func(name string) (string, bool) { return dir, name == "CLAUDE_CONFIG_DIR" }
	text := `{"projects":{"` + p.workspace + `":{"mcpServers":{"a":{"command":"a"}}}}}`
	check.OK(t, os.WriteFile(filepath.Join(dir, ".claude.json"), []byte(text), 0o600))
	link := filepath.Join(p.home, "link")
	check.OK(t, os.Symlink(p.workspace, link))
	p.opts.Workspace = link
	check.That(t, len(p.plan("claude-code").Adoption.Moved) == 1, "%+v", p.plan("claude-code").Adoption)
	p.opts.Workspace = p.workspace
	p.apply("claude-code")
	got := check.Value(os.ReadFile(filepath.Join(dir, ".claude.json")))(t)
	check.Equal(t, string(got), `{"projects":{"`+p.workspace+`":{"mcpServers":{}}}}`)
}

// TestLocalServersOfTheRepository: Claude Code lists those of each directory and work tree of a repository under its first top, and
// what others use too stays, and is named.
func TestLocalServersOfTheRepository(t *testing.T) {
	p := adopting(t)
	before := p.writeOwn(`{"projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "a"}, "both": {"command": "b"}}}}, "mcpServers": {"both": {"command": "users"}}}`)
	check.OK(t, os.MkdirAll(filepath.Join(p.workspace, ".git/worktrees/w"), 0o755))
	p.write(".git/worktrees/w/commondir", "../..\n")
	tree := filepath.Join(p.home, "tree")
	check.OK(t, os.Mkdir(tree, 0o755))
	check.OK(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+p.workspace+"/.git/worktrees/w\n"), 0o644))
	for _, dir := range []string{tree, filepath.Join(p.workspace, "src")} {
		q := *p
		q.workspace, q.opts.Workspace = dir, dir
		a := q.apply("claude-code").Adoption
		check.Must(t, len(a.Moved) == 0 && len(a.Left) == 2 && a.Left[1].Key == "both", "%s: %+v", dir, a)
		check.That(t, strings.Contains(a.Left[0].Why, "for the whole repository "+p.workspace) && strings.Contains(a.Left[0].Why, "claude mcp remove a --scope local"), "%+v", a.Left)
		check.Equal(t, p.readOwn(), before)
	}
	a := p.apply("claude-code").Adoption
	check.That(t, len(a.Moved) == 2 && len(a.Left) == 1 && strings.Contains(a.Left[0].Why, "--scope user"), "%+v", a)
}

// TestLocalAndProjectNames: servers of both kinds get different names of ours.
func TestLocalAndProjectNames(t *testing.T) {
	p := adopting(t)
	p.write(".mcp.json", `{"mcpServers": {"a": {"command": "shared"}}}`)
	p.writeOwn(`{"projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "mine"}}}}}`)
	p.apply("claude-code")
	check.Equal(t, p.read(workspaceConfig), "servers:\n  - name: a\n    command: shared\n")
	check.Equal(t, p.user("config.yaml"), "servers:\n  - name: a-2\n    command: mine\n")
}

// TestClaudeCodeWritesMeanwhile: what it wrote stays, and each entry is back with every byte of it.
func TestClaudeCodeWritesMeanwhile(t *testing.T) {
	p := adopting(t)
	entry := `{"command":   "a",   "args": ["<b>"]}`
	p.writeOwn(`{"n": 1, "projects": {"WORKSPACE": {"mcpServers": {"a": ` + entry + `, "sse": {"type": "sse", "url": "https://x"}}}}}`)
	p.apply("claude-code")
	var root map[string]any
	check.OK(t, json.Unmarshal([]byte(p.readOwn()), &root))
	root["n"] = 2
	project := root["projects"].(map[string]any)[p.workspace].(map[string]any)
	project["mcpServers"].(map[string]any)["b"] = map[string]any{"command": "b"}
	p.writeOwn(string(check.Value(json.MarshalIndent(root, "", "  "))(t)))
	p.apply("claude-code") // b moves too
	check.That(t, strings.Contains(p.user("config.yaml"), "name: b"), "%s", p.user("config.yaml"))
	p.writeOwn(strings.Replace(p.readOwn(), `"n": 2`, `"n": 3`, 1))
	p.remove("claude-code")
	var back struct {
		N        int
		Projects map[string]struct{ MCPServers map[string]any }
	}
	check.OK(t, json.Unmarshal([]byte(p.readOwn()), &back))
	check.That(t, back.N == 3 && len(back.Projects[p.workspace].MCPServers) == 3 && strings.Contains(p.readOwn(), entry), "%s", p.readOwn())
	check.Equal(t, p.user("config.yaml"), "")

	p.apply("claude-code")
	p.writeOwn(`{"n": 4}`) // it forgot the project
	p.remove("claude-code")
	check.That(t, strings.Contains(p.readOwn(), entry) && strings.Contains(p.readOwn(), `"n": 4`), "%s", p.readOwn())
}

// TestClaudeCodeWritesBetween the plan and its first byte, or has the file half written: nothing of it is lost, and no server.
func TestClaudeCodeWritesBetween(t *testing.T) {
	p := adopting(t)
	before := p.writeOwn(`{"projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "a"}}}}}`)
	plan := p.plan("claude-code")
	later := p.writeOwn(strings.Replace(before, "{", `{"n": 1, `, 1))
	err := plan.Apply(p.workspace)
	check.That(t, errors.Is(err, clientsetup.ErrChanged) && strings.Contains(err.Error(), "run the command again"), "%v", err)
	check.Equal(t, p.readOwn(), later)
	p.apply("claude-code")
	check.That(t, !strings.Contains(p.readOwn(), `"a"`) && strings.Count(p.user("config.yaml"), "name:") == 1, "%s", p.user("config.yaml"))
	after := p.writeOwn(p.readOwn())

	p.writeOwn(after[:len(after)/2])
	check.That(t, strings.Contains(strings.Join(p.plan("claude-code").Open, "\n"), "if there are any, do not pass the gate: cannot be merged"), "%q", p.plan("claude-code").Open)
	removal := p.remove("claude-code")
	check.That(t, removal.Weakened() && strings.Contains(p.user("config.yaml"), "name: a"), "%+v", removal.Files)
	p.writeOwn(after)
	p.remove("claude-code")
	check.That(t, p.readOwn() == later && p.user("config.yaml") == "", "%s", p.readOwn())
}

// TestTwoProjectsOfOneFile: each has its own servers back, and what both had is ours once.
func TestTwoProjectsOfOneFile(t *testing.T) {
	p := adopting(t)
	q := *p
	q.workspace = filepath.Join(filepath.Dir(p.workspace), "other")
	check.OK(t, os.Mkdir(q.workspace, 0o755))
	q.opts.Workspace = q.workspace
	before := p.writeOwn(`{"projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "a"}}}, "` + q.workspace + `": {"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}}}`)
	p.apply("claude-code")
	q.apply("claude-code")
	check.Equal(t, p.user("config.yaml"), "servers:\n  - name: a\n    command: a\n  - name: b\n    command: b\n")
	p.remove("claude-code")
	check.That(t, strings.Count(p.readOwn(), `"command": "a"`) == 1 && strings.Contains(p.user("config.yaml"), "name: a"), "%s", p.readOwn())
	q.remove("claude-code")
	check.That(t, p.readOwn() == before && p.user("config.yaml") == "", "%s", p.readOwn())
}

// TestTwiceInTheFile: what Claude Code and an editor would read differently is not taken apart.
func TestTwiceInTheFile(t *testing.T) {
	for _, text := range []string{
		`{"projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "x"}}}}, "projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "a"}}}}}`,
		`{"projects": {"WORKSPACE": {"mcpServers": {"a": {"command": "x"}, "a": {"command": "a"}}}}}`,
	} {
		p := adopting(t)
		before := p.writeOwn(text)
		a := p.apply("claude-code").Adoption
		check.That(t, len(a.Moved) == 0 && len(a.Left) == 1 && strings.Contains(a.Left[0].Why, "take apart") && p.readOwn() == before, "%s: %+v", text, a)
	}
}

// TestKilledWhileAdoptingLocal: after each step each server is in one of the three files, and doing it again does the rest.
func TestKilledWhileAdoptingLocal(t *testing.T) {
	for n, all := 0, false; !all; n++ {
		for _, removing := range []bool{false, true} {
			p := adopting(t)
			p.write(".mcp.json", `{"mcpServers": {"a": {"command": "a"}}}`)
			before := p.writeOwn(`{"projects": {"WORKSPACE": {"mcpServers": {"b": {"command": "b", "env": {"K": "v"}}, "c": {"command": "c"}}}}}`)
			make := clientsetup.New
			if removing {
				p.apply("claude-code")
				make = clientsetup.NewRemoval
			}
			done, err := check.Value(make("claude-code", p.opts))(t).ApplyFirst(p.workspace, n)
			check.OK(t, err)
			all = done
			client, config := p.read(".mcp.json")+p.readOwn(), p.user("config.yaml")
			if text, err := os.ReadFile(filepath.Join(p.workspace, workspaceConfig)); err == nil {
				config += string(text)
			}
			for _, name := range []string{"a", "b", "c"} {
				ours := strings.Contains(config, "name: "+name+"\n") && (name != "b" || p.user("servers/b.secrets") == "K=v\n")
				check.That(t, strings.Contains(client, `"`+name+`": {`) || ours, "after %d steps (removing: %v) %s is lost", n, removing, name)
			}
			if !removing {
				p.apply("claude-code")
				check.That(t, strings.Count(p.user("config.yaml"), "name:") == 2 && strings.Contains(p.readOwn(), `"mcpServers": {}`), "after %d steps: %s", n, p.user("config.yaml"))
			}
			p.remove("claude-code")
			left := p.user("config.yaml") + p.user("servers/b.secrets")
			check.That(t, p.readOwn() == before && left == "", "after %d steps (removing: %v): %s%s", n, removing, p.readOwn(), left)
			check.That(t, !strings.Contains(p.read(".mcp.json"), "orchestra"), "%s", p.read(".mcp.json"))
		}
	}
}
