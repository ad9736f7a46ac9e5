package profile

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Git says what of .git a command may write.
type Git int

// The choices.
const (
	// GitClosed: nothing.
	GitClosed Git = iota
	// GitOpen: what git's own commands need, at a level that can tell it apart.
	GitOpen
	// GitTrusted: the same, and all of .git at a level that cannot.
	GitTrusted
)

// Rules are what .intentignore says. Paths are workspace-relative, directories
// with a slash at their end. A nil function is a rule that nothing matches.
type Rules struct {
	// Ignored reports what nobody may change.
	Ignored func(path string) bool
	// Secret reports what nobody may read.
	Secret func(path string) bool
	// Below reports whether Ignored or Secret can match something in a directory, however deep; nil: in each.
	Below func(dir string) bool
	// Names gives the names directly in a directory of which one of them can be true; nil, and open, is any.
	Names func(dir string) (names []string, open bool)
	// Unscoped reports what any intent may change.
	Unscoped func(path string) bool
}

// Request is one command.
type Request struct {
	Level sandbox.Level
	// Scope has the globs of the intent; none is the whole workspace.
	Scope []string
	Rules Rules
	// Dir is where the command starts, workspace-relative, "." for the root.
	Dir string
	// Git is for a line in which a git command stands.
	Git Git
	// Writable are more places: workspace-relative directories or files, or absolute ones, which must exist.
	Writable []string
	// Named are workspace-relative files that the gate has let this command write, whatever the scope and the rules say.
	Named []string
	// Open are directories in which the command can make and rename files
	// beside those that it may write, at a level that can close the rest.
	Open []string
	// Touched is what the line touched when it was rehearsed; nil: it was not.
	Touched *Touched
	// Packages are places for what a package manager unpacks, which may be missing. Where one cannot be had, it is left out.
	Packages []string
	// Tracked are those of some places in the workspace that hold files which git tracks; nil: none does.
	Tracked func(places []string) []string
	// Hidden are directories, by absolute paths anywhere, of whose files none must be read.
	Hidden      []string
	DenyNetwork bool
	// Layers lie over the workspace: what the command changes outside of the places for builds and packages goes there, and is
	// judged when it has ended. What is wholly in scope is then not looked into, but for what nobody may read. Only the level
	// full has them.
	Layers []sandbox.Layer
	// Background: the command may run for hours.
	Background bool
}

// Touched are the workspace-relative files and directories that a rehearsal made, changed or removed something of: at
// the level full they are open besides the scope, and everything beside them stays closed. "." is the workspace.
type Touched struct{ Files, Dirs map[string]bool }

// Profile is what a command may reach. It must be closed when the command has ended.
type Profile struct {
	Level sandbox.Level // that it is for
	// Sandbox is for package sandbox; nil where the level holds nothing.
	Sandbox *sandbox.Profile
	// Places are where builds write in the workspace, workspace-relative.
	Places []string
	// Packages are those of the request that the command may fill; they are among Places.
	Packages []string
	// Warnings are sentences for the agent about what it cannot write though
	// the scope has it, and what it could read though it should not.
	Warnings []string

	// Crowded: what was touched could not be opened by itself.
	Crowded bool

	env  []string
	temp *temp
	// vacate takes back what was made in the workspace, the last first.
	vacate []func()
	// operator are the places in the workspace that the operator named; elsewhere: others were named outside.
	operator  []string
	elsewhere bool
}

// Apart reports whether the level keeps all that can be written outside of the workspace from having a way to what is in
// it. For a place that the operator named outside nobody knows that, as the mounts may have a layer there that lies over the
// workspace: what is done in it the kernel tells nobody.
func (r *Profile) Apart() bool { return r.Level == sandbox.Full && !r.elsewhere }

// Rehearsed are the directories whose changes a rehearsal takes: the workspace, and where its .git is a pointer the git
// directory that all work trees share, with the part of this one. Common is the git directory, Own that of a linked
// work tree, else the same. Paths are absolute.
type Rehearsed struct{ Root, Common, Own string }

// Outer are the directories that need a layer each, the workspace last: what
// takes the changes lies in it, and a layer cannot lie on another.
func (r Rehearsed) Outer() []string {
	if within(r.Root, r.Common) {
		return []string{r.Root}
	}
	return []string{r.Common, r.Root}
}

// Rehearsable finds what git can change here. The error says why a line cannot
// be rehearsed; without one and without a Common there is no repository.
func (m *Builder) Rehearsable() (Rehearsed, error) {
	repo, why := findRepository(m.root)
	switch {
	case why != "":
		return Rehearsed{}, errors.New(why)
	case repo == nil:
		return Rehearsed{Root: m.root}, nil
	}
	return Rehearsed{m.root, repo.common, cmp.Or(repo.own, repo.common)}, nil
}

// GuardedInGit reports whether a path in a git directory, relative to it, is one that commands never change.
func GuardedInGit(name string) bool {
	for dir := name; dir != "." && dir != "/"; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if isGuarded(dir) {
			return true
		}
	}
	return false
}

// Rehearse works out what a command may reach whose changes go into layers: all of what these lie over, but for what is
// secret. Of req it takes Rules, Hidden and DenyNetwork.
func (m *Builder) Rehearse(req Request, layers []sandbox.Layer) (*Profile, error) {
	return m.begin(sandbox.Full, func(r *Profile) error {
		r.Sandbox = &sandbox.Profile{Workspace: m.root, Temp: r.temp.path, DenyNetwork: req.DenyNetwork, Layers: layers}
		for _, layer := range layers {
			r.Sandbox.Writable = append(r.Sandbox.Writable, layer.Path)
		}
		m.openCaches(r)
		r.hide(&survey{Request: req, root: m.root, listings: &m.listings, all: true})
		return nil
	})
}
