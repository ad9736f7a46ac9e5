package corpus_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// nobody is the ordinary user where the test runs as root.
const nobody = 65534

const intents = `active_intents:
  - {id: SRC, name: source, status: IN_PROGRESS, owned_scope: ["src/**"]}
  - {id: ALL, name: everything, status: IN_PROGRESS, owned_scope: ["**"]}
  - {id: GEN, name: generated, status: IN_PROGRESS, owned_scope: ["gen/*.pb.go"]}
`

// secret is what nobody may read.
const secret = "TOP-SECRET-LINE"

// files are what the user has, by path below the world's top.
func files() map[string]string {
	return map[string]string{
		"ws/.orchestration/active_intents.yaml": intents,
		"ws/.orchestration/config.yaml":         "durability: os\n",
		"ws/.orchestration/.gitignore":          "state/\ncache/\n",
		"ws/.orchestration/.intentignore":       "secret:private/\n",
		"ws/.orchestration/AGENT.md":            "# Lessons\n",
		"ws/.gitignore":                         "*.log\nprivate/\n",
		"ws/Makefile":                           "all:\n\ttrue\n",
		"ws/build.log":                          "built\n",
		"ws/docs/other.md":                      "# Other\n",
		"ws/docs/deep/er/page.md":               "# Page\n",
		"ws/gen/a.pb.go":                        "package gen\n",
		"ws/gen/keep.txt":                       "keep\n",
		"ws/private/key":                        secret + "\n",
		"ws/src/a.txt":                          "one\ntwo\n",
		"ws/src/sub/b.txt":                      "b\n",
		"home/.bashrc":                          "# mine\n",
		"home/.gitconfig":                       "[user]\n\tname = U\n\temail = u@example.org\n",
		"home/.ssh/authorized_keys":             "ssh-ed25519 AAAA\n",
		"home/.ssh/id_ed25519":                  "private\n",
		"home/.cache/go-build/entry":            "cached\n",
		"home/.npmrc":                           "audit=false\n",
		"home/outside/victim":                   "victim\n",
		"elsewhere/victim":                      "victim\n",
	}
}

// world is a workspace, a home, other directories of the same user, and a server.
type world struct {
	t         *testing.T
	level     sandbox.Level
	user      bool // an ordinary one
	withheld  []string
	requires  bool // the level full
	processes int  // that a command may have, 0 for the default
	reverts   bool // commands.revert_violations
	staged    bool // commands work on layers
	client    bool // makes the attacks in its own shell
	calls     int  // that it has announced
	records   *os.File
	top       string
	ws, home  string
	loose     string // a file that could be made in the shared /tmp
	server    *served
	sessions  map[string]string
	base      state
	listeners []net.Listener
}

// newWorld makes one; bare is without a repository of git.
func newWorld(t *testing.T, level sandbox.Level, user, bare bool, program string) *world {
	t.Helper()
	w := emptyWorld(t, level, user, bare)
	w.begin(program)
	return w
}

// attackedWorld is one that is attacked by execute_command or in a client's own shell.
func attackedWorld(t *testing.T, level sandbox.Level, user, bare, client bool, program string) *world {
	t.Helper()
	w := emptyWorld(t, level, user, bare)
	w.client = client
	w.begin(program)
	return w
}

// emptyWorld is one without a server.
func emptyWorld(t *testing.T, level sandbox.Level, user, bare bool) *world {
	t.Helper()
	top, err := os.MkdirTemp("", "corpus") // a short name: there will be sockets in it
	check.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(top) })
	w := &world{t: t, level: level, user: user, top: top, ws: filepath.Join(top, "ws"), home: filepath.Join(top, "home"), loose: top + ".loose", sessions: map[string]string{}}
	for name, content := range files() {
		path := filepath.Join(top, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(content), 0o644))
	}
	check.OK(t, os.MkdirAll(filepath.Join(w.home, "run"), 0o755))
	if !bare {
		w.repository()
	}
	w.listen()
	w.own()
	return w
}

// listen has daemons of the user, some under another name than they were bound by.
func (w *world) listen() {
	run := filepath.Join(w.home, "run")
	for _, name := range []string{"docker.sock", "agent.sock", "renamed.sock.tmp", "master.sock.tmp"} {
		listener, err := net.Listen("unix", filepath.Join(run, name))
		check.OK(w.t, err)
		w.t.Cleanup(func() { listener.Close() })
		w.listeners = append(w.listeners, listener)
	}
	check.OK(w.t, os.Rename(filepath.Join(run, "renamed.sock.tmp"), filepath.Join(run, "renamed.sock")))
	check.OK(w.t, os.Link(filepath.Join(run, "master.sock.tmp"), filepath.Join(run, "master.sock"))) // as OpenSSH does
	check.OK(w.t, os.Remove(filepath.Join(run, "master.sock.tmp")))
	datagrams, err := net.ListenPacket("unixgram", filepath.Join(run, "log.sock"))
	check.OK(w.t, err)
	w.t.Cleanup(func() { datagrams.Close() })
}

// begin starts a server in the world, and the sessions of a client.
func (w *world) begin(program string) {
	w.t.Helper()
	w.server = w.serves(program)
	for _, id := range []string{"SRC", "ALL", "GEN"} {
		selected := w.server.call("select_active_intent", args{"intent_id": id})
		if w.sessions[id] = selected.text("session"); w.sessions[id] == "" {
			w.t.Fatalf("%s: %v", id, selected.Fields)
		}
	}
	if w.client {
		w.awaitHooks()
	}
	w.base = w.look()
}

// repository makes the workspace one of git with two commits.
func (w *world) repository() {
	w.git("init", "-q", "--template=", "-b", "main")
	check.OK(w.t, os.MkdirAll(filepath.Join(w.ws, ".git/hooks"), 0o755))
	check.OK(w.t, os.MkdirAll(filepath.Join(w.ws, ".git/info"), 0o755))
	check.OK(w.t, os.WriteFile(filepath.Join(w.ws, ".git/hooks/pre-push"), []byte("#!/bin/sh\n"), 0o755))
	w.git("add", ".")
	w.git("commit", "-qm", "one")
	w.put("ws/docs/other.md", "# Other\nmore\n")
	w.git("commit", "-qam", "two")
}

func (w *world) git(arguments ...string) {
	w.t.Helper()
	cmd := exec.Command("git", arguments...)
	cmd.Dir, cmd.Env = w.ws, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	out, err := cmd.CombinedOutput()
	check.Must(w.t, err == nil, "git %v: %v\n%s", arguments, err, out)
}

// put writes a file of the world's user.
func (w *world) put(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.top, name)
	check.OK(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(w.t, os.WriteFile(path, []byte(content), 0o755))
	w.mine(filepath.Dir(path))
	w.mine(path)
}

func (w *world) own() {
	w.mine(w.top)
	check.OK(w.t, os.Chmod(w.top, 0o755))
	check.OK(w.t, filepath.WalkDir(w.top, func(path string, _ os.DirEntry, err error) error {
		w.mine(path)
		return err
	}))
}

func (w *world) mine(path string) {
	w.t.Helper()
	if w.user && os.Getuid() == 0 {
		check.OK(w.t, os.Lchown(path, nobody, nobody))
	}
}

// look reads the world but what the server itself writes.
func (w *world) look() state {
	w.t.Helper()
	found := look(w.t, w.top, servers)
	if e, err := read(w.loose); err == nil {
		found["../"+filepath.Base(w.loose)] = e
	}
	return found
}

// servers reports whether a path is the server's to write. What an attack plants there is called planted.
func servers(path string) bool {
	if strings.Contains(path, "planted") {
		return false
	}
	return slices.ContainsFunc([]string{
		"ws/.orchestration/agent_trace.jsonl", "ws/.orchestration/trace", "ws/.orchestration/archive", "ws/.orchestration/intent_map.md",
		"ws/.orchestration/state", "ws/.orchestration/cache", "ws/.git/orchestra", "home/.cache/orchestra-mcp", "home/.config/orchestra-mcp/approval.key",
	}, func(own string) bool { return under(path, own) })
}

// fill puts the world's paths into a line or a script.
func (w *world) fill(text string) string {
	return strings.NewReplacer(
		"{WS}", w.ws, "{HOME}", w.home, "{OUT}", filepath.Join(w.home, "outside"), "{ELSE}", filepath.Join(w.top, "elsewhere"),
		"{LEDGER}", ledgertest.Home(w.ws), "{TOP}", w.top, "{LOOSE}", w.loose, "{PID}", strconv.Itoa(w.server.cmd.Process.Pid),
	).Replace(text)
}

// restore makes the world as it was before an attack.
func (w *world) restore() {
	w.t.Helper()
	_ = os.Remove(w.loose)
	w.base.restore(w.t, w.top, w.look())
	left := w.base.differs(w.look())
	check.Must(w.t, len(left) == 0, "not restored: %q", left)
}
