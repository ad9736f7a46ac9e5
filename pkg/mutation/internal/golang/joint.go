package golang

import (
	"cmp"
	"context"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// link is what a selector on an imported package means: a name that another
// package of the call declares.
type link struct {
	unit *unit
	name string
	file string
	line int
}

// joint compares the packages of one call. Names of one that another uses are
// objects of the other's trees, related like all objects there; at the end they
// must be related as the package that declares them relates them itself.
type joint struct {
	units []*unit
	read  verdict.Reader
	// modules are the modules around directories, by directory.
	modules map[string]module
	links   map[*tree.Object]link
}

// module is a Go module; its path is "" where there is none.
type module struct{ dir, path string }

func newJoint(units map[string]*unit, read verdict.Reader) *joint {
	j := &joint{read: read, modules: map[string]module{}, links: map[*tree.Object]link{}}
	for _, key := range slices.Sorted(maps.Keys(units)) {
		j.units = append(j.units, units[key])
	}
	return j
}

func (j *joint) judge(ctx context.Context, limits verdict.Limits) verdict.Verdict {
	for _, u := range j.units {
		if v := u.build(ctx, limits); v != nil {
			return *v
		}
	}
	if len(j.units) > 1 {
		for _, u := range j.units {
			j.link(u, u.before, func(p pair) *source { return p.before })
			j.link(u, u.after, func(p pair) *source { return p.after })
		}
	}
	total := verdict.Verdict{Evidence: verdict.Proven}
	for _, u := range j.units {
		u.comparison = &comparison{unit: u, before: u.before, after: u.after}
		v := u.comparison.run(ctx)
		if v.Evidence == verdict.Unproven {
			return v
		}
		if v.Bound == "" && len(v.Outward) > 0 {
			v.Bound = j.mentioned(u, v.Outward)
		}
		total.Add(v)
	}
	for _, u := range j.units {
		if v := j.check(u); v != nil {
			return *v
		}
	}
	return total
}

// link makes objects of the names of other packages of the call that a side
// uses.
func (j *joint) link(u *unit, s *side, pick func(pair) *source) {
	known := map[link]*tree.Object{}
	for _, d := range s.decls {
		src := pick(u.files[d.File])
		d.Node.Walk(func(n *tree.Node) bool {
			if n.Kind != "selector" || n.Kids[0] == nil || n.Kids[0].Kind != "name" || n.Kids[0].Object != nil || n.Kids[1].Object != nil {
				return true
			}
			target := j.imported(src, n.Kids[0].Text)
			if target == nil || target == u {
				return true
			}
			member := n.Kids[1]
			key := link{unit: target, name: member.Text}
			if known[key] == nil {
				// All have the name of the package: that of the object is the
				// package's to rename.
				known[key] = &tree.Object{Name: n.Kids[0].Text, Kind: "name of package " + target.name(), Line: member.Line}
				j.links[known[key]] = link{target, member.Text, src.path, member.Line}
			}
			member.Object, member.Text = known[key], ""
			return true
		})
	}
}

// imported is the package of the call that a name means in a file; nil where
// that is not certain.
func (j *joint) imported(src *source, name string) *unit {
	for _, spec := range src.ast.Imports {
		u := j.unitAt(path.Dir(src.path), unquote(spec.Path.Value))
		if u != nil && name == cmp.Or(aliasOf(spec), u.name()) {
			return u
		}
	}
	return nil
}

func aliasOf(spec *ast.ImportSpec) string {
	if spec.Name == nil {
		return ""
	}
	return spec.Name.Name
}

// unitAt is the package of the call that an import path means for the files of
// a directory: one of the same module, which go.mod files tell.
func (j *joint) unitAt(dir, imported string) (found *unit) {
	own := j.module(dir)
	rest, inModule := strings.CutPrefix(imported+"/", own.path+"/")
	if first, _, _ := strings.Cut(imported, "/"); own.path == "" || !inModule || standard()[first] {
		return nil
	}
	target := path.Join(own.dir, rest)
	if j.module(target) != own {
		return nil
	}
	for _, u := range j.units {
		if u.dir() != target || u.name() == "main" || strings.HasSuffix(u.name(), "_test") {
			continue
		}
		if found != nil {
			return nil
		}
		found = u
	}
	return found
}

// module is the module that a directory is in.
func (j *joint) module(dir string) module {
	if m, known := j.modules[dir]; known {
		return m
	}
	var m module
	if j.read != nil && !path.IsAbs(dir) && dir != ".." && !strings.HasPrefix(dir, "../") {
		content, err := j.read(path.Join(dir, "go.mod"))
		switch {
		case err == nil:
			m = module{dir, modfile.ModulePath(content)}
		case verdict.IsMissing(err) && dir != ".":
			m = j.module(path.Dir(dir))
		}
	}
	j.modules[dir] = m
	return m
}

// standard are the first elements of the standard library's import paths, which
// come before a module of the same path.
var standard = words(`archive arena bufio builtin bytes cmd cmp compress container context crypto database debug embed encoding errors expvar flag fmt
	go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings
	structs sync syscall testing text time unicode unique unsafe vendor weak C`)

// check holds the names of other packages to what became of them there.
func (j *joint) check(u *unit) *verdict.Verdict {
	for b, a := range u.comparison.pairing.Each {
		before, isLink := j.links[b]
		if !isLink {
			continue
		}
		after := j.links[a]
		if before.unit != after.unit || !before.unit.comparison.renames(before.name, after.name) {
			v := verdict.Unprovenf(after.file, after.line, "%s of package %s became %s, which is another one", before.name, before.unit.name(), after.name)
			return &v
		}
	}
	return nil
}

// renames tells whether a package-level name is the other one now; what these
// files do not declare keeps its name.
func (c *comparison) renames(from, to string) bool {
	b, a := c.before.pkg.names[from], c.after.pkg.names[to]
	if b == nil || a == nil {
		return b == nil && a == nil && from == to
	}
	partner, met := c.pairing.Partner(b)
	return met && partner == a
}

// mentioned gives a place in the other packages of the call that has one of the
// names and may mean that of u by it.
func (j *joint) mentioned(u *unit, names []string) string {
	for _, other := range j.units {
		if other == u {
			continue
		}
		if where := other.quotes(names); where != "" {
			return where
		}
		if where := other.names(names); where != "" {
			return where
		}
	}
	return ""
}

// names gives a place where one of the names stands for something that the
// package does not declare.
func (u *unit) names(names []string) (where string) {
	for _, s := range []*side{u.after, u.before} {
		for _, f := range s.files {
			if i := slices.IndexFunc(names, f.mentions); i >= 0 {
				return f.path + ": a directive has the word " + names[i]
			}
		}
		for _, d := range s.decls {
			d.Node.Walk(func(n *tree.Node) bool {
				if where == "" && n.Object == nil && !n.Literal && slices.Contains(names, n.Text) {
					where = verdict.At(u.files[d.File].name(), n.Line) + " has the word " + n.Text
				}
				return where == ""
			})
		}
	}
	return where
}
