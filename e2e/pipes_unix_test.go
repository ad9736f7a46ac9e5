//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// opened are the files and directories that the program opens by itself, by who may have put something else there. NAME in
// one is the first entry that is there.
func opened() map[string][]string {
	return map[string][]string{
		"git's": {
			".git/index", ".git/HEAD", ".git/config", ".git/packed-refs", ".git/refs/heads/main", ".git/shallow", ".git/info/exclude", ".git/commondir",
			".git/refs/stash", ".git/objects/info/alternates", ".git/hooks/pre-commit", ".git/hooks", ".git/refs/heads", ".git/objects/pack", ".git",
		},
		"the cache's": {
			".orchestration/cache", ".orchestration/cache/index", ".orchestration/cache/images", ".orchestration/cache/output",
			".orchestration/cache/removed", ".orchestration/cache/output/NAME", ".orchestration/cache/images/NAME",
		},
		"the state's": {
			".orchestration/state/gaps", ".orchestration/state", ".orchestration/state/sessions", ".orchestration/state/inflight",
			".orchestration/state/approvals", ".orchestration/state/inflight/NAME", ".orchestration/state/servers", ".orchestration/state/checks",
			".orchestration/state/snapshots", ".orchestration/state/grants", ".orchestration/state/rotate", ".orchestration/state/tmp",
			".orchestration/state/sessions/NAME", ".orchestration/state/servers/0123456789abcdef.json", ".orchestration/state/gaps/x.gap",
		},
		"governance": {
			".orchestration/active_intents.yaml", ".orchestration/config.yaml", ".orchestration/.intentignore", ".intentignore",
			".orchestration/AGENT.md", ".orchestration/intent_map.md", ".orchestration/agent_trace.jsonl", ".orchestration/trace",
			".orchestration/archive", ".orchestration/archive/x.jsonl.zst", ".orchestration/seals", ".orchestration/seals/x.note", ".orchestration/schema",
		},
		"the user's": {
			"HOME/config/orchestra-mcp/config.yaml", "HOME/config/orchestra-mcp/trusted", "HOME/config/orchestra-mcp/approval.key",
			"HOME/config/orchestra-mcp/seal.key", "HOME/config/orchestra-mcp/spent", "HOME/config/orchestra-mcp/workspaces",
			"HOME/config/orchestra-mcp/seal-keys", "HOME/config/orchestra-mcp", "HOME/cache", "HOME/.gitconfig", "HOME/config/git/config",
		},
		"the work's": {
			".gitignore", ".gitattributes", "package.json", "Cargo.toml", "go.mod", "src/a.txt", "src", ".mcp.json", ".cursor", ".vscode",
			".claude", "node_modules", "target", "build",
		},
	}
}

// TestNothingWaitsOnAPipe puts a pipe in the place of what the program opens by itself: it may refuse, but it ends. With
// ORCHESTRA_LONG=1 it does so in all places, else in each eighth.
func TestNothingWaitsOnAPipe(t *testing.T) {
	t.Parallel()
	for whose, places := range opened() {
		for i, place := range places {
			if !check.Long() && (i%8 != 0 || check.Short() && i > 0) {
				continue
			}
			t.Run(whose+": "+place, func(t *testing.T) {
				t.Parallel()
				w := newUsedWorkspace(t)
				w.pipe(place)
				lines := []string{
					initialize, callLine(1, "select_active_intent", args{"intent_id": "INT-001"}), callLine(2, "read_file", args{"path": "src/a.txt"}),
					callLine(3, "write_to_file", args{"path": "src/new.txt", "content": "x\n"}), callLine(4, "execute_command", args{"command": "git status; true"}),
				}
				w.ending(strings.Join(lines, "\n")+"\n", "serve")
				for _, command := range [][]string{{"doctor"}, {"status"}, {"verify"}, {"intents", "validate"}} {
					w.ending("", command...)
				}
			})
		}
	}
}

// newUsedWorkspace has state, a cache and records.
func newUsedWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir(), home: t.TempDir()}
	w.write(".orchestration/active_intents.yaml", intentsYAML)
	w.write("src/a.txt", "one\n")
	w.git("init", "-q")
	a := w.initialized().agent()
	a.selects("INT-001")
	a.ok("read_file", args{"path": "src/a.txt"})
	a.ok("write_to_file", args{"path": "src/a.txt", "content": "two\n"})
	a.ok("execute_command", args{"command": "echo three > src/b.txt"})
	return w
}

// pipe puts one in a place, of which it removes what is there.
func (w *workspace) pipe(place string) {
	w.t.Helper()
	at := w.path(place)
	if rest, inHome := strings.CutPrefix(place, "HOME/"); inHome {
		at = filepath.Join(w.home, filepath.FromSlash(rest))
	}
	if dir, name := filepath.Split(at); name == "NAME" {
		entries, err := os.ReadDir(dir)
		check.Must(w.t, err == nil && len(entries) != 0, "nothing is in %s: %v", dir, err)
		at = filepath.Join(dir, entries[0].Name())
	}
	check.OK(w.t, errors.Join(os.RemoveAll(at), os.MkdirAll(filepath.Dir(at), 0o700), mkfifo(at)))
}

// ending runs the program, which has to end by itself.
func (w *workspace) ending(input string, arguments ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(arguments, "--workspace", w.dir)...)
	cmd.Env, cmd.Stdin = w.env(), strings.NewReader(input)
	out, _ := cmd.CombinedOutput()
	check.That(w.t, ctx.Err() == nil, "%v does not end:\n%s", arguments, out)
}
