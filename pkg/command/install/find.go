package install

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Install is what the install commands of one line write. Paths are workspace-relative.
type Install struct {
	// Commands are what they are called, as "npm install".
	Commands []string
	// Dirs are the directories of their projects, which exist: package managers
	// make files there for a moment, and rename them into place.
	Dirs []string
	// Packages are package directories, and files that are generated with them, existing or not.
	Packages []string
	// Files are the manifests and lock files that can change.
	Files []string
}

// Find returns what the install commands of a line write that starts in dir, a
// directory of the workspace at root; nil if the line has none.
//
// Where the line does not say in which directory a command runs, it is the one that the line starts in. A virtual
// environment is one that exists in the project's directory or that the program stands in, or one that the line makes:
// what it names must be called env, virtualenv or something with venv, and be new, empty, or an environment already.
func Find(root, dir string, line *shell.Reading) *Install {
	if line == nil {
		return nil
	}
	f := &finder{root: root}
	for _, p := range line.Programs {
		p = known(p)
		for _, m := range managers() {
			if m.program == p.Name {
				f.command(m, p, dir)
			}
		}
	}
	if len(f.Commands) == 0 {
		return nil
	}
	return &f.Install
}

var versioned = lazy.Regexp(`^(python|pip)[0-9.]*$`)

// known is a program by the name that the table has for it, with its arguments: python -m pip is pip, and pip3.12 too.
func known(p shell.Program) shell.Program {
	p.Name = strings.TrimSuffix(p.Name, ".exe")
	if m := versioned().FindStringSubmatch(p.Name); m != nil {
		p.Name = m[1]
	}
	if p.Name == "python" && len(p.Args) > 1 && p.Args[0].Is("-m") && p.Args[1].Exact {
		p.Name, p.Args = p.Args[1].Text, p.Args[2:]
	}
	if p.Name == "virtualenv" {
		p.Name = "venv"
	}
	return p
}

type finder struct {
	Install
	root string
}

// command adds what one simple command writes, if it is an install command.
func (f *finder) command(m manager, p shell.Program, start string) {
	words, w, found := m.verb(p)
	if !found || slices.ContainsFunc(p.Args, func(a shell.Arg) bool { return shell.Among(m.global, a.Text) }) {
		return
	}
	if w&manifestIfNamed != 0 && m.names(p.Args, words) {
		w |= manifest
	}
	add(&f.Commands, strings.TrimSpace(m.program+" "+words))
	for _, at := range f.places(m, p, start) {
		f.project(m, w, at)
		if m.environment {
			f.environments(p, words, at)
		}
	}
}

// places are the directories that a command can work in: where a cd may have failed, those that have a project, if any has.
func (f *finder) places(m manager, p shell.Program, start string) (all []string) {
	if len(p.In) == 0 {
		p.In = []string{""}
	}
	for _, at := range p.In {
		if at, inside := f.inside(start, at); inside {
			all = append(all, f.optional(m, p.Args, at))
		}
	}
	none := func(at string) bool { return f.home(m, at) == "" }
	if projects := slices.DeleteFunc(slices.Clone(all), none); len(projects) > 0 {
		return projects
	}
	return all
}

// home is the directory of the project that another one belongs to, "" if there is none.
func (f *finder) home(m manager, dir string) string {
	return f.above(dir, func(at string) bool { return m.manifest != "" && f.exists(path.Join(at, m.manifest)) })
}

// verb finds the first words of the command in the table, the longest, and what it writes.
func (m manager) verb(p shell.Program) (words string, w writes, found bool) {
	bare := false
	for kind, list := range m.installs {
		for candidate := range strings.SplitSeq(list, ", ") {
			if candidate == alone {
				bare = true
				if words == "" {
					w = kind
				}
			} else if len(candidate) > len(words) && policy.Begins(p, strings.Fields(candidate)...) {
				words, w = candidate, kind
			}
		}
	}
	if words != "" || !bare {
		return words, w, words != ""
	}
	// The bare program takes options only; what makes an environment takes its name.
	return "", w, m.environment || !slices.ContainsFunc(p.Args, func(a shell.Arg) bool { return !a.Begins("-") })
}

// names reports whether the line names a package behind the words.
func (m manager) names(args []shell.Arg, words string) bool {
	operands := 0
	for i, a := range args {
		if !a.Begins("-") && (i == 0 || !shell.Among(m.dir, args[i-1].Text)) {
			operands++
		}
	}
	return operands > len(strings.Fields(words))
}

// optional is the directory that an option names, or dir.
func (f *finder) optional(m manager, args []shell.Arg, dir string) string {
	for i, a := range args {
		option, value, joined := strings.Cut(a.Text, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1].Text
		}
		if named, inside := f.inside(dir, value); shell.Among(m.dir, option) && inside && value != "" {
			return named
		}
	}
	return dir
}

// inside is a path of the workspace that a line names from a directory of it.
func (f *finder) inside(from, name string) (string, bool) {
	if path.IsAbs(name) {
		below, is := strings.CutPrefix(path.Clean(name)+"/", strings.TrimSuffix(f.root, "/")+"/")
		return path.Clean(below), is
	}
	name = path.Join(from, name)
	return name, name != ".." && !strings.HasPrefix(name, "../")
}

// project adds what a manager writes that works in a directory.
func (f *finder) project(m manager, w writes, dir string) {
	home := cmp.Or(f.home(m, dir), dir)
	group := cmp.Or(f.above(home, func(at string) bool { return at != home && m.group.file != "" && f.marked(at, m.group, home) }), home)
	for _, dir := range []string{home, group} {
		add(&f.Dirs, dir)
		for name := range strings.FieldsSeq(m.packages) {
			add(&f.Packages, path.Join(dir, name))
		}
	}
	if w&manifest != 0 && m.manifest != "" {
		add(&f.Files, path.Join(home, m.manifest))
	}
	if w&locks == 0 {
		return
	}
	if m.groupLocks != "" && group != home {
		f.locks(m.groupLocks, group)
		group = home
	}
	f.locks(m.locks, group, home)
}

// locks adds the lock files of some directories: those that exist, else the first in the first.
func (f *finder) locks(names string, dirs ...string) {
	found := false
	for _, dir := range dirs {
		for name := range strings.FieldsSeq(names) {
			if f.exists(path.Join(dir, name)) {
				add(&f.Files, path.Join(dir, name))
				found = true
			}
		}
	}
	if first, _, _ := strings.Cut(names, " "); !found && first != "" {
		add(&f.Files, path.Join(dirs[0], first))
	}
}

// above is the nearest directory at or above one for which is holds; "" if there is none in the workspace.
func (f *finder) above(dir string, is func(string) bool) string {
	for ; ; dir = path.Dir(dir) {
		if is(dir) {
			return dir
		}
		if dir == "." || dir == "/" {
			return ""
		}
	}
}

// environmentFile marks a virtual environment (PEP 405).
const environmentFile = "pyvenv.cfg"

// environments adds the virtual environments that a command can write.
func (f *finder) environments(p shell.Program, words string, dir string) {
	add(&f.Dirs, dir)
	if bin := path.Dir(p.Path); shell.Among("bin Scripts", path.Base(bin)) {
		f.environment(dir, path.Dir(bin))
	}
	for _, name := range []string{".venv", "venv", "env"} {
		if at := path.Join(dir, name); f.exists(path.Join(at, environmentFile)) {
			add(&f.Packages, at)
		}
	}
	for _, a := range p.Args {
		if a.Exact && a.Text != words && (p.Name == "venv" || words == "venv") {
			f.environment(dir, a.Text)
		}
	}
}

// environment adds a directory that a line names, if it is called as environments are and nothing else is in it.
func (f *finder) environment(from, name string) {
	at, inside := f.inside(from, name)
	called := path.Base(at)
	if inside && (shell.Among("env virtualenv", called) || strings.Contains(called, "venv")) && f.free(at) {
		add(&f.Packages, at)
	}
}

// free reports whether nothing is in a directory that is not an environment's.
func (f *finder) free(dir string) bool {
	entries, err := durable.ReadDirectory(f.path(dir))
	return os.IsNotExist(err) || err == nil && (len(entries) == 0 || f.exists(path.Join(dir, environmentFile)))
}

func (f *finder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

func (f *finder) exists(name string) bool {
	info, err := os.Lstat(f.path(name))
	return err == nil && info.Mode().IsRegular()
}

// markerLimit bounds what is read of a file to see what it marks, in bytes.
const markerLimit = 1 << 20

// marked reports whether a directory has a marker, and the member belongs to it.
func (f *finder) marked(dir string, m marker, member string) bool {
	name := path.Join(dir, m.file)
	if !f.exists(name) || m.text == "" {
		return f.exists(name)
	}
	text, err := durable.ReadRegular(f.path(name), markerLimit)
	if err != nil || !strings.Contains(string(text), m.text) {
		return false
	}
	globs := workspaces(text)
	return globs == nil || slices.ContainsFunc(globs, func(glob string) bool {
		p, err := pathglob.Compile(strings.TrimPrefix(glob, "./"))
		relative, below := strings.CutPrefix(member, dir+"/")
		return err == nil && p.Match(relative) && (below || dir == ".")
	})
}

// workspaces are the globs of a package.json, nil if it is none.
func workspaces(text []byte) []string {
	var list struct{ Workspaces []string }
	if json.Unmarshal(text, &list) == nil {
		return list.Workspaces
	}
	var nested struct{ Workspaces struct{ Packages []string } }
	_ = json.Unmarshal(text, &nested) // another file
	return nested.Workspaces.Packages
}

func add(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}
