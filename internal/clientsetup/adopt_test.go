package clientsetup_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// adopting is a place in which setup adopts.
func adopting(t *testing.T) *place {
	p := newPlace(t)
	p.opts.Adopt, p.opts.UserSecrets, p.opts.WorkspaceSecrets = true, filepath.Join(p.opts.UserDir, "servers"), filepath.Join(p.opts.UserDir, "servers", "abc")
	p.opts.LookupEnv = func(name string) (string, bool) {
		value, set := map[string]string{"TOKEN": "t0ken", "HOME": "/elsewhere"}[name]
		return value, set
	}
	check.OK(t, os.Mkdir(filepath.Join(p.workspace, "src"), 0o755))
	p.write("server.js", "")
	return p
}

const workspaceConfig = ".orchestration/config.yaml"

func (p *place) user(name string) string {
	text, _ := os.ReadFile(filepath.Join(p.opts.UserDir, name))
	return string(text)
}

// file is the client's file with its list of servers.
func file(p *place, client string) string {
	return check.Value(filepath.Rel(p.workspace, p.plan(client).Files[0].Path))(p.t)
}

// TestAdoptEachForm: each client's own form of an entry becomes one of ours, and its secrets a file.
func TestAdoptEachForm(t *testing.T) {
	for _, c := range []struct{ client, text, item, secrets string }{
		{"claude-code", `{"mcpServers": {"My Files": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@1.2", ".", "./docs", "../x", "src", "--root=./src", "@a/b"], "env": {"A": "${TOKEN}", "B": "${NONE:-b}", "C": "${workspaceFolder}/x"}}}}`,
			"- name: my-files\n  command: npx\n  args: [\"-y\", \"@modelcontextprotocol/server-filesystem@1.2\", \"${workspace}\", \"${workspace}/docs\", \"${workspace}/../x\", \"${workspace}/src\", \"--root=${workspace}/src\", \"@a/b\"]\n  mapping: filesystem\n",
			"A=t0ken\nB=b\nC=WORKSPACE/x\n"},
		{"claude-code", `{"mcpServers": {"9": {"type": "http", "url": "https://api.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}`,
			"- name: server-9\n  url: https://api.example/mcp\n", "Authorization: Bearer t0ken\n"},
		{"claude-code", `{"mcpServers": {"a": {"command": "a", "args": ["server.js", "WORKSPACE/src"], "cwd": "."}}}`,
			"- name: a\n  command: a\n  args: [\"${workspace}/server.js\", \"${workspace}/src\"]\n", ""},
		{"codex", "[mcp_servers.\"a b\"]\ncommand = \"a\" # mine\nargs = [\"$x\"]\nenv_vars = [\"TOKEN\"]\nenabled_tools = [\"x\"]\ndisabled_tools = [\"y\"]\ntool_timeout_sec = 3\n\n[mcp_servers.\"a b\".env]\nB = \"c\"\n",
			"- name: a-b\n  command: a\n  args: [\"$x\"]\n  tools: [\"x\", \"!y\"]\n", "B=c\nTOKEN=t0ken\n"},
		{"codex", "[mcp_servers.a]\nurl = \"https://x\"\nbearer_token_env_var = \"TOKEN\"\nhttp_headers = {X = \"y\"}\nenv_http_headers = {Z = \"TOKEN\"}",
			"- name: a\n  url: https://x\n", "X: y\nZ: t0ken\nAuthorization: Bearer t0ken\n"},
		{"copilot", `{"mcpServers": {"a": {"type": "local", "command": "a", "tools": ["*"]}}}`, "- name: a\n  command: a\n", ""},
		{"cursor", `{"mcpServers": {"a": {"command": "${userHome}/a", "args": ["${workspaceFolder}/x", "${/}"], "env": {"T": "${env:TOKEN}"}}}}`,
			"- name: a\n  command: HOME/a\n  args: [\"${workspace}/x\", \"/\"]\n", "T=t0ken\n"},
		{"cline", `{"mcpServers": {"a": {"command": "npx", "args": ["@playwright/mcp@latest"], "autoApprove": ["x"], "timeout": 60}}}`,
			"- name: a\n  command: npx\n  args: [\"@playwright/mcp@latest\"]\n  mapping: playwright\n", ""},
		{"claude-desktop", `{"mcpServers": {"a": {"command": "a", "args": ["${x}", "src"]}}}`, "- name: a\n  command: a\n  args: [\"${x}\", \"src\"]\n", ""},
		{"devin", `{"mcpServers": {"a": {"serverUrl": "http://127.0.0.1:8/mcp"}}}`, "- name: a\n  url: http://127.0.0.1:8/mcp\n", ""},
		{"gemini", `{"mcpServers": {"a": {"httpUrl": "https://x", "headers": {"K": "$TOKEN"}, "excludeTools": ["w"], "trust": true}}}`,
			"- name: a\n  url: https://x\n  tools: [\"!w\"]\n", "K: t0ken\n"},
		{"opencode", `{"mcp": {"a": {"type": "local", "command": ["node", "./server.js"], "enabled": true, "environment": {"T": "{env:TOKEN}"}}}}`,
			"- name: a\n  command: node\n  args: [\"${workspace}/server.js\"]\n", "T=t0ken\n"},
		{"roo", `{"mcpServers": {"a": {"type": "streamable-http", "url": "https://x", "alwaysAllow": [], "disabled": false}}}`, "- name: a\n  url: https://x\n", ""},
		{"vscode", "{\n  // mine\n  \"servers\": {\"a\": {\"type\": \"http\", \"url\": \"https://x\"}},\n}", "- name: a\n  url: https://x\n", ""},
	} {
		p := adopting(t)
		list := file(p, c.client)
		p.write(list, strings.ReplaceAll(c.text, "WORKSPACE", p.workspace))
		before := p.read(list)
		plan := p.apply(c.client)
		check.Must(t, len(plan.Adoption.Moved) == 1 && len(plan.Adoption.Left) == 0, "%s: %+v", c.text, plan.Adoption)
		name, dir, config := plan.Adoption.Moved[0].Name, "servers/abc/", ""
		if plan.ForAllWorkspaces() {
			dir, config = "servers/", p.user("config.yaml")
		} else {
			config = p.read(workspaceConfig)
		}
		want := "servers:\n  " + strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(c.item, "HOME", p.home), "\n"), "\n", "\n  ") + "\n"
		check.That(t, config == want, "%s: got\n%s\nwant\n%s", c.client, config, want)
		secrets := strings.ReplaceAll(c.secrets, "WORKSPACE", p.workspace)
		check.That(t, p.user(dir+name+".secrets") == secrets, "%s: secrets %q", c.client, p.user(dir+name+".secrets"))
		if info, err := os.Stat(filepath.Join(p.opts.UserDir, dir+name+".secrets")); c.secrets != "" {
			check.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", info, err)
		}
		after := p.read(list)
		check.That(t, strings.Contains(after, "orchestra") && !strings.Contains(after, "t0ken") && !strings.Contains(after, "https://") && !strings.Contains(config, "t0ken"),
			"%s: it is left in\n%s", c.client, after)
		again := p.plan(c.client)
		check.That(t, !again.Changes() && len(again.Adoption.Moved) == 0, "%s: a second run: %+v", c.client, again.Adoption)
		p.opts.Adopt = false // whoever sets up again keeps what was moved
		p.opts.Launch = clientsetup.Named("/elsewhere/orchestra-mcp")
		p.apply(c.client)
		removal := p.remove(c.client)
		check.That(t, p.read(list) == before, "%s: became\n%s", c.client, p.read(list))
		check.That(t, len(removal.Adoption.Moved) == 1 && len(removal.Adoption.Left) == 0, "%+v", removal.Adoption)
		left := slices.DeleteFunc(p.all(), func(line string) bool {
			return strings.Contains(line, filepath.Base(list)) || strings.Contains(line, "server.js")
		})
		check.That(t, len(left) == 0, "%s leaves %q", c.client, left)
		check.That(t, !p.remove(c.client).Changes(), "%s: a second removal", c.client)
	}
}

// all is every file.
func (p *place) all() []string {
	files := p.snapshot()
	if _, err := os.Stat(p.opts.UserDir); err == nil {
		files = append(files, snapshot(p.t, p.opts.UserDir)...)
	}
	return files
}

// TestWhatIsTakenOfTheEnvironment is said: the file can be a stranger's, and name the variable as it likes.
func TestWhatIsTakenOfTheEnvironment(t *testing.T) {
	p := adopting(t)
	p.write(".mcp.json", `{"mcpServers": {"a": {"command": "a", "env": {"LOG_LEVEL": "x${TOKEN}", "PLAIN": "${NONE:-b}"}}, "b": {"type": "http", "url": "https://x", "headers": {"X-Trace": "${TOKEN}"}}}}`)
	moved := p.plan("claude-code").Adoption.Moved
	check.Must(t, len(moved) == 2, "%+v", moved)
	check.That(t, slices.Equal(moved[0].Taken, []string{"LOG_LEVEL from TOKEN"}) && slices.Equal(moved[1].Taken, []string{"X-Trace from TOKEN"}), "%+v", moved)
}

// TestWhatStays: an entry that cannot be moved without loss stays, and it is said why.
func TestWhatStays(t *testing.T) {
	for _, c := range []struct{ client, entry, why string }{
		{"claude-code", `{"type": "sse", "url": "https://x"}`, "SSE"},
		{"gemini", `{"url": "https://x"}`, "SSE"},
		{"claude-code", `{"type": "ws", "url": "https://x"}`, "not known"},
		{"claude-code", `{"url": "http://x.example"}`, "neither https"},
		{"claude-code", `{"url": "https://u:p@x.example"}`, "password"},
		{"claude-code", `{"command": "a", "url": "https://x"}`, "an address"},
		{"claude-code", `{"type": "stdio"}`, "neither a command"},
		{"claude-code", `"a"`, "neither a command"},
		{"claude-code", `{"command": "a", "args": ["${TOKEN}"]}`, "environment"},
		{"claude-code", `{"command": "a", "env": {"A": "${NONE}"}}`, "not set here"},
		{"claude-code", `{"command": "a", "env": {"A": "x\ny"}}`, "more than one line"},
		{"claude-code", `{"command": "a", "env": {"A B": "x"}}`, "does not fit"},
		{"claude-code", `{"command": "a", "env": {"A": 1}}`, "not a text"},
		{"claude-code", `{"command": "a", "env": ["A"]}`, "not an object"},
		{"claude-code", `{"command": "a", "headers": {"A": "x"}}`, "its kind"},
		{"claude-code", `{"command": "a", "args": "x"}`, "not a list"},
		{"claude-code", `{"url": "https://x", "headersHelper": "x"}`, "headersHelper"},
		{"claude-code", `{"command": "a", "cwd": "/tmp"}`, "directory /tmp"},
		{"claude-code", `{"command": "./bin/a"}`, "in the workspace"},
		{"claude-code", `{"command": "a b"}`, "more than a program"},
		{"claude-code", `{"url": "https://x", "headers": {"Host": "y"}}`, "does not fit"},
		{"cursor", `{"command": "a", "envFile": ".env"}`, "envFile"},
		{"vscode", `{"command": "a", "env": {"A": "${input:key}"}}`, "asks for a value"},
		{"vscode", `{"command": "${command:x}"}`, "not known here"},
		{"roo", `{"command": "a", "disabled": true}`, "switched off"},
		{"opencode", `{"type": "local", "command": ["a"], "enabled": false}`, "switched off"},
		{"opencode", `{"type": "local", "command": ["a", "{file:x}"]}`, "not known here"},
		{"claude-desktop", `{"command": "a", "args": ["./x"]}`, "directory that the client"},
		{"claude-desktop", `{"command": "a", "args": ["${workspace}"]}`, "means the workspace"},
		{"cline", `{"command": "a", "args": ["${workspaceFolder}"]}`, "not known for all"},
	} {
		p := adopting(t)
		list := file(p, c.client)
		key := map[string]string{"vscode": "servers", "opencode": "mcp"}[c.client]
		if key == "" {
			key = "mcpServers"
		}
		p.write(list, `{"`+key+`": {"a": `+c.entry+`, "b": {"command": "b", "type": "local"}}}`)
		plan := p.apply(c.client)
		a := plan.Adoption
		check.That(t, len(a.Left) == 1 && a.Left[0].Key == "a" && strings.Contains(a.Left[0].Why, c.why) && len(a.Moved) == 1, "%s: %+v", c.entry, a)
		check.That(t, strings.Contains(p.read(list), c.entry), "%s: it is gone:\n%s", c.entry, p.read(list))
		if c.entry[0] == '{' {
			check.That(t, strings.Contains(strings.Join(plan.Open, "\n"), `other servers ("a")`), "%q", plan.Open)
		}
	}
	p := adopting(t)
	p.write(".codex/config.toml", "[mcp_servers]\na = {command = \"a\"}\n")
	a := p.apply("codex").Adoption
	check.That(t, len(a.Left) == 1 && strings.Contains(a.Left[0].Why, "take apart"), "%+v", a)
}

// TestAdoptedNames: names that are taken, by other servers or by secrets, get a number; a server that is there already does not.
func TestAdoptedNames(t *testing.T) {
	p := adopting(t)
	check.OK(t, os.MkdirAll(p.opts.WorkspaceSecrets, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(p.opts.WorkspaceSecrets, "b.secrets"), []byte("X=1\n"), 0o600))
	check.OK(t, os.WriteFile(filepath.Join(p.opts.UserDir, "config.yaml"), []byte("servers: [{name: d, command: d}]\n"), 0o600))
	p.write(workspaceConfig, "# mine\nservers:\n  - name: a\n    command: other\n  - name: c\n    command: c # mine\n")
	p.write(".mcp.json", `{"mcpServers": {"a": {"command": "a"}, "A": {"command": "aa"}, "b": {"command": "b"}, "c": {"command": "c"}, "d": {"command": "d"}, "`+strings.Repeat("ü1", 40)+`": {"command": "e"}}}`)
	plan := p.apply("claude-code")
	var names []string
	for _, moved := range plan.Adoption.Moved {
		names = append(names, moved.Key[:1]+"="+moved.Name)
	}
	want := []string{"A=a-2", "a=a-3", "b=b-2", "c=c", "d=d-2", "\xc3=server-1-1-1-1-1-1-1-1-1-1-1-1-1"}
	check.That(t, slices.Equal(names, want), "%q", names)
	config := p.read(workspaceConfig)
	check.That(t, strings.HasPrefix(config, "# mine\nservers:\n  - name: a\n    command: other\n  - name: c\n    command: c # mine\n  - name: a-2\n    command: aa\n"), "%s", config)
	p.write(workspaceConfig, strings.Replace(config, "command: aa\n", "command: aa\n    safe: [x]\n", 1))
	removal := p.remove("claude-code")
	check.That(t, len(removal.Adoption.Left) == 1 && removal.Adoption.Left[0].Key == "a-2", "%+v", removal.Adoption.Left)
	check.That(t, p.read(workspaceConfig) == "# mine\nservers:\n  - name: a\n    command: other\n  - name: c\n    command: c # mine\n  - name: a-2\n    command: aa\n    safe: [x]\n",
		"%s", p.read(workspaceConfig))
}

// TestTwoClientsShareAServer: one that two clients had is ours once, and goes when the last one has it back.
func TestTwoClientsShareAServer(t *testing.T) {
	p := adopting(t)
	for _, name := range []string{".mcp.json", ".cursor/mcp.json"} {
		p.write(name, `{"mcpServers": {"a": {"command": "a", "env": {"K": "v"}}}}`)
	}
	p.apply("claude-code")
	p.apply("cursor")
	check.That(t, strings.Count(p.read(workspaceConfig), "name: a") == 1, "%s", p.read(workspaceConfig))
	p.remove("claude-code")
	check.That(t, strings.Contains(p.read(workspaceConfig), "name: a") && p.user("servers/abc/a.secrets") != "", "%s", p.read(workspaceConfig))
	p.remove("cursor")
	_, err := os.Stat(filepath.Join(p.workspace, workspaceConfig))
	check.That(t, err != nil && p.user("servers/abc/a.secrets") == "", "left behind")
}

// TestChangedSinceAdopted: what a person changed in the client's file stays, and the servers are back as they were.
func TestChangedSinceAdopted(t *testing.T) {
	entry := "{ // A\n  \"command\":   \"a\", }"
	for client, files := range map[string][2]string{
		"vscode": {"{\n  \"servers\": {\"a\": " + entry + "}\n}\n", `"servers": {`},
		"codex":  {"model = \"x\"\n\n[mcp_servers.a]\ncommand = \"a\" # mine\n", "model"},
	} {
		p := adopting(t)
		list := file(p, client)
		p.write(list, files[0])
		p.apply(client)
		later := "/* later */ "
		if client == "codex" {
			later = "# later\n"
		}
		p.write(list, strings.Replace(p.read(list), files[1], later+files[1], 1))
		p.remove(client)
		after := p.read(list)
		back := strings.Contains(after, entry) || strings.Contains(after, "[mcp_servers.a]\ncommand = \"a\" # mine\n")
		check.That(t, back && strings.Contains(after, strings.TrimSpace(later)) && !strings.Contains(after, "orchestra"), "%s:\n%s", client, after)
	}
}

// TestKilledWhileAdopting: after each step of a setup and of a removal, each server is in the client's file or among ours, with its
// secrets; and doing it again does the rest.
func TestKilledWhileAdopting(t *testing.T) {
	const before = `{"mcpServers": {"a": {"command": "a", "env": {"K": "v"}}, "b": {"command": "b"}}}`
	for n, all := 0, false; !all; n++ {
		for _, removing := range []bool{false, true} {
			p := adopting(t)
			p.write(".mcp.json", before)
			make := clientsetup.New
			if removing {
				p.apply("claude-code")
				make = clientsetup.NewRemoval
			}
			plan := check.Value(make("claude-code", p.opts))(t)
			var err error
			all, err = plan.ApplyFirst(p.workspace, n)
			check.OK(t, err)
			config, _ := os.ReadFile(filepath.Join(p.workspace, workspaceConfig))
			list := p.read(".mcp.json")
			for _, name := range []string{"a", "b"} {
				there := strings.Contains(list, `"`+name+`": {`)
				ours := strings.Contains(string(config), "name: "+name) && (name == "b" || p.user("servers/abc/a.secrets") == "K=v\n") && strings.Contains(list, "orchestra")
				check.That(t, there || ours, "after %d steps (removing: %v) %s is lost", n, removing, name)
			}
			if !removing {
				p.apply("claude-code")
				check.That(t, strings.Count(p.read(workspaceConfig), "name:") == 2 && !strings.Contains(p.read(".mcp.json"), `"a"`), "after %d steps: %s", n, p.read(workspaceConfig))
			}
			p.remove("claude-code")
			text := p.read(".mcp.json")
			_, err = os.Stat(filepath.Join(p.workspace, workspaceConfig))
			check.That(t, strings.Join(strings.Fields(text), "") == strings.Join(strings.Fields(before), "") && err != nil && p.user("servers/abc/a.secrets") == "",
				"after %d steps (removing: %v): %s", n, removing, text)
		}
	}
}
