package console_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/console"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// world is a user's home with workspaces in it.
type world struct {
	t    *testing.T
	home string
}

// newWorld is a home whose user wants to be asked about what is out of scope.
func newWorld(t *testing.T) *world {
	t.Helper()
	needsBrowser(t)
	t.Parallel()
	w := &world{t, t.TempDir()}
	check.Write(t, w.home, "config/orchestra-mcp/config.yaml", "approvals: {scope_violation: ask}\n")
	return w
}

// env is the environment of a program of this user.
func (w *world) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "TMPDIR=" + w.home,
		"XDG_CONFIG_HOME=" + filepath.Join(w.home, "config"), "XDG_CACHE_HOME=" + filepath.Join(w.home, "cache"),
		"GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0",
	}
}

// workspace is a directory that agents work in.
type workspace struct {
	w   *world
	dir string
}

// workspace makes one, whose ledger is verified at the end, and its decisions judged again.
func (w *world) workspace(name string) *workspace {
	w.t.Helper()
	ws := w.unverified(name)
	w.t.Cleanup(func() { agenttest.Verify(w.t, ws.dir, false) })
	return ws
}

func (w *world) unverified(name string) *workspace {
	w.t.Helper()
	ws := &workspace{w, filepath.Join(w.home, "work", name)}
	agenttest.Workspace(w.t, ws.dir)
	return ws
}

// at is an address of the console's in the workspace.
func (ws *workspace) at(rest string) string { return "/w/" + presence.Name(ws.dir) + "/" + rest }

func (ws *workspace) write(name, content string) { check.Write(ws.w.t, ws.dir, name, content) }

func (ws *workspace) read(name string) string {
	return string(check.Value(os.ReadFile(filepath.Join(ws.dir, name)))(ws.w.t))
}

// served is a console that runs, as `orchestra-mcp console` has it.
type served struct {
	w    *world
	page *console.Console
	at   net.Addr
	end  func()
}

// console serves the page of the user's workspaces.
func (w *world) console(dirs ...*workspace) *served {
	w.t.Helper()
	return w.consoleAt("127.0.0.1:0", dirs...)
}

func (w *world) consoleAt(address string, dirs ...*workspace) *served {
	w.t.Helper()
	o := console.Options{Environ: w.env(), Logger: zerolog.New(zerolog.NewTestWriter(w.t)).Level(zerolog.ErrorLevel)}
	for _, ws := range dirs {
		o.Dirs = append(o.Dirs, ws.dir)
	}
	var config net.ListenConfig
	listener := check.Value(config.Listen(w.t.Context(), "tcp", address))(w.t)
	c := &served{w: w, page: console.New(o), at: listener.Addr()}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.page.Serve(ctx, listener) }()
	c.end = func() {
		cancel()
		if err, running := <-ended; running {
			check.NoError(w.t, err)
			close(ended)
		}
	}
	w.t.Cleanup(c.end)
	return c
}

func (c *served) origin() string { return "http://" + c.at.String() }

func (c *served) link() string { return c.page.Link(c.at) }

// runs is the program in a terminal.
func (ws *workspace) runs(arguments ...string) {
	ws.w.t.Helper()
	cmd := exec.Command(program, append(arguments, "--workspace", ws.dir)...)
	cmd.Env = ws.w.env()
	out, err := cmd.CombinedOutput()
	check.Must(ws.w.t, err == nil, "%v: %v\n%s", arguments, err, out)
}
