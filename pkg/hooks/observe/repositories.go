package observe

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

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
	return slices.Contains([]string{"config", "config.worktree", "commondir", "gitdir", "hooks", "modules", "worktrees"}, strings.ToLower(first)) ||
		slices.Contains([]string{"info/attributes", "objects/info/alternates"}, strings.ToLower(inside))
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
