package languages

import "strings"

var csharpTops = &topRules{
	declares: csharpDeclares, role: csharpRole, bound: nameOfType,
	follows: func(*side, int) bool { return false },
	reserved: setOf("var", "dynamic", "record", "value", "field", "nameof", "notnull", "unmanaged", "global", "await", "nint", "nuint", "file", "required",
		"scoped", "when", "where", "yield", "equals", "tostring", "gethashcode", "gettype", "memberwiseclone", "referenceequals", "finalize"),
	keeps: func(s *side, leaf int) string {
		class := s.parent(leaf)
		switch text := string(s.tree.Text); {
		case strings.Contains(text, `\u`) || strings.Contains(text, `\U`):
			return "the file writes letters as their numbers"
		case s.has(class, "attribute_list"):
			return "an attribute may look at the name"
		case s.hasText(class, "modifier", "partial"):
			return "another file may have a part of it"
		case strings.HasSuffix(s.tree.Source(leaf), "Attribute"):
			return "as an attribute it has another name, too"
		case strings.HasPrefix(s.tree.Source(leaf), "@"):
			return "the name has a meaning of its own"
		}
		return ""
	},
}

var csharpTypeKinds = setOf("class_declaration", "interface_declaration", "struct_declaration", "enum_declaration", "record_declaration",
	"record_struct_declaration")

func csharpDeclares(s *side, leaf int) (kind, in string) {
	class := s.parent(leaf)
	if s.field(leaf) != "name" || !csharpTypeKinds[s.kind(class)] || s.above(class, csharpTypeKinds) >= 0 {
		return "", ""
	}
	kind, _, _ = strings.Cut(s.kind(class), "_")
	return kind, s.csharpNamespace(leaf)
}

// csharpNamespace is the namespace at a place.
func (s *side) csharpNamespace(n int) (name string) {
	for n = s.parent(n); n >= 0; n = s.parent(n) {
		if s.kind(n) == "namespace_declaration" {
			name = s.tree.Source(s.child(n, "name")) + "." + name
		}
	}
	if file := s.first(0, "file_scoped_namespace_declaration"); file >= 0 {
		name = s.tree.Source(s.child(file, "name")) + "." + name
	}
	return strings.Join(strings.Fields(strings.TrimSuffix(name, ".")), "")
}

func csharpRole(t *tops, f *file, s *side, leaf int, d top) role {
	parent := s.parent(leaf)
	if sourceRoot(f.path, s.csharpNamespace(leaf)) != sourceRoot(d.file.path, d.space) && s.place(leaf) != "member_access_expression.name" {
		return unclear
	}
	if csharpTypeKinds[s.kind(parent)] && s.field(leaf) == "name" {
		if kind, in := csharpDeclares(s, leaf); kind != "" && in == d.space {
			return meant
		}
		return unclear
	}
	if s.kind(leaf) != "identifier" || s.inNameOf(leaf) || s.above(leaf, setOf("attribute_list", "using_directive")) >= 0 {
		return unclear
	}
	switch s.place(leaf) {
	case "constructor_declaration.name", "destructor_declaration.name":
		class := s.above(leaf, csharpTypeKinds)
		if class < 0 || s.child(class, "name") < 0 {
			return unclear
		}
		if kind, in := csharpDeclares(s, s.child(class, "name")); kind != "" && in == d.space && s.tree.Source(s.child(class, "name")) == d.name {
			return meant
		}
		return unclear
	case "argument.name", "goto_statement.", "labeled_statement.":
		return apart
	case "member_access_expression.name":
		return s.csharpMember(parent, d)
	}
	if !s.csharpTypePlace(leaf) || s.csharpNamespace(leaf) != d.space || !t.csharpKnownBases(f, s, leaf) {
		return unclear
	}
	return meant
}

func (s *side) inNameOf(leaf int) bool {
	for n := s.parent(leaf); n > 0; n = s.parent(n) {
		if s.kind(n) == "invocation_expression" && s.tree.Source(s.child(n, "function")) == "nameof" {
			return true
		}
	}
	return false
}

// csharpMember: behind a dot it is somebody's member, unless that can be a
// namespace.
func (s *side) csharpMember(access int, d top) role {
	first := access
	for int(s.tree.Nodes[first].Next) > first+1 {
		first++
	}
	if k := s.kind(first); k == "this" || k == "base" {
		return apart
	}
	word := s.tree.Source(first)
	for _, part := range strings.Split(d.space, ".") {
		if part == word {
			return unclear
		}
	}
	if s.kind(first) != "identifier" || word == "global" || d.space == "" {
		return unclear
	}
	for n := range s.tree.Nodes {
		if s.kind(n) == "using_directive" && s.child(n, "name") >= 0 && s.tree.Source(s.child(n, "name")) == word {
			return unclear
		}
	}
	return apart
}

// csharpTypePlace tells whether a name stands where a type does, or in front of
// a dot.
func (s *side) csharpTypePlace(n int) bool {
	if s.parentKind(n) == "generic_name" && s.parent(n)+1 == n {
		n = s.parent(n)
	}
	switch s.place(n) {
	case "member_access_expression.expression", "as_expression.right", "method_declaration.returns", "local_function_statement.returns":
		return true
	case "qualified_name.qualifier":
		return true
	}
	switch s.parentKind(n) {
	case "type_argument_list", "base_list":
		return true
	case "using_directive", "attribute":
		return false
	}
	return s.field(n) == "type"
}

// csharpPlain are interfaces, which give no names to those that have them.
var csharpPlain = setOf(strings.Fields(`IDisposable IAsyncDisposable IComparable IComparer IEquatable IEqualityComparer IEnumerable IEnumerator
	ICollection IList IReadOnlyList IReadOnlyCollection IDictionary ICloneable IFormattable object`)...)

// csharpKnownBases tells whether all that the classes around a leaf are made
// from is known: a base gives its types and properties to them, by any name.
func (t *tops) csharpKnownBases(f *file, s *side, leaf int) bool {
	for class := s.above(leaf, csharpTypeKinds); class >= 0; class = s.above(class, csharpTypeKinds) {
		if s.kind(class) != "enum_declaration" && !t.csharpPlainHead(f, s, class, 0) {
			return false
		}
	}
	return true
}

func (t *tops) csharpPlainHead(f *file, s *side, class, hops int) bool {
	if s.hasText(class, "modifier", "partial") {
		return false
	}
	bases := s.first(class, "base_list")
	if bases < 0 {
		return true
	}
	for base := range s.tree.Children(bases) {
		if !s.named(base) || s.language.comments[s.kind(base)] || s.kind(base) == "argument_list" {
			continue
		}
		if s.kind(base) == "primary_constructor_base_type" {
			base++
		}
		if s.kind(base) == "generic_name" {
			base++
		}
		if s.kind(base) != "identifier" || hops > maxPassed || !t.csharpPlainType(f, s, base, hops) {
			return false
		}
	}
	return true
}

func (t *tops) csharpPlainType(f *file, s *side, base, hops int) bool {
	name, found := s.tree.Source(base), false
	for _, other := range t.files {
		side := other.side(s == f.after)
		for n := range side.tree.Nodes {
			if !csharpTypeKinds[side.kind(n)] || side.child(n, "name") < 0 || side.tree.Source(side.child(n, "name")) != name {
				continue
			}
			if kind, in := csharpDeclares(side, side.child(n, "name")); kind == "" || in != s.csharpNamespace(base) || !t.csharpPlainHead(other, side, n, hops+1) {
				return false
			}
			found = true
		}
	}
	return found || csharpPlain[name]
}
