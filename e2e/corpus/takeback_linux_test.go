package corpus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// plant is one entry that a command makes where no intent of the world lets it.
type plant struct {
	// Name is below a directory of its own, which is Depth directories below src.
	Name  string
	Depth int
	Kind  string
}

// plantKinds are what an entry can be, and by which way it can come: "moved"
// and "carried" have their file, or its directory, from the scope.
func plantKinds() []string {
	return []string{"file", "link", "fifo", "socket", "whiteout", "hard", "moved", "carried", "directory", "shut", "hollow", "shelf"}
}

// plants is the product of names, depths and kinds, or without ORCHESTRA_LONG
// each kind with two of them, and with very deep ones if that is said.
func plants(deep bool) (all []plant) {
	names := []string{
		".envrc", ".mcp.json", ".intentignore", ".vscode/tasks.json", ".git/hooks/post-checkout", ".git/config", ".orchestration/active_intents.yaml",
		".roomodes", ".cursor/mcp.json", ".github/agents/a.md", ".claude/settings.json",
	}
	for i, kind := range plantKinds() {
		if !check.Long() {
			all = append(all, plant{names[i%len(names)], 0, kind}, plant{names[(i+3)%len(names)], 3, kind})
			continue
		}
		for j, name := range names {
			all = append(all, plant{name, 0, kind}, plant{name, 3, kind})
			if i == j { // a deep one costs as much as hundreds of others
				all = append(all, plant{name, 300, kind})
			}
		}
	}
	if deep || check.Long() {
		all = append(all, plant{".envrc", 300, "file"}, plant{".git/hooks/post-checkout", 300, "whiteout"})
	}
	return all
}

// path is where the i-th plant is, below the workspace.
func (p plant) path(i int) string {
	return fmt.Sprintf("src/v%d/%s%s", i, strings.Repeat("d/", p.Depth), p.Name)
}

// planter makes the plants, and writes into those that are there already.
const planter = `import ctypes, json, os, socket, sys
top = os.getcwd()
def into(name):
    try: os.mkdir(name)
    except FileExistsError: pass
    os.chdir(name)
def make(kind, name, i):
    keep = os.path.join(top, 'src/keep', str(i))
    if os.path.lexists(name):
        if kind in ('file', 'moved', 'shut', 'hollow', 'shelf'):
            with open(name, 'a') as f: f.write('more\n')
        return
    if kind in ('file', 'shut', 'hollow', 'shelf'):
        with open(name, 'w') as f: f.write('planted\n')
    elif kind == 'link': os.symlink('x', name)
    elif kind == 'fifo': os.mkfifo(name)
    elif kind == 'socket': socket.socket(socket.AF_UNIX).bind(name)
    elif kind == 'directory': os.mkdir(name)
    elif kind == 'hard': os.link(keep, name)
    elif kind == 'moved': os.rename(keep, name)
    elif kind == 'whiteout':
        with open('w', 'w') as f: f.write('x')
        os.rename('w', name)
        if ctypes.CDLL(None, use_errno=True).renameat2(-100, name.encode(), -100, b'w', 4) != 0:
            os.rename(name, 'w'); os.mkfifo(name)
for i, v in enumerate(json.load(open('src/plants.json'))):
    os.chdir(os.path.join(top, 'src'))
    into('v%d' % i)
    for _ in range(v['Depth']): into('d')
    parts = v['Name'].split('/')
    if v['Kind'] == 'carried':
        if not os.path.lexists(parts[0]):
            os.rename(os.path.join(top, 'src/carry', str(i), parts[0].lstrip('.')), parts[0])
        continue
    at = os.open('.', os.O_RDONLY)
    if v['Kind'] in ('hollow', 'shelf'):
        if os.path.exists('in'): os.chmod('in', 0o700)
        into('in')
    for part in parts[:-1]:
        into(part)
    make(v['Kind'], parts[-1], i)
    os.fchdir(at)
    if v['Kind'] == 'shut' and len(parts) > 1: os.chmod(parts[0], 0)
    if v['Kind'] in ('hollow', 'shelf'): os.chmod('in', 0 if v['Kind'] == 'hollow' else 0o500)
    os.close(at)
os.chdir(top)
`

// sow puts what the planter needs into the scope.
func (w *world) sow(all []plant) {
	w.t.Helper()
	list, err := json.Marshal(all)
	check.OK(w.t, err)
	w.put("ws/src/plants.json", string(list))
	w.put("ws/src/plant.py", planter)
	for i, p := range all {
		switch p.Kind {
		case "hard", "moved":
			w.put(fmt.Sprintf("ws/src/keep/%d", i), "of the user\n")
		case "carried":
			w.put(fmt.Sprintf("ws/src/carry/%d/%s", i, strings.TrimPrefix(p.Name, ".")), "of the user\n")
		}
	}
}

// grown are the plants that stand.
func (w *world) grown(all []plant) (standing []string) {
	w.t.Helper()
	for i, p := range all {
		path := p.path(i)
		if p.Kind == "hollow" || p.Kind == "shelf" {
			path = strings.TrimSuffix(path, p.Name) + "in/" + p.Name
		}
		if _, err := os.Lstat(filepath.Join(w.ws, path)); !errors.Is(err, fs.ErrNotExist) {
			standing = append(standing, p.Kind+" "+strings.ReplaceAll(path, strings.Repeat("d/", 300), "d…/"))
		}
	}
	return standing
}

// await waits until a command has made a file.
func (w *world) await(name string) {
	w.t.Helper()
	for range 6000 { // longer than any machine takes
		if _, err := os.Lstat(filepath.Join(w.ws, name)); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.t.Fatalf("%s was not made", name)
}

// behind starts a command in the background, and returns what ends it.
func (s *served) behind(session, line string) (end func()) {
	s.t.Helper()
	started := s.call("execute_command", args{"session": session, "command": line, "background": true})
	id := started.text("command_id")
	check.Must(s.t, id != "", "not started: %v", started.Fields)
	return func() {
		s.t.Helper()
		a := s.call("stop_command", args{"session": session, "command_id": id})
		check.Must(s.t, !a.IsError, "not stopped: %v", a.Fields)
	}
}

func until(name string) string { return "until [ -e " + name + " ]; do sleep 0.05; done" }

const (
	plantsAll = "python3 src/plant.py"
	idles     = "until [ -e src/never ]; do sleep 0.05; done"
)

// beside is a way in which a command that plants overlaps with another.
type beside struct {
	name string
	// behind is the line in the background; front is run when it has made what await names.
	behind, await, front string
	// atOnce: what was planted is gone when the command in front has ended, and not only when both have.
	atOnce bool
}

func besides() []beside {
	return []beside{
		{name: "in front of one that waits", behind: idles, front: plantsAll, atOnce: true},
		{name: "behind one that looks", behind: until("src/go") + "; " + plantsAll + "; touch src/done; " + idles, front: "touch src/go; " + until("src/done"), atOnce: true},
		{name: "behind, twice", behind: plantsAll + "; touch src/ready; " + until("src/go") + "; " + plantsAll + "; touch src/done; " + idles,
			await: "src/ready", front: "touch src/go; " + until("src/done")},
		{name: "behind, before the other begins", behind: plantsAll + "; touch src/ready; " + idles, await: "src/ready", front: "true"},
	}
}

// TestWhatNobodyMayMakeIsTakenBack: what a command made that no command of the time may make is gone when a command has
// ended, whoever ran beside it, on this server or on another.
func TestWhatNobodyMayMakeIsTakenBack(t *testing.T) {
	program := testProgram(t)
	all := levels(t)
	for _, level := range all {
		for i, b := range besides() {
			for _, foreign := range []bool{false, true} {
				for _, user := range []bool{false, true} {
					if !user && os.Getuid() != 0 || !besideTried(i, level, all[len(all)-1], foreign, user) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/other server %v", who(level, user), b.name, foreign), func(t *testing.T) {
						t.Parallel()
						b.grow(t, level, user, foreign, program, plants(i == 0))
					})
				}
			}
		}
	}
}

// besideTried reports whether a scenario is tried now: without ORCHESTRA_LONG each once, at the highest level of the machine
// and without one by turns, under the race detector the first alone.
func besideTried(i int, level, highest sandbox.Level, foreign, user bool) bool {
	if check.Long() {
		return true
	}
	if i%2 == 0 && level != highest || i%2 == 1 && level != sandbox.None || check.Short() && i > 0 {
		return false
	}
	return foreign == (i/2 == 0) && (user == (level == sandbox.Full) || os.Getuid() != 0)
}

func (b beside) grow(t *testing.T, level sandbox.Level, user, foreign bool, program string, all []plant) {
	w := emptyWorld(t, level, user, false)
	w.reverts = level != sandbox.Full
	w.sow(all)
	w.own()
	w.begin(program)
	other, session := w.server, w.sessions["ALL"]
	if foreign {
		other = w.serves(program)
		session = other.call("select_active_intent", args{"intent_id": "ALL"}).text("session")
	}
	end := other.behind(session, b.behind)
	if b.await != "" {
		w.await(b.await)
	}
	a := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": b.front, "timeout": 50})
	check.Must(t, a.text("record_id") != "", "%s: %v", b.front, a.Fields)
	left := w.grown(all)
	check.That(t, !b.atOnce || len(left) == 0, "when the command in front has ended %d of %d stand: %q", len(left), len(all), left)
	end()
	if left := w.grown(all); len(left) > 0 {
		t.Errorf("when both have ended %d of %d stand: %q", len(left), len(all), left)
	}
	if foreign {
		check.OK(t, other.end())
	}
	check.OK(t, w.server.end())
	problems := w.verify()
	check.That(t, len(problems) == 0, "verify: %+v", problems)
}
