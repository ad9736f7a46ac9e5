package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// topRulesOf are the rules of a language; nil if its names are renamed by its
// table alone.
func topRulesOf(l *language) *topRules {
	switch {
	case l == nil:
		return nil
	case l.grammar == treesitter.Java:
		return javaTops
	case l.grammar == treesitter.CSharp:
		return csharpTops
	case l.grammar == treesitter.PHP:
		return phpTops
	case l.grammar == treesitter.Rust:
		return rustTops
	case l.grammar == treesitter.C:
		return clangTops
	case l.grammar == treesitter.CPlusPlus:
		return cppTops
	case l.grammar == treesitter.Kotlin:
		return kotlinTops
	}
	return nil
}

// nameOfType says why a type's name is never known to be used by nothing else.
const nameOfType = "a program can find the name of the %s, or print it, at run time"

var javaTops = &topRules{
	declares: javaDeclares, role: javaRole, bound: nameOfType,
	follows:  func(s *side, leaf int) bool { return javaModifier(s, s.parent(leaf), "public") },
	reserved: setOf("var", "record", "yield", "sealed", "permits", "enum", "assert", "strictfp", "module", "when"),
	keeps: func(s *side, leaf int) string {
		class := s.parent(leaf)
		switch text := string(s.tree.Text); {
		case strings.Contains(text, `\u`):
			return "the file writes letters as their numbers"
		case strings.Contains(text, " native "):
			return "native code knows classes by their names"
		case !javaAnnotated(s, class):
			return "an annotation may look at the name"
		case javaSerial(javaTypes(s), class):
			return "what is serialised has the name in it"
		}
		return ""
	},
}

var javaTypeKinds = setOf("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")

func javaDeclares(s *side, leaf int) (kind, in string) {
	class := s.parent(leaf)
	if s.field(leaf) != "name" || !javaTypeKinds[s.kind(class)] || s.parent(class) != 0 {
		return "", ""
	}
	kind, _, _ = strings.Cut(s.kind(class), "_")
	return kind, s.javaPackage()
}

func (s *side) javaPackage() string {
	if n := s.first(0, "package_declaration"); n >= 0 {
		for c := range s.tree.Children(n) {
			if k := s.kind(c); k == "scoped_identifier" || k == "identifier" {
				return strings.Join(strings.Fields(s.tree.Source(c)), "")
			}
		}
	}
	return ""
}

// javaImport is what a file imports under a name, or "".
func (s *side) javaImport(name string) string {
	for n := range s.tree.Children(0) {
		if s.kind(n) != "import_declaration" || s.has(n, "asterisk") || s.has(n, "static") {
			continue
		}
		if path := s.first(n, "scoped_identifier"); path >= 0 && s.tree.Source(s.child(path, "name")) == name {
			return s.tree.Source(path)
		}
	}
	return ""
}

// javaImportsAll tells whether a file imports all static members of a class.
func (s *side) javaImportsAll() bool {
	for n := range s.tree.Children(0) {
		if s.kind(n) == "import_declaration" && s.has(n, "asterisk") && s.has(n, "static") {
			return true
		}
	}
	return false
}

func javaRole(t *tops, f *file, s *side, leaf int, d top) role {
	full := d.space + "." + d.name
	parent := s.parent(leaf)
	if !sameProgram(sourceRoot(f.path, s.javaPackage()), sourceRoot(d.file.path, d.space)) {
		return unclear
	}
	switch place := s.place(leaf); {
	case javaTypeKinds[s.kind(parent)] && s.field(leaf) == "name":
		if kind, in := javaDeclares(s, leaf); kind != "" && in == d.space {
			return meant
		}
		return unclear
	case place == "constructor_declaration.name" || place == "compact_constructor_declaration.name":
		if class := s.parent(s.parent(parent)); s.parent(class) == 0 && s.child(class, "name") >= 0 && s.tree.Source(s.child(class, "name")) == d.name {
			return meant
		}
		return unclear
	case place == "method_invocation.name" || place == "method_declaration.name":
		return apart
	case s.kind(parent) == "labeled_statement" || s.kind(parent) == "break_statement" || s.kind(parent) == "continue_statement":
		return apart
	case s.above(leaf, setOf("import_declaration")) >= 0:
		if place == "scoped_identifier.name" && d.space != "" && s.tree.Source(parent) == full {
			return meant
		}
		return unclear
	case s.kind(parent) == "scoped_type_identifier" && parent+1 != leaf:
		return unclear
	case s.kind(leaf) == "type_identifier" && s.kind(parent) != "type_parameter",
		place == "method_invocation.object", place == "field_access.object",
		s.kind(parent) == "method_reference" && parent+1 == leaf:
	default:
		return unclear
	}
	// What is imported from a class in one go can be a variable, which comes first.
	if s.kind(leaf) != "type_identifier" && s.javaImportsAll() {
		return unclear
	}
	imported := s.javaImport(d.name)
	if imported != full && (imported != "" || s.javaPackage() != d.space) || !t.javaKnownBases(f, s, leaf) {
		return unclear
	}
	return meant
}

// javaBare are types that give those that are made from them neither fields
// nor types.
var javaBare = setOf(strings.Fields(`java.lang.Object java.lang.Exception java.lang.RuntimeException java.lang.Error java.lang.Throwable
	java.lang.IllegalArgumentException java.lang.IllegalStateException java.lang.UnsupportedOperationException java.lang.Runnable
	java.lang.Comparable java.lang.Cloneable java.lang.AutoCloseable java.lang.Iterable java.lang.CharSequence java.io.Closeable
	java.io.IOException java.io.UncheckedIOException java.util.Comparator java.util.Iterator java.util.concurrent.Callable
	java.util.function.Function java.util.function.BiFunction java.util.function.Supplier java.util.function.Consumer
	java.util.function.BiConsumer java.util.function.Predicate java.util.function.UnaryOperator java.util.function.BinaryOperator`)...)

// javaKnownBases tells whether all that the classes around a leaf are made from
// is known: a base gives its types and fields to them, by any name.
func (t *tops) javaKnownBases(f *file, s *side, leaf int) bool {
	below := leaf
	for n := s.parent(leaf); n >= 0; below, n = n, s.parent(n) {
		switch kind := s.kind(n); {
		case kind == "object_creation_expression" && s.kind(below) == "class_body":
			if base := s.child(n, "type"); base < 0 || !t.javaPlainType(f, s, base, 0) {
				return false
			}
		case javaTypeKinds[kind] && s.field(below) == "body":
			if !t.javaPlainHead(f, s, n, 0) {
				return false
			}
		}
	}
	return true
}

// javaPlainHead tells whether what a class is made from is known.
func (t *tops) javaPlainHead(f *file, s *side, class, hops int) bool {
	for c := range s.tree.Children(class) {
		if k := s.kind(c); k != "superclass" && k != "super_interfaces" && k != "extends_interfaces" {
			continue
		}
		list := c
		if inner := s.first(c, "type_list"); inner >= 0 {
			list = inner
		}
		for base := range s.tree.Children(list) {
			if s.named(base) && !s.language.comments[s.kind(base)] && !t.javaPlainType(f, s, base, hops) {
				return false
			}
		}
	}
	return true
}

func (t *tops) javaPlainType(f *file, s *side, typ, hops int) bool {
	if s.kind(typ) == "generic_type" {
		typ++
	}
	if s.kind(typ) != "type_identifier" || hops > maxPassed {
		return false
	}
	name, full := s.tree.Source(typ), s.javaImport(s.tree.Source(typ))
	if full == "" {
		full = s.javaPackage() + "." + name
	}
	found := false
	for _, other := range t.files {
		side := other.side(s == f.after)
		for n := range side.tree.Nodes {
			if !javaTypeKinds[side.kind(n)] || side.child(n, "name") < 0 || side.tree.Source(side.child(n, "name")) != name {
				continue
			}
			nested := side.parent(n) != 0
			if nested && other != f || !nested && side.javaPackage()+"."+name != full {
				return false
			}
			if !t.javaPlainHead(other, side, n, hops+1) {
				return false
			}
			found = true
		}
	}
	return found || javaBare[full] || s.javaImport(name) == "" && javaBare["java.lang."+name]
}
