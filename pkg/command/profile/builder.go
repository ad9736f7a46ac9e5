package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// maxWritable bounds how many places one command may write.
const maxWritable = 4000

// Builder makes the profiles of one workspace. It is for concurrent use.
type Builder struct {
	root    string
	environ []string

	listings listings
	swept    sync.Once // what killed servers left, with the first command

	sharing sync.Mutex // of giving files of git a content of their own

	mu   sync.Mutex
	made map[string]int // build places that commands hold and that were made for them, by how many
}

// New returns a Builder for the workspace at root, an absolute path without
// links. The environment is the server's: it says where the user's caches are.
func New(root string, environ []string) *Builder {
	return &Builder{root: root, environ: environ, made: map[string]int{}, listings: listings{now: time.Now}}
}

// Make works out what a command may reach, and makes the directories that it
// needs. An error means that no profile could be made: the command must not run.
func (m *Builder) Make(req Request) (*Profile, error) {
	return m.begin(req.Level, func(r *Profile) error {
		if req.Level == sandbox.None || req.Level == "" {
			r.Packages, r.Places = req.Packages, req.Packages
			if repo, _ := findRepository(m.root); repo != nil && req.Git != GitClosed {
				m.privateAsFarAsPossible(r, repo.common)
			}
			return nil
		}
		r.Sandbox = &sandbox.Profile{Workspace: m.root, Layers: req.Layers, Temp: r.temp.path, DenyNetwork: req.DenyNetwork, Lasting: req.Background}
		s, err := m.survey(req)
		if err != nil {
			return err
		}
		packages := m.prepare(r, s)
		shape(r, s)
		m.openGit(r, req)
		m.openPlaces(r, packages)
		r.openNamed(req)
		m.operatorPlaces(r, req)
		r.hide(s)
		if s.short {
			r.warn("The workspace has more than %d entries; the command cannot write what was not looked at.", maxEntries)
		}
		return nil
	})
}

// TempVariables are the variables by which programs find a directory for temporary files.
func TempVariables(dir string) []string {
	return []string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}
}

// begin makes a profile with a private temporary directory, and takes all back where it cannot be filled.
func (m *Builder) begin(level sandbox.Level, fill func(r *Profile) error) (*Profile, error) {
	temp, err := makeTemp()
	if err != nil {
		return nil, fmt.Errorf("private temporary directory: %w", err)
	}
	m.swept.Do(func() { go sweepTemps(filepath.Dir(temp.path)) }) // which can be much
	r := &Profile{Level: level, temp: temp, env: TempVariables(temp.path)}
	if err := fill(r); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (m *Builder) survey(req Request) (*survey, error) {
	s := &survey{Request: req, root: m.root, listings: &m.listings, places: map[string]bool{}}
	for _, glob := range req.Scope {
		some, err := pathglob.CompileAll(glob)
		if err != nil {
			return nil, err
		}
		s.patterns = append(s.patterns, some...)
	}
	s.all = len(s.patterns) == 0
	s.touch(req.Touched)
	if s.all {
		return s, nil
	}
	for _, name := range req.Named {
		named, err := pathglob.Compile(pathglob.Escape(name))
		if err != nil {
			return nil, err
		}
		s.patterns = append(s.patterns, named)
	}
	return s, nil
}

// prepare finds the places for packages, which it returns, makes the build places, and the private caches.
func (m *Builder) prepare(r *Profile, s *survey) (packages []string) {
	for _, name := range s.Packages {
		if _, usable := s.placeable(name); usable {
			s.places[name] = true
			packages = append(packages, name)
		}
	}
	for _, place := range s.buildPlaces(s.Dir) {
		if withinAny(packages, place) {
			continue // made by the package manager, or not at all
		}
		s.doubted = slices.DeleteFunc(s.doubted, func(doubted string) bool { return doubted == place })
		if m.hold(place, r) {
			s.places[place] = true
			r.Places = append(r.Places, place)
		}
	}
	if len(s.doubted) > 0 {
		r.warn("%s counts as no build output: the file that would make it so is in scope by a pattern, so an agent can have made it. "+
			"The operator can name that file itself in the scope, or the place in commands.writable or .gitignore.", strings.Join(s.doubted, ", "))
	}
	m.openCaches(r)
	return packages
}

func (m *Builder) openCaches(r *Profile) {
	private, err := openCaches(m.root, m.environ)
	if err != nil {
		r.warn("Build tools have no caches in this command: %v.", err)
		return
	}
	r.Sandbox.Writable = append(r.Sandbox.Writable, private)
	r.env = append(r.env, cachesIn(private, m.environ)...)
}

// shape finds what of the scope may be written, in the way of the level.
func shape(r *Profile, s *survey) {
	if s.Level.Freezes() {
		m := &masked{survey: s}
		if m.visit(".", s.start(), false) {
			r.addScope(m.writable)
			if slices.Contains(m.writable, ".") {
				m.frozen = append(m.frozen, absent(s.root)...)
			}
			r.Sandbox.Frozen = append(r.Sandbox.Frozen, placed(s.root, m.frozen)...)
			return
		}
		r.Crowded = s.Touched != nil
		s.seen, s.short = 0, false
		if s.Open != nil { // these go first: the scope can be served without them
			s.Open = nil
			shape(r, s)
			return
		}
		r.warn("So much in the directories of the scope is out of scope that new files can be made only where nothing is.")
	}
	p := &pieces{survey: s}
	_, writable := p.visit(".", s.start())
	r.addScope(writable)
	if len(p.narrowed) > 0 && s.Level == sandbox.Landlock {
		r.warn("At sandbox level landlock a command cannot make, rename or remove entries directly %s, though the scope has room for them: "+
			"something there must not change, and this level cannot tell them apart.", named(p.narrowed))
	}
}

// named says where, for a few directories.
func named(dirs []string) string {
	slices.Sort(dirs)
	return few(dirs, " and in %d more directories", func(dir string) string {
		if dir == "." {
			return "at the top of the workspace"
		}
		return "in " + dir
	})
}

// few shows the first of some names, and how many more there are.
func few(names []string, more string, show func(string) string) string {
	var shown []string
	for _, name := range names[:min(3, len(names))] {
		shown = append(shown, show(name))
	}
	text := strings.Join(shown, ", ")
	if left := len(names) - len(shown); left > 0 {
		text += fmt.Sprintf(more, left)
	}
	return text
}

// openPlaces adds the places that the walk did not come to. One for packages is made where the command cannot make it itself.
func (m *Builder) openPlaces(r *Profile, packages []string) {
	for _, place := range r.Places {
		if !r.writable(r.path(place)) {
			r.add([]string{place})
		}
	}
	for _, place := range packages {
		if !r.writable(r.path(place)) {
			if !m.hold(place, r) {
				continue
			}
			r.add([]string{place})
		}
		r.Places, r.Packages = append(r.Places, place), append(r.Packages, place)
	}
}

// openNamed adds the files that the gate has let the command write and that something else closes.
func (r *Profile) openNamed(req Request) {
	for _, name := range req.Named {
		p := r.path(name)
		r.Sandbox.Frozen = slices.DeleteFunc(r.Sandbox.Frozen, func(f sandbox.Frozen) bool { return f.Path == p })
		if r.writable(p) {
			continue
		}
		if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
			if req.Level == sandbox.Landlock {
				r.warn("At sandbox level landlock a command cannot make %s, which it may write; make it with a file tool, and run the command again.", name)
			}
			continue
		}
		r.add([]string{name})
	}
}

// operatorPlaces adds what commands.writable names. Of the workspace's own, what is protected stays closed.
func (m *Builder) operatorPlaces(r *Profile, req Request) {
	for _, name := range req.Writable {
		p := filepath.Clean(filepath.FromSlash(name))
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.Sandbox.Workspace, p)
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue // it is not there
		}
		if inside, ok := below(r.Sandbox.Workspace, real); ok {
			if inside == "." || is(req.Rules.Ignored, inside+"/") || protected(inside) {
				r.warn("commands.writable names %s, which stays closed to commands.", name)
				continue
			}
			r.Places, r.operator = append(r.Places, inside), append(r.operator, inside)
		} else {
			r.elsewhere = true
		}
		if !r.writable(real) {
			r.Sandbox.Writable = append(r.Sandbox.Writable, real)
		}
		m.operatorsGit(r, req, real)
	}
}

// Environment is what the command gets: env with the private directories in place of the user's.
func (r *Profile) Environment(env []string) []string { return Overlay(env, r.env) }

// InPlace reports whether a workspace-relative path is build output.
func (r *Profile) InPlace(path string) bool { return withinAny(r.Places, path) }

// Vacate removes what was made for the command in the workspace and was not used.
func (r *Profile) Vacate() {
	for _, f := range slices.Backward(r.vacate) {
		f()
	}
	r.vacate = nil
}

// Close removes all that was made for the command. It has no effect the second time.
func (r *Profile) Close() error {
	r.Vacate()
	temp := r.temp
	r.temp = nil
	if temp == nil {
		return nil
	}
	return temp.Close()
}

func (r *Profile) path(name string) string {
	return filepath.Join(r.Sandbox.Workspace, filepath.FromSlash(name))
}

// addScope adds what the scope lets be written, up to the bound.
func (r *Profile) addScope(names []string) {
	if left := len(names) - maxWritable; left > 0 {
		names = names[:maxWritable]
		r.warn("The scope is in so many pieces that %d of them cannot be written by commands; file tools can.", left)
	}
	r.add(names)
}

func (r *Profile) add(names []string) {
	for _, name := range names {
		r.Sandbox.Writable = append(r.Sandbox.Writable, r.path(name))
	}
}

func (r *Profile) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
