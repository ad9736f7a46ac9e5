package sandbox_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// running is a command in a profile that the test ends.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	held *sandbox.Held
	out  *bufio.Reader
	end  chan struct{}
	done chan struct{}
}

// begin starts a line and waits until it has printed its first line.
func (w *workspace) begin(line string) *running {
	w.t.Helper()
	read, write, err := os.Pipe()
	check.OK(w.t, err)
	r := &running{t: w.t, cmd: exec.Command("/bin/sh", "-c", line), out: bufio.NewReader(read), end: make(chan struct{}), done: make(chan struct{})}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = w.root, write, write
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	sandbox.Go(func() {
		defer close(r.done)
		held, err := sandbox.Start(r.cmd, sandbox.Full, w.profile)
		r.held = held
		started <- err
		if err == nil {
			<-r.end
			r.cmd.Wait()
			held.Close()
		}
	})
	check.OK(w.t, <-started)
	write.Close()
	w.t.Cleanup(func() { read.Close() })
	if first, err := r.out.ReadString('\n'); err != nil {
		w.t.Fatalf("%q %v", first, err)
	}
	return r
}

// finish kills what is left, and returns when nothing holds the output open.
func (r *running) finish() {
	r.t.Helper()
	r.cmd.Process.Kill()
	close(r.end)
	<-r.done
	_, err := io.Copy(io.Discard, r.out)
	check.NoError(r.t, err)
}

func TestFullTellsHowACommandEnded(t *testing.T) {
	w := newWorkspace(t)
	w.inScope("src")
	for _, c := range []struct {
		line   string
		code   int
		signal syscall.Signal
	}{
		{"echo; exit 0", 0, 0},
		{"echo; exit 7", 7, 0},
		{"echo; exit 255", 255, 0},
		{"echo; kill -TERM $$; sleep 1000", 0, syscall.SIGTERM},
		{"echo; kill -KILL $$; sleep 1000", 0, syscall.SIGKILL},
		{"echo; kill -SEGV $$; sleep 1000", 0, syscall.SIGSEGV},
		{"echo; kill -TERM 1; kill -KILL 1; kill -STOP 1; kill -INT 1; exit 5", 5, 0},
		{"echo; sleep 1000 & exit 3", 3, 0},
		{"echo; (setsid setsid sleep 1000 &) ; exit 4", 4, 0},
	} {
		r := w.begin(c.line)
		<-r.held.Ended()
		status, known := r.held.Status()
		if !known || c.signal == 0 && (!status.Exited() || status.ExitStatus() != c.code) ||
			c.signal != 0 && (!status.Signaled() || status.Signal() != c.signal) {
			t.Errorf("%s: %v %#x", c.line, known, status)
		}
		r.finish()
	}
}

func TestFullCommandIsAskedToEnd(t *testing.T) {
	w := newWorkspace(t)
	w.inScope("src")
	r := w.begin(`trap 'exit 9' TERM; echo; while :; do sleep 0.01; done`)
	check.OK(t, syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM))
	status, known := r.held.Status()
	check.That(t, known && status.ExitStatus() == 9, "%v %#x", known, status)
	r.finish()
}

// TestFullSaysWhichStepFailed: nothing runs without its boundary.
func TestFullSaysWhichStepFailed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*workspace)
		want   string
	}{
		"no such place":  {func(w *workspace) { w.inScope("absent") }, "absent"},
		"a link":         {func(w *workspace) { os.Symlink("docs", w.path("l")); w.inScope("l") }, "/l"},
		"a link between": {func(w *workspace) { os.Symlink("src", w.path("l")); w.inScope("l/deep") }, "/l/deep"},
		"a frozen link": {func(w *workspace) {
			w.everything()
			os.Remove(w.path(".git/config"))
			os.Symlink("x", w.path(".git/config"))
		}, "link"},
		"a relative path": {func(w *workspace) { w.profile.Writable = []string{"src"} }, "absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			space := newWorkspace(t)
			c.change(space)
			cmd := exec.Command("/bin/sh", "-c", "echo x > "+space.path("src/ran"))
			cmd.Dir = space.root
			is := sandbox.ErrUnavailable
			if name == "no such place" {
				is = sandbox.ErrMoved
			}
			err := inThread(cmd, func() (*sandbox.Held, error) { return sandbox.Start(cmd, sandbox.Full, space.profile) })
			check.That(t, errors.Is(err, is) && strings.Contains(err.Error(), c.want), "%v", err)
			absent(t, space.path("src/ran"))
			noPlaceholders(t, space.root)
		})
	}
}

func absent(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		_, err := os.Lstat(path)
		check.That(t, errors.Is(err, fs.ErrNotExist), "%s is there (%v)", path, err)
	}
}

func noPlaceholders(t *testing.T, root string) {
	t.Helper()
	check.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err != nil || placeholder.Marked(info.Mode(), info.Size(), info.ModTime()) || strings.HasPrefix(d.Name(), ".orchestra-") {
			t.Errorf("%s stayed (%v)", path, err)
		}
		return nil
	}))
}

func isPlaceholder(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	check.That(t, err == nil && placeholder.Marked(info.Mode(), info.Size(), info.ModTime()), "%s: %v %v", path, info, err)
}

// serve is a server with one command in a profile, for a test that kills it.
func serve(arguments []string) error {
	var profile sandbox.Profile
	if err := json.Unmarshal([]byte(arguments[0]), &profile); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", "echo running; sleep 1000 & (setsid sleep 1000 &); wait")
	cmd.Dir, cmd.Stdout, cmd.Stderr = profile.Workspace, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return inThread(cmd, func() (*sandbox.Held, error) { return sandbox.Start(cmd, sandbox.Full, &profile) })
}

// TestFullDiesWithTheServer: nothing survives a kill, and what it left in the
// file system goes with the next command or the sweep.
func TestFullDiesWithTheServer(t *testing.T) {
	for name, clean := range map[string]func(*workspace){
		"next command": func(space *workspace) { space.run("true") },
		"sweep":        func(space *workspace) { sandbox.Sweep(space.profile.Frozen) },
	} {
		t.Run(name, func(t *testing.T) {
			space := newWorkspace(t)
			space.everything()
			profile := check.Value(json.Marshal(space.profile))(t)
			server := exec.Command("attack", "serve", string(profile))
			pipe := check.Value(server.StdoutPipe())(t)
			check.OK(t, server.Start())
			out := bufio.NewReader(pipe)
			if line, err := out.ReadString('\n'); err != nil || line != "running\n" {
				t.Fatalf("%q %v", line, err)
			}
			isPlaceholder(t, space.path(".intentignore"))
			server.Process.Kill()
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // the end: nobody holds it open
				t.Errorf("%q %v", rest, err)
			}
			server.Wait()
			isPlaceholder(t, space.path(".intentignore"))
			clean(space)
			noPlaceholders(t, space.root)
			absent(t, space.path(".intentignore"), space.path(".git/modules"))
		})
	}
}

// TestFullLeavesNoRights: what a setuid program would need is not to be had.
func TestFullLeavesNoRights(t *testing.T) {
	w := newWorkspace(t)
	w.inScope("src")
	out, code := w.run(`grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t'; su -c true nobody < /dev/null`)
	for _, want := range []string{"CapInh:0000000000000000", "CapPrm:0000000000000000", "CapEff:0000000000000000",
		"CapBnd:0000000000000000", "CapAmb:0000000000000000", "NoNewPrivs:1", "Seccomp:2"} {
		check.That(t, strings.Contains(out, want), "%s is not in %s", want, out)
	}
	check.That(t, code != 0, "su worked")
}

// TestFullHoldsWhatTheOperatorReplaces: a file that is saved by renaming takes its mask away, which comes back.
func TestFullHoldsWhatTheOperatorReplaces(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	space.profile.Hidden = []string{space.path("secret.env")}
	r := space.begin(`echo
		until grep -q operator .git/config && grep -q '/\.git/config ' /proc/self/mountinfo; do :; done
		echo x > .git/config
		until grep -q operator .intentignore && grep -q '/\.intentignore ' /proc/self/mountinfo; do :; done
		echo x > .intentignore
		until [ -e src/replaced ] && grep -q '/secret\.env ' /proc/self/mountinfo && ! cat secret.env; do :; done
		echo done`)
	for _, name := range []string{".git/config", ".intentignore", "secret.env"} {
		check.OK(t, os.WriteFile(space.path("c"), []byte("# operator\n"), 0o644))
		check.OK(t, os.Rename(space.path("c"), space.path(name)))
	}
	files(t, space.path("src"), "replaced")
	status, known := r.held.Status()
	check.That(t, known && status.ExitStatus() == 0, "%v %#x", known, status)
	r.finish()
	for _, name := range []string{".git/config", ".intentignore", "secret.env"} {
		content, err := os.ReadFile(space.path(name))
		check.That(t, err == nil && string(content) == "# operator\n", "%s: %q %v", name, content, err)
	}
}

// TestFullWhereOnlyOthersMayWrite: a path needs no placeholder where the user cannot make anything.
func TestFullWhereOnlyOthersMayWrite(t *testing.T) {
	if os.Getuid() == 0 {
		return // TestFullAsAnOrdinaryUser comes here again
	}
	space := newWorkspace(t)
	space.profile.Writable = []string{"/usr/share"}
	space.profile.Frozen = []sandbox.Frozen{{Path: "/usr/share/orchestra-test"}}
	out, code := space.run("touch /usr/share/orchestra-test; test ! -e /usr/share/orchestra-test")
	check.That(t, code == 0, "%d %s", code, out)
}

func TestFullPlaceholdersGoWithTheLastCommand(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	first := space.begin("echo; sleep 1000")
	second := space.begin("echo; sleep 1000")
	for _, name := range []string{".intentignore", ".git/commondir", ".git/modules", ".git/info", ".git/objects", ".git/config.worktree"} {
		isPlaceholder(t, space.path(name))
	}
	first.finish()
	for _, line := range []string{`echo x > .intentignore`, `mkdir .git/modules/x`, `echo x > .git/commondir`} {
		out, code := space.run(line)
		check.That(t, code != 0, "%s: %s", line, out)
	}
	isPlaceholder(t, space.path(".intentignore"))
	second.finish()
	noPlaceholders(t, space.root)
	absent(t, space.path(".intentignore"), space.path(".git/commondir"), space.path(".git/modules"))
}

// TestFullPlaceholdersAreTheOperators: what the operator makes of one stays.
func TestFullPlaceholdersAreTheOperators(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	r := space.begin("echo; sleep 1000")
	check.OK(t, os.WriteFile(space.path(".intentignore"), []byte("*.lock\n"), 0o644))
	files(t, space.path(".git/modules"), "a/config")
	check.OK(t, os.WriteFile(space.path("c"), nil, 0o644))
	check.OK(t, os.Rename(space.path("c"), space.path(".git/config.worktree")))
	r.finish()
	noPlaceholders(t, space.root)
	for _, name := range []string{".intentignore", ".git/modules/a/config", ".git/config.worktree"} {
		_, err := os.Lstat(space.path(name))
		check.NoError(t, err)
	}
}

// TestFullPlaceholdersDoNoHarm: git outside takes them for nothing while the command runs.
func TestFullPlaceholdersDoNoHarm(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	os.RemoveAll(space.path(".git"))
	git := func(arguments ...string) string {
		t.Helper()
		cmd := exec.Command("git", arguments...)
		cmd.Dir = space.root
		cmd.Env = append(os.Environ(), "HOME="+space.outside, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(space.root))
		out, err := cmd.CombinedOutput()
		check.That(t, err == nil, "git %v: %v\n%s", arguments, err, out)
		return string(out)
	}
	for _, line := range []string{"init -q", "config user.email a@example.com", "config user.name a", "add src", "commit -qm one"} {
		git(strings.Fields(line)...)
	}
	r := space.begin("echo; sleep 1000")
	for _, line := range []string{"status", "add docs", "commit -qm two", "branch side", "checkout -q side", "log --oneline", "stash list", "gc -q", "fsck"} {
		git(strings.Fields(line)...)
	}
	r.finish()
	noPlaceholders(t, space.root)
	if out, code := space.run(fmt.Sprintf("export HOME=%s GIT_CONFIG_NOSYSTEM=1; echo x > new && git add -A && git commit -qm three && git status --porcelain && git log --stat -1", space.outside)); code != 0 ||
		!strings.Contains(out, "new") || strings.Contains(out, ".intentignore") {
		t.Errorf("%d %s", code, out)
	}
	git("fsck")
	noPlaceholders(t, space.root)
}

// TestFullManyAtOnce: commands that start and end at the same time share their
// placeholders, and the last one takes them away.
func TestFullManyAtOnce(t *testing.T) {
	space := newWorkspace(t)
	space.everything()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(`echo x > made%d; test -f .intentignore && ! echo x > .intentignore`, i))
			cmd.Dir = space.root
			err := inThread(cmd, func() (*sandbox.Held, error) { return sandbox.Start(cmd, sandbox.Full, space.profile) })
			check.That(t, err == nil && cmd.ProcessState.Success(), "command %d: %v %v", i, err, cmd.ProcessState)
		})
	}
	all.Wait()
	noPlaceholders(t, space.root)
	absent(t, space.path(".intentignore"), space.path(".git/modules"))
	for i := range 24 {
		if _, err := os.Stat(space.path(fmt.Sprintf("made%d", i))); err != nil {
			t.Error(err)
		}
	}
}
