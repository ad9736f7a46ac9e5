package profile

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// hide adds what must not be read.
func (r *Profile) hide(s *survey) {
	// What the program itself keeps has sessions, requests with their calls, contents, and the output of other commands.
	for _, p := range append(slices.Clip(s.Hidden), r.path(".orchestration/state"), r.path(".orchestration/cache")) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			r.Sandbox.Emptied = append(r.Sandbox.Emptied, real)
		}
	}
	if s.Rules.Secret == nil {
		return
	}
	for _, p := range s.secrets() {
		r.Sandbox.Hidden = append(r.Sandbox.Hidden, r.path(p))
	}
}

// HideNames hides the other names that hidden files have in the workspace (hard links), of those that the look at it has found. It is
// to be called once, before the command starts, and adds to the warnings what can be read all the same.
func (r *Profile) HideNames(names []Name) {
	if r.Sandbox == nil {
		return
	}
	hidden, secret := rules{}, map[inode]bool{}
	for _, p := range r.Sandbox.Hidden {
		hidden[p] = true
	}
	for _, n := range names {
		if hidden.of(r.path(n.path())) {
			secret[n.inode()] = true
		}
	}
	for _, n := range names {
		if at := r.path(n.path()); secret[n.inode()] && !hidden.of(at) {
			r.Sandbox.Hidden = append(r.Sandbox.Hidden, at)
		}
	}
	exposed := sandbox.Exposed(r.Level, r.Sandbox)
	switch {
	case len(exposed) == 0:
	case r.Level == sandbox.Full:
		r.warn("%s: whoever replaces this while the command runs lets the command read it for a moment: so it is with a single file in a directory that the "+
			"command may write, and with all of them for a command in the background. A directory of its own (secret:private/) has no such moment.", r.shown(exposed))
	default:
		r.warn("%s: the command can read this, because it lies in a directory that the command may write, and sandbox level landlock cannot hide anything there "+
			"(nor in a directory that cannot be listed or has thousands of entries).", r.shown(exposed))
	}
}

// shown names a few paths.
func (r *Profile) shown(paths []string) string {
	return few(paths, " and %d more", func(p string) string {
		if inside, is := below(r.Sandbox.Workspace, p); is {
			p = inside
		}
		return strconv.Quote(p)
	})
}

// secrets finds what nobody may read, anywhere in the workspace. A directory stands for what is in it.
func (s *survey) secrets() []string {
	s.seen = 0
	var found []string
	todo := []string{"."}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		listed, _ := s.list(dir)
		for _, e := range listed.entries {
			p := path.Join(dir, e.name)
			switch isDir := e.kind.IsDir(); {
			case isDir && s.Rules.Secret(p+"/"), !isDir && s.Rules.Secret(p):
				if !isLink(e) {
					found = append(found, p)
				}
			case isDir && p != ".git" && s.below(p):
				todo = append(todo, p)
			}
		}
	}
	return found
}
