package clientsetup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// TestCodexTrust: the hashes are those that Codex 0.171.0 has computed for these hooks; other trust in the file stays.
func TestCodexTrust(t *testing.T) {
	p := newPlace(t)
	own := filepath.Join(p.home, ".codex", "config.toml")
	const before = "model = \"x\" # mine\n\n[hooks.state.\"/other/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n"
	check.OK(t, os.MkdirAll(filepath.Dir(own), 0o755))
	check.OK(t, os.WriteFile(own, []byte(before), 0o600))
	plan := p.apply("codex")
	check.That(t, len(plan.Files) == 2 && strings.Contains(plan.Next, "/hooks"), "not asked for, and %d files; %s", len(plan.Files), plan.Next)
	p.opts.TrustHooks = true
	p.apply("codex")
	text := string(check.Value(os.ReadFile(own))(t))
	for event, hash := range map[string]string{
		"pre_tool_use": "cec1a4980b98ec928339631950523ada9c99a4f5f4fd26395adbbcf9421abae8",
		"session_end":  "515ecdeff9fa7ee39db94c475c0434e8c6830cd24398887ad8d59c038c0e556a",
	} {
		table := "[hooks.state.\"" + filepath.Join(p.workspace, ".codex", "hooks.json") + ":" + event + ":0:0\"]\nenabled = true\ntrusted_hash = \"sha256:" + hash + "\"\n"
		check.That(t, strings.Contains(text, table), "no\n%s in\n%s", table, text)
	}
	check.That(t, strings.HasPrefix(text, before) && !p.plan("codex").Changes(), "now\n%s", text)
	check.OK(t, os.RemoveAll(p.opts.UserDir))
	p.remove("codex")
	text = string(check.Value(os.ReadFile(own))(t))
	check.That(t, text == before, "removal left\n%s", text)
}

func TestCodexConfiguration(t *testing.T) {
	for _, test := range []struct{ before, after string }{
		{"# mine\nmodel = \"x\"\n\n[mcp_servers.db]\ncommand = \"db\" # the database\n\n[tui]\nx = 1 # last",
			"sandbox_mode = \"read-only\"\n# mine\nmodel = \"x\"\n\n[mcp_servers.db]\ncommand = \"db\" # the database\n\n[tui]\nx = 1 # last\n\n" +
				"[mcp_servers.orchestra]\ncommand = \"orchestra-mcp\"\nargs = [\"serve\"]\n"},
		{"sandbox_mode = \"workspace-write\"\r\n\r\n[mcp_servers.orchestra]\r\ncommand = \"/old/orchestra-mcp\" # old\r\nargs = [ \"serve\", \"--log-level\", \"debug\" ]\r\nstartup_timeout_sec = 9\r\n",
			"sandbox_mode = \"workspace-write\"\r\n\r\n[mcp_servers.orchestra]\r\ncommand = \"orchestra-mcp\" # old\r\nargs = [ \"serve\", \"--log-level\", \"debug\" ]\r\nstartup_timeout_sec = 9\r\n"},
	} {
		p := newPlace(t)
		p.write(".codex/config.toml", test.before)
		plan := p.apply("codex")
		check.That(t, p.read(".codex/config.toml") == test.after, "%q became\n%q", test.before, p.read(".codex/config.toml"))
		check.That(t, !p.plan("codex").Changes() && plan.Files[0].Action == clientsetup.Updated, "a second run changes")
		p.remove("codex")
		without, _, _ := strings.Cut(test.before, "\r\n\r\n[mcp_servers.orchestra]") // what stood there before is ours
		check.That(t, strings.TrimSpace(p.read(".codex/config.toml")) == strings.TrimSpace(without), "removal left %q", p.read(".codex/config.toml"))
	}
}

// FuzzCodexConfiguration: what is added is there, a second run adds nothing, and a removal gives back what was there.
func FuzzCodexConfiguration(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "[a]\nb = {c = 1}\n", "[[a]]\n[[a]]\n", "mcp_servers.x.command = \"y\"\n", "a = \"\"\"\n[x]\n\"\"\"", "[mcp_servers.orchestra]\n[mcp_servers.orchestra.env]\nA = \"b\"\n", "# x\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newPlace(t)
		p.write(".codex/config.toml", text)
		plan, err := clientsetup.New("codex", p.opts)
		if err != nil {
			return
		}
		check.OK(t, plan.Apply(p.workspace))
		again, err := clientsetup.New("codex", p.opts)
		check.Must(t, err == nil && !again.Changes(), "second run: %v on\n%q", err, plan.Files[0].Content)
		entries := again.Entries()
		check.Must(t, len(entries) == 1 && entries[0].Workspace == p.workspace, "entries %+v", entries)
		p.remove("codex")
		check.Must(t, strings.Contains(text, "orchestra") || p.read(".codex/config.toml") == text, "removal: %q became %q", text, p.read(".codex/config.toml"))
	})
}
