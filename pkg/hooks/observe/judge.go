package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Judge says what one command may change in the workspace, and why not the rest. A nil one lets it change everything.
type Judge struct {
	// Intent names the intent, and Scope are its globs; nil is everything.
	Intent string
	Scope  *intent.Scope
	Ignore *intent.Ignore // nil has no rules
	// Named are the targets of redirections that the gate has let pass.
	Named []string
	// Build says whether a path is meant for the output of builds; nil: none is.
	Build func(path string) bool
	// Packages are places that a package manager fills in this command; Build
	// says so of them too. What changes there is counted, not listed.
	Packages []string
	// Places are protected for what they are, as workspace.Inside gives them.
	Places []workspace.Place
	// repositories are those that the command made or changed beside .git; nil where it has not ended.
	repositories *repositories
	// Replayed are paths out of scope that a rehearsal of the line found to be what git makes of people's commits. They
	// are no matter of Forbids, which asks for the content too.
	Replayed []string
	// Git: a git command stands in the line and may write .git, so what its history is may change.
	Git bool
	// Level holds the command. At full the kernel lets nothing out of scope be changed: what is found there is somebody else's.
	Level sandbox.Level
	// Apart: the kernel keeps it from all that lies beside the files of the workspace, though not from what is out of scope: a
	// program that works for many scopes.
	Apart bool
}

// Forbids says why a command may not change a path; "" if it may.
func (j *Judge) Forbids(path string) (reason string) {
	if j == nil {
		return ""
	}
	if reason := j.beyondScope(path); reason != "" || j.owns(path) {
		return reason
	}
	return "it is out of the scope of " + j.Intent
}

// Allows reports whether a command may change a path.
func (j *Judge) Allows(path string) bool { return j.Forbids(path) == "" }

// held reports whether the kernel lets nothing out of scope be changed, not even its metadata.
func (j *Judge) held() bool { return j.Level == sandbox.Full }

// free reports whether everything can have been changed: at none nothing holds it, and that seatbelt does is not relied on.
func (j *Judge) free() bool { return !j.Level.AtLeast(sandbox.Landlock) }

// Wanted are those of some paths that a scope would have to own besides, to let a command change them all; nil if no scope can.
func (j *Judge) Wanted(paths ...string) (wanted []string) {
	for _, path := range paths {
		switch {
		case j.beyondScope(path) != "":
			return nil
		case !j.owns(path):
			wanted = append(wanted, path)
		}
	}
	return wanted
}

// beyondScope says why a path is closed whatever the scope.
func (j *Judge) beyondScope(path string) string {
	switch {
	case slices.Contains(j.Named, path):
		return ""
	case gitState(path):
		if j.Git {
			return ""
		}
		return "it is part of git's history, which only a git command in the line may change"
	}
	protection := workspace.ProtectIn(j.Places, path)
	switch protection {
	case workspace.ProtectOwn:
		return "it belongs to what orchestra-mcp keeps of the user"
	case workspace.ProtectNever:
		return "it belongs to the governance files or to git"
	}
	switch {
	case !utf8.ValidString(path):
		return "its name is not UTF-8, and no rule could speak of it"
	case workspace.TooDeep(path):
		return fmt.Sprintf("it is more than %d directories deep, or its path is longer than %d bytes, where no command may make anything", workspace.MaxDepth, workspace.MaxPath)
	}
	if j.Ignore != nil {
		if rule, ok := j.Ignore.Secret(path); ok {
			return fmt.Sprintf("it is out of reach for every tool (%s:%d)", rule.File, rule.Line)
		}
		if rule, ok := j.Ignore.PathBlocked(path); ok {
			return fmt.Sprintf("it is closed to changes (%s:%d)", rule.File, rule.Line)
		}
	}
	if protection == workspace.ProtectProgramConfig && !j.builds(path) {
		return "it can make other programs run code or grant rights, which needs the operator's approval"
	}
	if j.repositories != nil && !j.builds(path) {
		return j.repositories.forbids(path)
	}
	return ""
}

// owns reports whether a path that is not closed is in the scope, or needs none.
func (j *Judge) owns(path string) bool {
	if j.Scope == nil || j.Scope.Match(path) || slices.Contains(j.Named, path) || j.Git && gitState(path) || j.builds(path) {
		return true
	}
	if j.Ignore == nil {
		return false
	}
	_, unscoped := j.Ignore.Unscoped(path)
	return unscoped
}

func (j *Judge) builds(path string) bool { return j.Build != nil && j.Build(path) }

// packaged is the package directory that a change is in, with both its ends, and that nothing else forbids; "" if there is none.
func (j *Judge) packaged(c *snapshot.Change) (place string) {
	if j == nil {
		return ""
	}
	for _, place := range j.Packages {
		in := func(name string) bool { return name == place || strings.HasPrefix(name, place+"/") }
		if in(c.Path) && (c.From == "" || in(c.From)) && j.Allows(c.Path) {
			return place
		}
	}
	return ""
}

// forbidsChange says why a command may not have made a change; "" if it may. What leaves a place counts there too.
func (j *Judge) forbidsChange(c *snapshot.Change) string {
	if reason := j.Forbids(c.Path); reason != "" || c.From == "" {
		return reason
	}
	if reason := j.Forbids(c.From); reason != "" {
		return "of " + Shown(c.From) + ": " + reason
	}
	return ""
}

func (j *Judge) wanted(c *snapshot.Change) []string {
	if c.From != "" {
		return j.Wanted(c.Path, c.From)
	}
	return j.Wanted(c.Path)
}

// detailJudged is the key of what a command's entry in the journal, and the
// record that recovery makes of it, say of the judge that it began under.
const detailJudged = "judged_by"

// saved is a judge in the journal, its fields in the order that a record's detail has.
type saved struct {
	// Enforced: the kernel let nothing that is there out of scope be changed.
	Enforced bool     `json:"enforced,omitzero"`
	Git      bool     `json:"git,omitzero"`
	Named    []string `json:"named,omitempty"`
	Packages []string `json:"packages,omitempty"`
	Places   []string `json:"places,omitempty"` // for build output
	Replayed []string `json:"replayed,omitempty"`
	Scope    []string `json:"scope,omitempty"` // globs; none: everything is in scope
}

// save is the judge as a detail of the command's entry in the journal. places are those of Build.
func (j *Judge) save(places []string) map[string]any {
	s := saved{Enforced: j.held(), Git: j.Git, Named: j.Named, Packages: j.Packages, Places: places, Replayed: j.Replayed}
	if j.Scope != nil && !j.Scope.Unrestricted() {
		s.Scope = j.Scope.Globs()
	}
	return map[string]any{detailJudged: s}
}

// SavedJudge is the judge that the detail of an entry in the journal tells of, with the rules of .intentignore and the
// places as they are now; nil if it tells of none.
func SavedJudge(intentID string, detail map[string]any, ignore *intent.Ignore, places []workspace.Place) *Judge {
	text, err := json.Marshal(detail[detailJudged])
	var d *saved
	if err != nil || json.Unmarshal(text, &d) != nil || d == nil {
		return nil
	}
	j := &Judge{Intent: intentID, Ignore: ignore, Named: d.Named, Packages: d.Packages, Replayed: d.Replayed, Git: d.Git, Places: places}
	if d.Enforced {
		j.Level = sandbox.Full
	}
	if len(d.Scope) > 0 {
		if j.Scope, err = intent.CompileScope(d.Scope); err != nil {
			return nil // it did compile when the command began
		}
	}
	j.Build = func(name string) bool {
		return slices.ContainsFunc(d.Places, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	}
	return j
}

// gitState reports whether a path says what the history of a repository is: its HEAD, branches, tags, stash, notes,
// replacements and index, and what git is in the middle of.
func gitState(name string) bool {
	at := strings.LastIndex("/"+name, "/.git/")
	if at < 0 {
		return false
	}
	switch inside := name[at+len(".git/"):]; inside {
	case "HEAD", "packed-refs", "index", "info/grafts", "shallow":
		return true
	default:
		first, rest, below := strings.Cut(inside, "/")
		switch first {
		case "refs":
			return below && !strings.HasPrefix(rest+"/", "remotes/") && (rest == "stash" || strings.Contains(rest, "/"))
		case "rebase-merge", "sequencer":
			return below
		}
		return false
	}
}

// repositories judges what a command did to directories that git takes for repositories although they are not called
// .git: those that it made one, and of those that were there what makes git run something. It is for one goroutine.
type repositories struct {
	root *os.Root
	made map[string]bool // the paths that are new
	dirs map[string]repositoryState
}

type repositoryState int

const (
	noRepository repositoryState = iota + 1
	oldRepository
	newRepository
)

// newRepositories looks at the workspace after a command that made these changes.
func newRepositories(root *os.Root, changes []snapshot.Change) *repositories {
	r := &repositories{root: root, made: map[string]bool{}, dirs: map[string]repositoryState{}}
	for i := range changes {
		if c := &changes[i]; c.Before == nil || c.Op == change.Moved {
			r.made[c.Path] = true
		}
	}
	return r
}

// forbids says why a command may not have changed a path; "" if nothing of git's is in it.
func (r *repositories) forbids(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if !workspace.GitName(part) {
			continue
		}
		dir := path.Join(parts[:i]...)
		switch r.state(dir) {
		case newRepository:
			return fmt.Sprintf("with it git takes %s for a repository, whose configuration and hooks it obeys there; the operator can name a place for such in commands.writable", shownDir(dir))
		case oldRepository:
			if runs(strings.Join(parts[i:], "/")) {
				return fmt.Sprintf("git obeys it in %s, which is a repository", shownDir(dir))
			}
		}
	}
	return ""
}

func shownDir(dir string) string {
	if dir == "" {
		return "the workspace itself"
	}
	return Shown(dir)
}

// runs reports whether a path in a repository makes git run programs, or look elsewhere.
func runs(inside string) bool {
	first, _, _ := strings.Cut(inside, "/")
	return shell.Among("config config.worktree commondir gitdir hooks modules worktrees", strings.ToLower(first)) ||
		shell.Among("info/attributes objects/info/alternates", strings.ToLower(inside))
}

func (r *repositories) state(dir string) repositoryState {
	known := r.dirs[dir]
	if known == 0 {
		known = r.look(dir)
		r.dirs[dir] = known
	}
	return known
}

func (r *repositories) look(dir string) repositoryState {
	stands := func(at string) bool {
		_, err := r.root.Lstat(at)
		return err == nil
	}
	is := func(there func(at string) bool) bool {
		has := func(name string) bool { return there(path.Join(dir, name)) }
		return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
	}
	switch {
	case !is(stands):
		return noRepository
	case is(func(at string) bool { return !r.made[at] && stands(at) }):
		return oldRepository
	}
	return newRepository
}
