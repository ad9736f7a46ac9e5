package languages

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// bound says why the names that a file renamed could be used without a file
// outside of the call that spells them, or is "".
func (j *joint) bound(ctx context.Context, f *file, names []string) string {
	for b, a := range f.before.pairing.Each {
		o := f.before.objectBehind(b)
		if b.Name == a.Name || o == nil || b.Reach == tree.Local && a.Reach == tree.Local {
			continue
		}
		if why := f.before.found(o); why != "" {
			return why
		}
		if !j.used(f, o) {
			return fmt.Sprintf("nothing in these files uses the %s %s: what does may know it by its name", b.Kind, a.Name)
		}
	}
	for _, other := range j.files {
		if ctx.Err() != nil {
			return "it took too long to look for the names"
		}
		for _, s := range other.sides() {
			if leaf, word := other.mentions(s, names); leaf >= 0 {
				return fmt.Sprintf("%s has the word %s", verdict.At(other.path, s.line(leaf)), word)
			}
		}
	}
	return ""
}

// idle refuses to rename what is imported only for others: a fixture of tests
// is known by the name under which it was imported.
func (j *joint) idle(f *file) *verdict.Verdict {
	for b, a := range f.before.pairing.Each {
		if b.Kind != "import" || b.Name == a.Name || b.Reach == tree.Local && a.Reach == tree.Local {
			continue
		}
		if o := f.before.objectBehind(b); o != nil && !j.used(f, o) {
			v := verdict.Unprovenf(f.path, a.Line, "the import %q became %q, and nothing here uses it: it may be there for its name", b.Name, a.Name)
			return &v
		}
	}
	return nil
}

func (s *side) objectBehind(o *tree.Object) *object {
	for _, known := range s.resolved {
		if known.object.Object == o {
			return known.object
		}
	}
	return nil
}

// found says why a name can be found by what does not spell it.
func (s *side) found(o *object) string {
	switch kind := o.Kind; {
	case isScript(s.language) && !s.isModule():
		return "all scripts of a page share their names"
	case isScript(s.language) && (kind == "function" || kind == "variable" || kind == "import" || kind == "type" || kind == "enum"),
		s.language.grammar == treesitter.Python && (kind == "function" || kind == "variable" || kind == "import"):
		return ""
	case s.language.grammar == treesitter.CPlusPlus && (kind == "function" || kind == "variable"):
		return "headers can have another of that name"
	case s.language.grammar == treesitter.C && (kind == "function" || kind == "variable"):
		return "the linker knows the name, and libraries can"
	case kind == "parameter":
		return "callers can name a parameter, also by a text that they are given"
	}
	return fmt.Sprintf("a program can find the name of the %s, or print it, at run time", o.Kind)
}

// used tells whether a file of the call uses what this one declares.
func (j *joint) used(f *file, o *object) bool {
	return f.usesItself(o) || j.usedThrough(f, o.Object, 0)
}

// usesItself tells whether the file has more of a name than its declaration and
// its export.
func (f *file) usesItself(o *object) bool {
	declared := map[uint32]bool{}
	for leaf, known := range f.before.declared {
		if known == o {
			declared[f.before.tree.Nodes[leaf].Start] = true
		}
	}
	for n := range f.before.tree.Nodes {
		if f.before.kind(n) == "export_specifier" {
			declared[f.before.tree.Nodes[n].Start] = true
		}
	}
	return slices.ContainsFunc(f.before.resolved, func(r resolvedLeaf) bool { return r.object == o && !declared[r.at] })
}

// maxPassed bounds from how many files to the next a name is followed.
const maxPassed = 10

// usedThrough tells whether another file uses what it imports as the object, or
// passes it on to one that does.
func (j *joint) usedThrough(f *file, given *tree.Object, hops int) bool {
	if hops > maxPassed {
		return false
	}
	for _, other := range j.files {
		s := other.before
		for leaf, linked := range s.links {
			if l := s.imported[linked]; l.target != f || f.gives(f.before)[l.name] != given {
				continue
			}
			if !other.importsName(s, leaf) || j.usedThrough(other, linked, hops+1) {
				return true // a member of the module, or passed on
			}
			if bound := s.declared[s.binding(leaf)]; bound != nil && (other.usesItself(bound) || j.usedThrough(other, bound.Object, hops+1)) {
				return true
			}
		}
	}
	return false
}

// binding is the leaf of an import by which the file knows what another one
// declares.
func (s *side) binding(leaf int) int {
	outer := s.parent(leaf)
	if s.kind(outer) == "dotted_name" && s.parentKind(outer) == "aliased_import" {
		outer = s.parent(outer)
	}
	if alias := s.child(outer, "alias"); alias >= 0 {
		return alias
	}
	return leaf
}

// mentions gives a leaf of a program that has one of the names as a word, and
// is neither a comment nor known to stand for something of its own; -1 if there
// is none.
func (f *file) mentions(s *side, names []string) (leaf int, word string) {
	if !slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(s.tree.Text, []byte(name)) }) {
		return -1, ""
	}
	resolved := make(map[uint32]*object, len(s.resolved))
	for _, r := range s.resolved {
		resolved[r.at] = r.object
	}
	for n := 0; n < len(s.tree.Nodes); n++ {
		switch {
		case s.language.comments[s.kind(n)], f.namesModule(s, n):
			n = int(s.tree.Nodes[n].Next) - 1
			continue
		case !s.isLeaf(n) && !s.language.whole[s.kind(n)]:
			continue
		}
		found := slices.IndexFunc(words(s.tree.Source(n)), func(w string) bool {
			return slices.Contains(names, w) || slices.Contains(names, strings.Trim(w, "$"))
		})
		if found < 0 || f.accounted(s, n, resolved[s.tree.Nodes[n].Start]) {
			continue
		}
		return n, words(s.tree.Source(n))[found]
	}
	return -1, ""
}

func (s *side) isLeaf(n int) bool { return int(s.tree.Nodes[n].Next) == n+1 }

// accounted tells whether it is known what a leaf stands for.
func (f *file) accounted(s *side, n int, o *object) bool {
	if linked := s.links[n]; linked != nil {
		l := s.imported[linked]
		return l.target.gives(l.target.side(s == f.after))[l.name] != nil
	}
	switch {
	case o == nil || f.importsName(s, n):
		return false
	case o.Reach == tree.Local:
		return true
	case s.others[o.Object] != o.Name:
		return true // it is renamed as well
	}
	return isScript(f.language) && s.isModule() || f.language.grammar == treesitter.Python
}

// namesModule tells whether a node says which file is imported.
func (f *file) namesModule(s *side, n int) bool {
	switch s.place(n) {
	case "import_statement.source", "export_statement.source", "import_from_statement.module_name":
		return true
	}
	return false
}

// importsName tells whether a leaf names something that another file declares.
func (f *file) importsName(s *side, n int) bool {
	switch s.place(n) {
	case "import_specifier.name":
		return true
	case "export_specifier.name":
		return s.child(s.above(n, setOf("export_statement")), "source") >= 0
	}
	switch s.parentKind(s.parent(n)) {
	case "import_statement", "import_from_statement", "aliased_import":
		return s.parentKind(n) == "dotted_name"
	}
	return false
}
