package packages_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// started is what a client's file has it start.
func started(t *testing.T, file string) []string {
	t.Helper()
	var list struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	check.OK(t, json.Unmarshal(check.Value(os.ReadFile(file))(t), &list))
	server := list.Servers["orchestra"]
	return append([]string{server.Command}, server.Args...)
}

// trySetup tries each way by which npm gives the program: what setup and install-hooks write starts it, and doctor sees when it
// no longer does. npm makes a command with a home of its own, in which all of one way happens.
func trySetup(t *testing.T, npm func(args ...string) *exec.Cmd) {
	sealed := byNPX().Line() + "@"
	for name, way := range map[string]struct{ install, start, writes, remove, path, says string }{
		"npx":     {install: "true", start: "npx -y @intentgov/orchestra-mcp", writes: sealed, remove: "rm -r $npm_config_cache/_npx"},
		"project": {install: "npm install @intentgov/orchestra-mcp", start: "npx orchestra-mcp", writes: sealed, remove: "rm -r node_modules"},
		"global": {install: "npm install -g --prefix=$HOME @intentgov/orchestra-mcp", start: "orchestra-mcp", writes: "orchestra-mcp serve",
			remove: "npm uninstall -g --prefix=$HOME @intentgov/orchestra-mcp", path: "PATH=$HOME/bin:/usr/bin:/bin ", says: "starts orchestra-mcp, which is not on the PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, env := t.TempDir(), npm("true").Env
			run := func(args ...string) *exec.Cmd {
				cmd := exec.Command("/bin/sh", append([]string{"-c", `PATH=$HOME/bin:$PATH; exec "$0" "$@"`}, args...)...)
				cmd.Dir, cmd.Env = dir, append(env, "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
				return cmd
			}
			sh := func(line string) string { return does(t, run("/bin/sh", "-c", line)) }
			sh("git init -q . && mkdir src && " + way.install)
			contains(t, sh(way.start+" init --yes"), "\n  "+strings.TrimSuffix(way.writes, " serve"), " setup claude-code --workspace "+dir)
			sh(way.start + " setup claude-code && " + way.start + " git install-hooks")
			words := started(t, filepath.Join(dir, ".mcp.json"))
			check.That(t, strings.HasPrefix(strings.Join(words, " "), way.writes), "it starts %q", words)
			contains(t, sh(way.start+" doctor || :"), "Claude Code starts this server for this workspace", "hooks are installed")
			serve(t, run(words...)).works(dir)
			sh("git add src && git commit -qm made")
			contains(t, sh("git log -1"), "Orchestra-Intent: INT-001")
			sh(way.remove)
			doctor := sh(way.path + "'" + program + "' doctor || :")
			check.That(t, strings.Contains(doctor, "fail  clients") == (way.says != "") && strings.Contains(doctor, way.says), "without it: %s", doctor)
			if way.says == "" { // npx gets it again
				contains(t, sh(strings.Join(words[:len(words)-1], " ")+" version"), "orchestra-mcp ")
			}
		})
	}
}
