package languages

import (
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// linkScript finds what the imports of an ES module mean, and the exports that
// pass another module's names on.
func (j *joint) linkScript(f *file, s *side) {
	for n := range s.tree.Nodes {
		if k := s.kind(n); k != "import_statement" && k != "export_statement" {
			continue
		}
		target := j.script(f, s, n)
		if target == nil {
			continue
		}
		for c := n; c < int(s.tree.Nodes[n].Next); c++ {
			switch s.kind(c) {
			case "import_specifier", "export_specifier":
				if name := s.child(c, "name"); s.kind(name) == "identifier" {
					s.linkTo(name, target)
				}
			case "namespace_import":
				if leaf := s.first(c, "identifier"); leaf >= 0 {
					s.linkMembers(leaf, target, "member_expression", "object", "property")
				}
			}
		}
	}
}

// linkMembers links the members of a name that stands for a whole module. A use
// of the whole, by which any of its names could be found, leaves them as they
// are written.
func (s *side) linkMembers(leaf int, target *file, kind, object, member string) {
	o := s.declared[leaf]
	if o == nil {
		return
	}
	name := s.tree.Source(leaf)
	var members []int
	for n := range s.tree.Nodes {
		if n == leaf || !s.isLeaf(n) || !s.language.names[s.kind(n)] || s.tree.Source(n) != name {
			continue
		}
		if known := s.declared[n]; known != nil && known != o {
			continue
		} else if known == nil && s.lookup(s.scopeAt(n), name, s.tree.Nodes[n].Start) != o {
			continue
		}
		if s.place(n) != kind+"."+object || s.declared[n] != nil {
			return
		}
		if m := s.child(s.parent(n), member); m >= 0 && s.isLeaf(m) {
			members = append(members, m)
		}
	}
	for _, m := range members {
		s.linkTo(m, target)
	}
}

// scriptEnds are what can stand behind the path of a relative import.
var scriptEnds = []string{"", ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte", ".node",
	"/package.json", "/index.ts", "/index.tsx", "/index.d.ts", "/index.mts", "/index.cts", "/index.js", "/index.jsx", "/index.mjs", "/index.cjs",
	"/index.json", "/index.node"}

// scriptSources are the sources that a compiler reads for a compiled file.
var scriptSources = map[string][]string{".js": {".ts", ".tsx", ".d.ts"}, ".jsx": {".tsx", ".d.ts"}, ".mjs": {".mts", ".d.mts"}, ".cjs": {".cts", ".d.cts"}}

// script is the file of the call that an import or export statement names by a
// relative path; nil if it could be another.
func (j *joint) script(f *file, s *side, statement int) *file {
	source := s.child(statement, "source")
	if source < 0 {
		return nil
	}
	text := s.tree.Source(source)
	if len(text) < 2 || strings.ContainsAny(text, `\?#%`) {
		return nil
	}
	spec := text[1 : len(text)-1]
	if !strings.HasPrefix(spec, "./") && !strings.HasPrefix(spec, "../") {
		return nil
	}
	base := path.Join(path.Dir(f.path), spec)
	if base == "." || strings.HasPrefix(base, "..") {
		return nil
	}
	var candidates []string
	for _, end := range scriptEnds {
		candidates = append(candidates, base+end)
	}
	for _, end := range scriptSources[path.Ext(base)] {
		candidates = append(candidates, strings.TrimSuffix(base, path.Ext(base))+end)
	}
	found := ""
	for _, name := range candidates {
		if !j.stands(name) {
			continue
		}
		if found != "" {
			return nil
		}
		found = name
	}
	if target := j.at(found); target != nil && target != f && isScript(target.language) {
		return target
	}
	return nil
}

// scriptGives notes the exports of a module.
func scriptGives(s *side) {
	for leaf, o := range s.declared {
		if o.in.parent == nil && s.exportedWith(leaf) {
			statement := s.above(leaf, setOf("export_statement"))
			if s.has(statement, "default") {
				continue
			}
			s.given[o.Name] = o.Object
		}
	}
	for n := range s.tree.Nodes {
		if s.kind(n) != "export_specifier" {
			continue
		}
		name, alias := s.child(n, "name"), s.child(n, "alias")
		if name < 0 {
			continue
		}
		if alias >= 0 {
			s.given[s.tree.Source(alias)] = nil // a text, which stays as it is
			continue
		}
		s.given[s.tree.Source(name)] = s.exported(name)
	}
}

// exported is what the name of an export without an alias stands for.
func (s *side) exported(leaf int) *tree.Object {
	if o := s.links[leaf]; o != nil {
		return o
	}
	if s.child(s.above(leaf, setOf("export_statement")), "source") >= 0 {
		return nil
	}
	if o := s.lookup(s.scopes[0], s.tree.Source(leaf), s.tree.Nodes[leaf].Start); o != nil {
		return o.Object
	}
	return nil
}

// importedName builds {a} of an import as {a as a}: what the other module has,
// and what it is called here.
func (b *builder) importedName(n int, field string) *tree.Node {
	name := b.child(n, "name")
	if name < 0 || b.child(n, "alias") >= 0 || b.kind(name) != "identifier" {
		return nil
	}
	made := &tree.Node{Kind: label(b.kind(n), field), Literal: true, Line: b.line(n)}
	for c := range b.tree.Children(n) {
		if c != name {
			if part := b.node(c, b.field(c)); part != nil {
				made.Kids = append(made.Kids, part)
			}
			continue
		}
		made.Kids = append(made.Kids, b.foreign(c, "name"), token("as", b.line(c)), b.name(c, "alias"))
	}
	return made
}

// foreign is a name that another file declares.
func (b *builder) foreign(n int, field string) *tree.Node {
	made := &tree.Node{Kind: label(b.kind(n), field), Line: b.line(n)}
	if made.Object = b.links[n]; made.Object == nil {
		made.Text = b.tree.Source(n)
	}
	return made
}
