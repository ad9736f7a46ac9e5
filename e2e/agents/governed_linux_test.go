package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/e2e/agents"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

// built is the program, made once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "orchestra-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "orchestra-mcp")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/orchestra-mcp").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
	}
	return program, err
})

// governed is a client that was set up as a user would do it, in a workspace with an intent for src/.
type governed struct {
	t      *testing.T
	client agents.Client
	agents.Place
	program string
}

func govern(t *testing.T, c agents.Client, p agents.Place) *governed {
	t.Helper()
	program, err := built()
	check.OK(t, err)
	return governWith(t, c, p, program, program)
}

// governWith has the client start another program than ours by that name.
func governWith(t *testing.T, c agents.Client, p agents.Place, program, started string) *governed {
	t.Helper()
	g := &governed{t, c, p, program}
	check.Write(t, p.Workspace, "src/seen.txt", "seen\n")
	check.Write(t, p.Workspace, "docs/other.md", "# Other\n")
	check.Repository(t, p.Workspace)
	g.ours("init", "--yes", "--name", "Work on src", "--scope", "src/**")
	args := []string{"setup", c.Name, "--command", started}
	if c.Name == "codex" || c.Name == "gemini" {
		args = append(args, "--keep-tools")
	}
	g.ours(args...)
	switch c.Name {
	case "codex": // the person trusts the directory
		g.rule(".codex/config.toml", fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", p.Workspace))
	case "opencode": // as if it had fetched already what it fetches for plugins
		agents.Seed(t, filepath.Join(p.Workspace, ".opencode"))
	}
	t.Cleanup(g.end)
	return g
}

// ours runs this program as the user of the place.
func (g *governed) ours(args ...string) string {
	g.t.Helper()
	cmd := exec.Command(g.program, args...)
	cmd.Dir, cmd.Env = g.Workspace, g.Env()
	out, err := cmd.CombinedOutput()
	check.Must(g.t, err == nil, "%v: %v\n%s", args, err, out)
	return string(out)
}

// end ends the server that a hook has started.
func (g *governed) end() {
	marks, _ := filepath.Glob(filepath.Join(g.Workspace, ".orchestration/state/servers/*.json"))
	for _, mark := range marks {
		var server struct {
			PID int `json:"pid"`
		}
		if text, err := os.ReadFile(mark); err == nil && json.Unmarshal(text, &server) == nil && server.PID > 1 {
			_ = syscall.Kill(server.PID, syscall.SIGTERM)
		}
	}
}

// run has the client work through calls of its own tools.
func (g *governed) run(calls ...agents.Call) agents.Result {
	g.t.Helper()
	var script []agents.Turn
	for _, call := range calls {
		script = append(script, agents.Calling(call))
	}
	r := agents.Run(g.t, g.client, g.Place, script, g.client.Trusting...)
	alone(g.t, r)
	return r
}

func (g *governed) at(name string) string { return filepath.Join(g.Workspace, name) }

// log is the ledger, a line a record.
func (g *governed) log() string {
	g.t.Helper()
	// A record may come behind the answer to a hook; the server's end brings all of them.
	g.end()
	g.ours("verify")
	return g.ours("log", "--json")
}

// The real clients, with nothing but `init` and `setup`: what is in scope is done and recorded, what is not is not done, and
// the model is told why.
func TestGoverned(t *testing.T) {
	each(t, func(t *testing.T, c agents.Client, p agents.Place) {
		g := govern(t, c, p)
		r := g.run(
			c.Write(g.at("src/new.txt"), "new\n"),
			c.Write(g.at("docs/new.md"), "new\n"),
			c.Shell("echo by command > src/made.txt; cat src/new.txt; touch docs/made.md || echo kept out"),
			c.Shell("echo again >> src/made.txt"),
		)
		told := r.Told()
		check.Equal(t, len(r.Requests()), 5, "requests")
		check.Equal(t, g.read("src/new.txt"), "new\n")
		check.Equal(t, g.read("src/made.txt"), "by command\nagain\n")
		check.That(t, !exists(p, "docs/new.md") && !exists(p, "docs/made.md"), "what is out of scope was changed")
		check.That(t, strings.Contains(told, "SCOPE_VIOLATION"), "the model was not told why")
		check.That(t, strings.Contains(told, "kept out"), "the command was not held, or its output is gone")
		log := g.log()
		check.Equal(t, strings.Count(log, `"kind":"mutation"`), 1, "mutations")
		check.Equal(t, strings.Count(log, `"kind":"command"`), 2, "commands")
		check.That(t, strings.Contains(log, `"client":{"name":"`+c.Name), "the records do not name the client: %s", log)
		check.That(t, strings.Contains(log, "SCOPE_VIOLATION"), "the refusal is not recorded: %s", log)
	})
}

func (g *governed) read(name string) string {
	text, _ := os.ReadFile(g.at(name))
	return string(text)
}

// A person's own rules keep their force over commands that are rewritten.
func TestAPersonsRulesHold(t *testing.T) {
	each(t, func(t *testing.T, c agents.Client, p agents.Place) {
		g := govern(t, c, p)
		switch c.Name {
		case "claude-code":
			g.rule(".claude/settings.json", `{"permissions":{"deny":["Bash(touch src/denied:*)"],"ask":["Bash(touch src/asked:*)"]}}`)
		case "codex":
			g.rule(".codex/rules/own.rules", "prefix_rule(pattern=[\"touch\", \"src/denied\"], decision=\"forbidden\")\nprefix_rule(pattern=[\"touch\", \"src/asked\"], decision=\"prompt\")\n")
		case "gemini":
			g.rule(".gemini/policies/own.toml", "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch src/denied\"\ndecision = \"deny\"\npriority = 500\n"+
				"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch src/asked\"\ndecision = \"ask_user\"\npriority = 500\n")
		case "opencode":
			g.rule("config/opencode/opencode.json", `{"permission":{"bash":{"*":"allow","touch src/denied*":"deny","touch src/asked*":"ask"}}}`)
		}
		g.run(c.Shell("touch src/denied"), c.Shell("true && touch src/asked"), c.Shell("touch src/free"))
		check.That(t, !exists(p, "src/denied"), "what the person denied was run")
		check.That(t, !exists(p, "src/asked"), "what the person is to be asked about was run")
		check.That(t, exists(p, "src/free"), "what no rule names was not run")
	})
}

func (g *governed) rule(file, text string) { check.Write(g.t, g.Home, file, text) }

// A hook that fails stops the call where the client has it so. Where it does not, the change is found at the next event, and
// recorded as one that nobody was asked about.
func TestAHookThatFails(t *testing.T) {
	stopped := map[string][]string{
		"claude-code": {"kill -9 $$", "exit 1"},
		"codex":       {},
		"gemini":      {},
		"opencode":    {"kill -9 $$", "exit 1", "echo garbage; exit 0", "exit 0"},
	}
	each(t, func(t *testing.T, c agents.Client, p agents.Place) {
		faults := []string{"kill -9 $$", "exit 0"}
		if check.Long() {
			faults = append(faults, "exit 1", "echo garbage; exit 0")
		}
		for i, fault := range faults {
			p := p
			if i > 0 {
				p = agents.NewPlace(t)
			}
			g := governBy(t, c, p, fault)
			name := fmt.Sprintf("docs/new%d.md", i)
			r := g.run(c.Write(g.at(name), "new\n"), c.Shell("true"))
			log := g.log()
			if slices.Contains(stopped[c.Name], fault) {
				check.That(t, !exists(p, name), "%s: the call was made", fault)
				continue
			}
			check.Must(t, exists(p, name), "%s: the call was not made: %s", fault, r.Stderr)
			check.That(t, strings.Contains(log, `"ungoverned"`) && strings.Contains(log, name), "%s: it was not found: %s", fault, log)
		}
	})
}

// governBy is govern with a program whose first answer to a question before a call is a fault.
func governBy(t *testing.T, c agents.Client, p agents.Place, fault string) *governed {
	t.Helper()
	program, err := built()
	check.OK(t, err)
	dir := t.TempDir()
	check.Write(t, dir, "orchestra-mcp", "#!/bin/sh\n"+
		`if [ "$1" = hook ] && [ ! -e `+dir+`/once ]; then
	input=$(cat)
	case $input in *'"PreToolUse"'*|*'"BeforeTool"'*|*'"event":"before"'*) : > `+dir+`/once; `+fault+`;; esac
	printf %s "$input" | `+program+` "$@"
	exit
fi
exec `+program+` "$@"
`)
	check.OK(t, os.Chmod(filepath.Join(dir, "orchestra-mcp"), 0o755))
	return governWith(t, c, p, program, filepath.Join(dir, "orchestra-mcp"))
}

// In Codex' own sandbox, which lets nothing be mounted and no socket be made, commands are held by Landlock, and the record says so.
func TestInAClientsOwnSandbox(t *testing.T) {
	c, p := agents.Codex(), agents.NewPlace(t)
	c.Program(t)
	c.Trusting = []string{"--sandbox", "workspace-write", "--dangerously-bypass-hook-trust"}
	g := govern(t, c, p)
	r := g.run(c.Shell("echo by command > src/seen.txt; touch docs/made.md || echo kept out"), c.Shell("exit 3"))
	check.Equal(t, g.read("src/seen.txt"), "by command\n")
	check.That(t, !exists(p, "docs/made.md"), "what is out of scope was changed")
	check.That(t, strings.Contains(r.Told(), "kept out"), "the command was not held, or its output is gone: %s", r.Stderr)
	log := g.log()
	check.Equal(t, strings.Count(log, `"sandbox":"landlock"`), 2, "commands at landlock: "+log)
	check.That(t, strings.Contains(log, `"exit_code":3`), "the exit code is not known: %s", log)
}

// Reading a secret is denied; what was read can be edited, and written whole.
func TestReadingAndEditing(t *testing.T) {
	each(t, func(t *testing.T, c agents.Client, p agents.Place) {
		g := govern(t, c, p)
		check.Write(t, p.Workspace, ".intentignore", "secret:src/keys/**\n")
		check.Write(t, p.Workspace, "src/keys/k", "hush-hush\n")
		calls := []agents.Call{c.Edit(g.at("src/seen.txt"), "seen", "changed")}
		if c.Read != nil {
			calls = []agents.Call{
				c.Read(g.at("src/keys/k")), c.Read(g.at("src/seen.txt")), c.Edit(g.at("src/seen.txt"), "seen", "changed"), c.Write(g.at("src/seen.txt"), "all new\n"),
			}
		}
		r := g.run(calls...)
		log := g.log()
		check.That(t, !strings.Contains(r.Told(), "hush-hush"), "the model was shown a secret")
		want, mutations := "changed\n", 1
		if c.Read != nil {
			want, mutations = "all new\n", 2
			check.That(t, strings.Contains(log, "INTENTIGNORE_PATH_BLOCKED"), "the refusal is not recorded: %s", log)
		}
		check.Equal(t, g.read("src/seen.txt"), want, log)
		check.Equal(t, strings.Count(log, `"kind":"mutation"`), mutations, "mutations: "+log)
	})
}
