package corpus_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestCommandsOnLayersUnderAttack makes the attacks at the level full by commands that work on layers of their own, and watches
// the workspace meanwhile: what the intent does not give is not there at any moment. Without ORCHESTRA_LONG a third of them are made.
func TestCommandsOnLayersUnderAttack(t *testing.T) {
	program, all := testProgram(t), levels(t)
	if all[len(all)-1] != sandbox.Full {
		return
	}
	rows := table(t)
	for _, user := range []bool{false, true} {
		if !user && os.Getuid() != 0 {
			continue
		}
		t.Run(who(sandbox.Full, user), func(t *testing.T) {
			t.Parallel()
			for i, a := range corpus() {
				if !check.Long() && i%6 != 3*index(user) {
					continue
				}
				t.Run(a.name, func(t *testing.T) {
					w := emptyWorld(t, sandbox.Full, user, a.bare)
					w.staged = true
					w.begin(program)
					if a.prepare != nil {
						a.prepare(w)
						w.base, a.prepare = w.look(), nil
					}
					seen := w.in(t).watch()
					result := w.try(attack{
						name: a.name, intent: a.intent, line: a.line, sh: a.sh, python: a.python, before: a.before, then: a.then, git: a.git,
						alone: true, bare: a.bare, varies: a.varies, stops: a.stops, blind: a.blind,
					})
					want := rows[a.name][sandbox.Full][index(user)]
					check.That(t, result == refused || result == held || result == want, "the result is %q, and %q where it works on the workspace", result, want)
					check.That(t, a.allowed(sandbox.Full, result), "the level must not let it be %q", result)
					others := slices.DeleteFunc(seen(), func(path string) bool { return a.may("ws/" + path) })
					// A line with a git command works on the workspace itself; the test is told of what it writes itself.
					if len(others) > 0 && !a.git && a.then == nil && a.before == "" && !strings.Contains(a.line, "git ") {
						t.Errorf("for a moment there was a change of %q", others)
					}
				})
			}
		})
	}
}

// watch notes every change of a name, a content or permissions in the directories of the workspace that stand there now, but for
// .orchestration, which is the server's, and .git. What it returns ends it, and gives the paths.
func (w *world) watch() (end func() []string) {
	w.t.Helper()
	fd := check.Value(unix.InotifyInit1(unix.IN_CLOEXEC))(w.t)
	dirs := map[int32]string{}
	check.OK(w.t, filepath.WalkDir(w.ws, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(w.ws, path)
		if err != nil || name == ".orchestration" || name == ".git" {
			return fs.SkipDir
		}
		if d.IsDir() {
			const all = unix.IN_CREATE | unix.IN_MOVE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ATTRIB
			wd, err := unix.InotifyAddWatch(fd, path, all)
			check.OK(w.t, err)
			dirs[int32(wd)] = name
		}
		return nil
	}))
	var mu sync.Mutex
	var paths []string
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf)
			if err == unix.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				return
			}
			for at := 0; at < n; {
				event := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
				name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(event.Len)]), "\x00")
				at += unix.SizeofInotifyEvent + int(event.Len)
				if name == last {
					return
				}
				if name != "" && event.Mask&unix.IN_ISDIR == 0 || event.Mask&unix.IN_CREATE != 0 {
					mu.Lock()
					paths = append(paths, filepath.Join(dirs[event.Wd], name))
					mu.Unlock()
				}
			}
		}
	}()
	return func() []string {
		check.OK(w.t, os.WriteFile(filepath.Join(w.ws, last), nil, 0o644)) // behind all that has happened
		<-gone
		check.OK(w.t, os.Remove(filepath.Join(w.ws, last)))
		check.OK(w.t, unix.Close(fd))
		slices.Sort(paths)
		return slices.Compact(paths)
	}
}

// last is a name by which a watcher knows that it has seen all.
const last = ".the-last-of-all"
