package profile

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// maxShared bounds the masks for files with names elsewhere. Beyond it whole directories that hold such files are closed.
const maxShared = 256

// Name is one name of a file that has several (hard links).
type Name struct {
	Dir, Name  string // workspace-relative; Dir is "" for the top
	Dev, Inode uint64
	// Links is how many names the file has in all.
	Links uint64
}

func (n *Name) path() string { return path.Join(n.Dir, n.Name) }

// inode tells a file from others.
type inode struct{ dev, number uint64 }

func (n *Name) inode() inode { return inode{n.Dev, n.Inode} }

// CloseShared closes files that have a name which the command may not write, in the workspace or elsewhere, or one that
// nobody found: who writes one name writes all. more are directories with further such files that nobody counted; they
// are closed whole. It is for a level that freezes.
//
// What the operator named as writable stays so.
func (r *Profile) CloseShared(names []Name, more []string) {
	if r.Sandbox == nil || len(names) == 0 && len(more) == 0 {
		return
	}
	shut, dirs := r.shared(names, more)
	if len(shut) == 0 && len(dirs) == 0 {
		return
	}
	files, wide := gathered(shut)
	for _, name := range files {
		r.closePath(name, false)
	}
	for _, dir := range append(wide, dirs...) {
		r.closePath(dir, true)
	}
	r.reopenPlaces(slices.Concat(shut, dirs))
	r.warn("%s: other names of the same files (hard links) are out of the scope, or outside of the workspace, and would change with them, so the command cannot "+
		"write there. write_to_file and edit_file can: they give a file a content of its own. The operator can open a place with commands.writable.",
		closedText(len(shut), files, append(wide, dirs...)))
}

// shared are the writable names of files of which not all names are, and of some directories those in which something may be written.
func (r *Profile) shared(names []Name, more []string) (shut, dirs []string) {
	rules := rules{}
	for _, f := range r.Sandbox.Frozen {
		rules[f.Path] = false
	}
	for _, p := range r.Sandbox.Writable {
		rules[p] = true
	}
	writable := func(name string) bool { return rules.of(r.path(name)) && !withinAny(r.operator, name) }
	open := map[inode]uint64{}
	for _, n := range names {
		if rules.of(r.path(n.path())) {
			open[n.inode()]++
		}
	}
	for _, n := range names {
		if open[n.inode()] < n.Links && writable(n.path()) {
			shut = append(shut, n.path())
		}
	}
	for _, dir := range more {
		if rules.of(r.path(dir+"/x")) && !withinAny(r.operator, dir) {
			dirs = append(dirs, dir)
		}
	}
	return shut, dirs
}

// rules hold for absolute paths and what is below them.
type rules map[string]bool

// of is the rule for a path: of the rules for what holds it the deepest decides.
func (r rules) of(path string) bool {
	for ; ; path = filepath.Dir(path) {
		if rule, is := r[path]; is || path == filepath.Dir(path) {
			return rule
		}
	}
}

// gathered bounds the paths: where there are too many, those below one directory become that directory, as deep down as the bound lets.
func gathered(paths []string) (files, dirs []string) {
	depth := 1
	for _, p := range paths {
		depth = max(depth, strings.Count(p, "/")+1)
	}
	for ; depth > 0; depth-- {
		seen := map[string]bool{}
		files, dirs = nil, nil
		for _, p := range paths {
			if way := prefixes(p); len(way) <= depth {
				files = append(files, p)
			} else if dir := way[depth-1]; !seen[dir] {
				seen[dir] = true
				dirs = append(dirs, dir)
			}
		}
		if len(files)+len(dirs) <= maxShared {
			return files, dirs
		}
	}
	return nil, []string{"."}
}

// reopenPlaces opens build places below what was closed if nothing in them is shared.
func (r *Profile) reopenPlaces(shut []string) {
	for _, place := range r.Places {
		holds := func(name string) bool { return within(place, name) }
		if !r.writable(r.path(place)) && !slices.ContainsFunc(shut, holds) {
			r.add([]string{place})
		}
	}
}

// closePath takes a path, and what is writable below it, out of what may be written.
func (r *Profile) closePath(name string, directory bool) {
	at := r.path(name)
	r.Sandbox.Writable = slices.DeleteFunc(r.Sandbox.Writable, func(p string) bool {
		way, is := below(r.Sandbox.Workspace, p)
		return within(at, p) && !(is && withinAny(r.operator, way))
	})
	if r.writable(at) {
		r.Sandbox.Frozen = append(r.Sandbox.Frozen, sandbox.Frozen{Path: at, Directory: directory})
	}
}

func closedText(count int, files, dirs []string) string {
	if len(dirs) == 0 {
		return few(files, " and %d more", strconv.Quote)
	}
	dirs = slices.Concat(dirs, files)
	return fmt.Sprintf("%s (%d files, so their directories are closed whole)", few(dirs[:min(3, len(dirs))], "", strconv.Quote), count)
}
