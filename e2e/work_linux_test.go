package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// job is real work: lines that a person would type, in a project that has what they need.
type job struct {
	name string
	// needs are programs that not everybody has.
	needs []string
	files map[string]string
	// prepare adds what is no text to a project, and returns the environment that the lines need. It may fill home/packages.
	prepare func(w *workspace) []string
	// ready is called once, behind a first command that does nothing.
	ready func(w *workspace)
	// lines are run one call each. One that ends with "# fails" has to.
	lines []string
	// intent is Everything if none is named.
	intent string
	// ordinary: an ordinary user's work, which permissions hold back.
	ordinary bool
	// direct is a part of the reason why each line works on the workspace itself; "" is that none does.
	direct string
	// again: a line that a layer is in the way of is sent again, as its answer says, and works on the workspace then.
	again bool
	// apart are the paths of which it is known that layers make another thing of them, with the reason.
	apart map[string]string
}

// TestRealWorkOnLayers does each job twice, at the same path: on the workspace itself, and on layers. Exit codes and what is in
// the workspace afterwards are the same, and nothing is left of the layers.
func TestRealWorkOnLayers(t *testing.T) {
	for _, j := range slices.Concat(programJobs(), toolJobs(), fileJobs()) {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			needsLayers(t)
			for _, program := range j.needs {
				check.Needs(t, program)
			}
			j.compare(t)
		})
	}
}

func (j job) compare(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	was := j.done(&workspace{t, dir, home}, direct)
	check.OK(t, os.RemoveAll(dir))
	for _, name := range entryNames(t, home) {
		if name != "cache" && name != "packages" { // what both may have: compilers have compiled their library
			check.OK(t, os.RemoveAll(filepath.Join(home, name)))
		}
	}
	is := j.done(&workspace{t, dir, home}, "ORCHESTRA_COMMANDS_STAGE=auto")
	check.That(t, slices.Equal(was.codes, is.codes), "exit codes %v, on layers %v", was.codes, is.codes)
	for _, path := range slices.Sorted(maps.Keys(joined(was.tree, is.tree))) {
		before, after, why := was.tree[path], is.tree[path], j.apart[path]
		check.That(t, (before == after) == (why == ""), "%s\n is %s\non layers %s\n(%s)", path, before, after, why)
	}
}

func joined(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func entryNames(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, e := range check.Value(os.ReadDir(dir))(t) {
		all = append(all, e.Name())
	}
	return all
}

// workDone is what a job has left.
type workDone struct {
	codes []any
	tree  map[string]string
}

// fixedDates have git make the same commits each time.
var fixedDates = []string{
	"GIT_AUTHOR_DATE=1000000000 +0000", "GIT_COMMITTER_DATE=1000000000 +0000",
	"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org",
}

func (j job) done(w *workspace, env ...string) workDone {
	w.t.Helper()
	check.OK(w.t, os.MkdirAll(w.dir, 0o755))
	check.OK(w.t, os.MkdirAll(w.home, 0o755))
	agenttest.Workspace(w.t, w.dir)
	w.write(".orchestration/.gitignore", "state/\ncache/\n")
	for name, content := range j.files {
		w.write(name, content)
	}
	env = append(env, fixedDates...)
	if j.prepare != nil {
		env = append(env, j.prepare(w)...)
	}
	for _, arguments := range [][]string{{"add", "."}, {"commit", "-qm", "start"}} {
		cmd := w.gitCommand(arguments...)
		cmd.Env = append(cmd.Env, fixedDates...)
		out, err := cmd.CombinedOutput()
		check.Must(w.t, err == nil, "%v\n%s", err, out)
	}
	p := w.startAs(w.serves(machine{level: "full", ordinary: j.ordinary}), env...).initialized()
	agent := p.agent()
	intent := j.intent
	if intent == "" {
		intent = "INT-005"
	}
	session := agent.Selects(intent)
	if j.ready != nil {
		agent.OK("execute_command", args{"session": session, "command": "true"})
		j.ready(w)
	}
	done := workDone{}
	for _, line := range j.lines {
		run := agent.OK
		if j.again {
			run = agent.Call
		}
		r := run("execute_command", args{"session": session, "command": line, "timeout": 300})
		if j.again && strings.Contains(r.Text, "Send the same line again") {
			if id, kept := r.Object["staged_id"]; kept {
				agent.OK("discard_staged", args{"session": session, "staged_id": id})
			}
			r = agent.OK("execute_command", args{"session": session, "command": line})
			check.That(w.t, r.Object["direct_because"] == "this line failed on a layer", "%s: %v", line, r.Object)
			delete(r.Object, "direct_because")
		}
		done.codes = append(done.codes, r.Object["exit_code"])
		check.Must(w.t, (r.Object["exit_code"] == 0.0) != strings.HasSuffix(line, "# fails"), "%v: %s: %s", env[0], line, r.Text)
		why, _ := r.Object["direct_because"].(string)
		switch {
		case env[0] == direct:
			check.That(w.t, why == "commands.stage is never", "%s: direct because %q", line, why)
		default:
			check.That(w.t, (j.direct == "") == (why == "") && strings.Contains(why, j.direct), "%s: direct because %q", line, why)
		}
		w.t.Logf("%s %s: %v ms; %v", env[0], line, r.Object["duration_ms"], r.Object["warnings"])
	}
	p.end()
	w.verify()
	if entries, err := os.ReadDir(w.path(".orchestration/state/layers")); err == nil {
		check.That(w.t, len(entries) == 0, "layers are left: %v", entries)
	}
	done.tree = w.everything()
	return done
}

// everything describes all that a person has in a workspace: kinds, permissions, contents, what links to the same file, attributes.
// Of git it has what git says: its index holds times. Times and sizes of directories, and inode numbers, are no part of it.
func (w *workspace) everything() map[string]string {
	w.t.Helper()
	tree, inodes := map[string]string{}, map[uint64][]string{}
	check.OK(w.t, filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		check.OK(w.t, err)
		name := check.Value(filepath.Rel(w.dir, path))(w.t)
		if name == ".git" || name == ".orchestration" {
			return fs.SkipDir
		}
		info := check.Value(d.Info())(w.t)
		tree[name] = info.Mode().String() + xattrs(w.t, path)
		switch stat := info.Sys().(*syscall.Stat_t); {
		case info.Mode().IsRegular():
			if stat.Nlink > 1 {
				inodes[stat.Ino] = append(inodes[stat.Ino], name)
			}
			tree[name] += w.contentOf(name)
			if sparse := stat.Blocks*512 < info.Size()/2; sparse {
				tree[name] += " sparse"
			}
		case info.Mode()&fs.ModeSymlink != 0:
			tree[name] += " to " + check.Value(os.Readlink(path))(w.t)
		}
		return nil
	}))
	for _, names := range inodes {
		for _, name := range names {
			tree[name] += fmt.Sprintf(" with %q", names)
		}
	}
	for _, line := range []string{"git log --format=%H:%T --all", "git status --porcelain --untracked-files=all", "git stash list", "git fsck --no-dangling"} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = w.dir, append(w.env(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
		out, err := cmd.CombinedOutput()
		tree[line] = fmt.Sprintf("%v\n%s", err, out)
	}
	return tree
}

func (w *workspace) contentOf(name string) string {
	content := []byte(w.read(name))
	if strings.HasSuffix(name, ".pyc") && len(content) > 16 {
		copy(content[8:12], "time") // of its source, which is another in each run
	}
	if len(content) < 200 {
		return fmt.Sprintf(" %q", content)
	}
	return fmt.Sprintf(" %d bytes %x", len(content), sha256.Sum256(content))
}

func xattrs(t *testing.T, path string) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(path, buf)
	check.Must(t, err == nil || err == unix.ENOTSUP, "%s: %v", path, err)
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" %q", buf[:n])
}
