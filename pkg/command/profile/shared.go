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

// maxShared bounds the masks for files with names elsewhere. Beyond it whole
// directories that hold such files are closed.
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
// are closed whole. It is for the level full, which can.
//
// What the operator named as writable stays so.
func (r *Profile) CloseShared(names []Name, more []string) {
	if r.Sandbox == nil || len(names) == 0 && len(more) == 0 {
		return
	}
	shut, dirs := r.shared(names), r.open(more)
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
		"write there. write_to_file, apply_diff and edit_file can: they give a file a content of its own. The operator can open a place with commands.writable.",
		closedText(len(shut), files, append(wide, dirs...)))
}

// shared are the writable names of files of which not all names are.
func (r *Profile) shared(names []Name) []string {
	writable := r.writables()
	open := map[inode]uint64{}
	mine := names[:0:0]
	for _, n := range names {
		if writable.has(n.Dir, n.Name) {
			open[n.inode()]++
			mine = append(mine, n)
		}
	}
	var shut []string
	for _, n := range mine {
		if open[n.inode()] < n.Links && !r.operators(n.path()) {
			shut = append(shut, n.path())
		}
	}
	return shut
}

// open are the directories in which something may be written.
func (r *Profile) open(dirs []string) []string {
	writable := r.writables()
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return !writable.has(dir, "x") || r.operators(dir) })
}

// operators reports whether the operator named a place that holds a path.
func (r *Profile) operators(name string) bool { return withinAny(r.operator, name) }

// writables says of each path with a rule of its own whether it is writable.
type writables struct {
	rules map[string]bool // absolute paths
	dirs  map[string]bool // workspace-relative directories that were asked about
	root  string
}

func (r *Profile) writables() *writables {
	w := &writables{rules: map[string]bool{}, dirs: map[string]bool{}, root: r.Sandbox.Workspace}
	for _, p := range r.Sandbox.Writable {
		w.rules[p] = true
	}
	for _, f := range r.Sandbox.Frozen {
		w.rules[f.Path] = false
	}
	return w
}

// has: of the rules for what holds a path the deepest decides.
func (w *writables) has(dir, name string) bool {
	at := filepath.Join(w.root, filepath.FromSlash(dir))
	if rule, is := w.rules[at+string(filepath.Separator)+name]; is {
		return rule
	}
	known, asked := w.dirs[dir]
	if asked {
		return known
	}
	for up := at; ; up = filepath.Dir(up) {
		if rule, is := w.rules[up]; is {
			known = rule
			break
		}
		if up == w.root || up == filepath.Dir(up) {
			break
		}
	}
	w.dirs[dir] = known
	return known
}

// gathered bounds the paths: where there are too many, those below one
// directory become that directory, as deep down as the bound lets.
func gathered(paths []string) (files, dirs []string) {
	if len(paths) <= maxShared {
		return paths, nil
	}
	deepest := 0
	for _, p := range paths {
		deepest = max(deepest, strings.Count(p, "/"))
	}
	for depth := deepest; depth > 0; depth-- {
		if files, dirs = cutAt(paths, depth); len(files)+len(dirs) <= maxShared {
			return files, dirs
		}
	}
	return nil, []string{"."}
}

// cutAt leaves paths that are less than depth directories deep, and puts the
// directory of that depth in the place of others.
func cutAt(paths []string, depth int) (files, dirs []string) {
	seen := map[string]bool{}
	for _, p := range paths {
		if way := prefixes(p); len(way) <= depth {
			files = append(files, p)
		} else if dir := way[depth-1]; !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return files, dirs
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
		return within(at, p) && !r.operators(r.relative(p))
	})
	if r.writable(at) {
		r.Sandbox.Frozen = append(r.Sandbox.Frozen, sandbox.Frozen{Path: at, Directory: directory})
	}
}

func (r *Profile) relative(p string) string {
	way, err := filepath.Rel(r.Sandbox.Workspace, p)
	if err != nil {
		return p
	}
	return filepath.ToSlash(way)
}

func closedText(count int, files, dirs []string) string {
	text, left := few(slices.Concat(dirs, files), strconv.Quote)
	switch {
	case len(dirs) > 0:
		return fmt.Sprintf("%s (%d files, so their directories are closed whole)", text, count)
	case left > 0:
		return fmt.Sprintf("%s and %d more", text, left)
	}
	return text
}
