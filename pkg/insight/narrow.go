package insight

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

const (
	// few files of a directory are named one by one.
	few = 3
	// mostGlobs is the length above which a list is made of larger parts.
	mostGlobs = 12
	// mostRounds bounds the rounds after which a proposal proposes itself.
	mostRounds = 10
)

// Narrow gives globs, sorted, that match all the touched paths and reach nothing that the scope does not. files has the
// number of files in the scope by directory, "." being the workspace; touched are paths in the scope.
//
// A directory of which at least half was touched becomes `directory/**`; of another one, up to three files are named, and more
// are `directory/*`. Where that makes more than twelve globs, a smaller part of a directory is enough for the whole. A glob of
// the scope with wildcards before its end stays, below the directory that all its touched paths are in.
func Narrow(scope *intent.Scope, files map[string]int, touched []string) []string {
	root := &directory{path: "."}
	for dir, n := range files {
		root.at(dir).files = n
	}
	for _, name := range touched {
		d := root.at(path.Dir(name))
		d.touched = append(d.touched, name)
	}
	root.sum()
	globs := narrowed(scope, root)
	for range mostRounds {
		scope, err := intent.CompileScope(globs)
		if err != nil {
			break
		}
		next := narrowed(scope, root)
		if slices.Equal(next, globs) {
			break
		}
		globs = next
	}
	return globs
}

// narrowed is one round of Narrow. What it gives can be narrowed once more where one path was matched by several globs. The
// numbers of files hold for a narrower scope too: they count only where that has all of a directory.
func narrowed(scope *intent.Scope, root *directory) (globs []string) {
	for _, part := range []int{2, 4, 10, 0} { // 0: any part is enough
		n := narrowing{part: part}
		n.visit(root, scope.Top())
		n.wildcards(scope)
		if globs = n.all(); len(globs) <= mostGlobs {
			break
		}
	}
	return globs
}

// directory is one with its files in the scope.
type directory struct {
	path     string
	files    int      // directly in it
	touched  []string // directly in it, by whole paths; some may be gone
	below    map[string]*directory
	allFiles int // with what is below
	used     int // touched, with what is below
}

func (d *directory) at(dir string) *directory {
	if dir == "." {
		return d
	}
	for name := range strings.SplitSeq(dir, "/") {
		if d.below[name] == nil {
			if d.below == nil {
				d.below = map[string]*directory{}
			}
			d.below[name] = &directory{path: path.Join(d.path, name)}
		}
		d = d.below[name]
	}
	return d
}

func (d *directory) sum() {
	d.allFiles, d.used = d.files, len(d.touched)
	for _, child := range d.below {
		child.sum()
		d.allFiles += child.allFiles
		d.used += child.used
	}
}

// glob is what matches the directory's entries by a pattern.
func (d *directory) glob(pattern string) string {
	if d.path == "." {
		return pattern
	}
	return pathglob.Escape(d.path) + "/" + pattern
}

// narrowing collects globs.
type narrowing struct {
	part  int // the denominator of the part of a directory that stands for the whole
	globs []string
	names []string // paths that are named
	rest  []string // touched paths that neither a directory nor a name can stand for
}

// visit chooses what stands for the touched paths of a directory, which a glob can only where the scope has all that it could
// match.
func (n *narrowing) visit(d *directory, at intent.Position) {
	if d.used == 0 {
		return
	}
	whole := at.Covers()
	if whole && d.used > 1 && (n.part == 0 || d.used*n.part >= d.allFiles) {
		n.globs = append(n.globs, d.glob("**"))
		return
	}
	if whole && len(d.touched) > few {
		n.globs = append(n.globs, d.glob("*"))
	} else {
		for _, name := range d.touched {
			if whole || at.Below(path.Base(name)).Covers() { // a name without wildcards is also what could be below it
				n.names = append(n.names, name)
			} else {
				n.rest = append(n.rest, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.below)) {
		n.visit(d.below[name], at.Below(name))
	}
}

// all are the globs with the names that none of them matches.
func (n *narrowing) all() []string {
	left := n.names
	for _, glob := range n.globs {
		left = others(glob, left)
	}
	for _, name := range left {
		n.globs = append(n.globs, pathglob.Escape(name))
	}
	slices.Sort(n.globs)
	return slices.Compact(n.globs)
}

// wildcards lets globs of the scope stand for the rest.
func (n *narrowing) wildcards(scope *intent.Scope) {
	var alternatives []string
	for _, glob := range scope.Globs() {
		expanded, _ := pathglob.Expand(glob) // it was compiled
		alternatives = append(alternatives, expanded...)
	}
	slices.Sort(alternatives) // as in a proposal, which so proposes itself
	for _, glob := range alternatives {
		outside := others(glob, n.rest)
		matched := slices.DeleteFunc(n.rest, func(name string) bool { return slices.Contains(outside, name) })
		if n.rest = outside; len(matched) == 0 {
			continue
		}
		if tighter := deeper(glob, matched); len(others(tighter, matched)) == 0 {
			glob = tighter
		}
		n.globs = append(n.globs, glob)
	}
}

// others are the paths that a glob does not match.
func others(glob string, paths []string) []string {
	scope, err := intent.CompileScope([]string{glob})
	return slices.DeleteFunc(slices.Clone(paths), func(name string) bool { return err == nil && scope.Match(name) })
}

// deeper puts into a glob of the form `a/**/b` the directory below a that all the paths are in.
func deeper(glob string, paths []string) string {
	before, behind, ok := strings.Cut(glob, "**/")
	if !ok || before != "" && !strings.HasSuffix(before, "/") || strings.ContainsAny(before, `*?[{\`) || strings.ContainsAny(behind, `[\`) ||
		strings.Contains(behind, "**") {
		return glob
	}
	before = strings.TrimPrefix(before, "./")
	var common []string
	for i, name := range paths {
		names := strings.Split(strings.TrimPrefix(name, before), "/")
		names = names[:max(0, len(names)-1-strings.Count(behind, "/"))]
		if i == 0 {
			common = names
		}
		for len(common) > len(names) || !slices.Equal(common, names[:len(common)]) {
			common = common[:len(common)-1]
		}
	}
	if len(common) == 0 {
		return glob
	}
	return before + pathglob.Escape(strings.Join(common, "/")) + "/**/" + behind
}
