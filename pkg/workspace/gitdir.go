package workspace

import (
	"path"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Git takes any directory for a repository that has a HEAD and beside it objects and refs, or a commondir that names where
// these are. From there, and from below, it then obeys that directory's configuration and runs its hooks, whether it is
// called .git or not.

// gitEntries are what makes a directory one, as bits.
type gitEntries uint8

const (
	hasHead gitEntries = 1 << iota
	hasObjects
	hasRefs
	hasCommon
)

func (e gitEntries) complete() bool {
	return e&hasHead != 0 && (e&hasCommon != 0 || e&(hasObjects|hasRefs) == hasObjects|hasRefs)
}

// gitEntryOf gives them by their folded names.
var gitEntryOf = map[string]gitEntries{"head": hasHead, "objects": hasObjects, "refs": hasRefs, "commondir": hasCommon}

// GitName reports whether git reads what has this name in a repository of its own, so that it can matter there. It is
// compared as by Protect.
func GitName(name string) bool {
	switch folded := fold(name); folded {
	case "config", "config.worktree", "gitdir", "hooks", "info", "modules", "worktrees", "branches", "remotes", "packed-refs", "index",
		"logs", "shallow", "rebase-merge", "rebase-apply", "sequencer":
		return true
	default:
		return gitEntryOf[folded] != 0
	}
}

// GitPart is a path inside of a directory that is a repository of git's, or becomes one with other paths.
type GitPart struct {
	// Dir is the directory, workspace-relative.
	Dir string
	// has is what makes it a repository, as far as it is there or would be.
	has gitEntries
}

// Repository is the part of a directory that is a repository already.
func Repository(dir string) GitPart { return GitPart{dir, hasHead | hasCommon} }

// Repositories are the directories, each once, that are repositories of git's when all these parts are there.
func Repositories(parts []GitPart) (dirs []string) {
	has := map[string]gitEntries{}
	for _, p := range parts {
		has[p.Dir] |= p.has
		if has[p.Dir].complete() && !slices.Contains(dirs, p.Dir) {
			dirs = append(dirs, p.Dir)
		}
	}
	return dirs
}

// gitParts are those that the walk's end belongs to. What stands in a directory is looked up in the directory that the
// walk went through.
func (r *resolver) gitParts(names []string) (parts []GitPart) {
	at := r.w.top
	for i, name := range names {
		if i > 0 && i-1 < len(r.levels) {
			at = r.levels[i-1].dir
		}
		if !GitName(name) {
			continue
		}
		part := GitPart{Dir: path.Join(names[:i]...), has: gitEntryOf[fold(name)]}
		if i <= len(r.levels) {
			part.has |= entriesIn(at)
		}
		parts = append(parts, part)
	}
	return parts
}

func entriesIn(dir *durable.Dir) (has gitEntries) {
	for _, name := range []string{"HEAD", "objects", "refs", "commondir"} {
		if _, err := dir.Lstat(name); err == nil {
			has |= gitEntryOf[fold(name)]
		}
	}
	return has
}

// GitParts are the directories on the way to the path that are repositories of git's, or become one.
func (t *Target) GitParts() []GitPart { return t.gitParts }
