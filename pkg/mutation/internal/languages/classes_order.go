package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// declarationsOf is the ordering of languages in which types, functions and
// methods are there before anything runs. free are the kinds of these, placed
// those that keep their order; nothing passes any other.
func declarationsOf(free, placed set, plain func(s *side, node int) bool) func(*side, int, []int) ordering {
	return func(s *side, n int, _ []int) ordering {
		name := s.child(n, "name")
		switch kind := s.kind(n); {
		case kind == "import_declaration" && free[kind]:
			o := s.declares(tree.Free, s.child(s.first(n, "scoped_identifier"), "name"), "")
			o.defines = nil // two of one name mean the same in any order
			return o
		case free[kind]:
			o := s.declares(tree.Free, name, "")
			if overloaded[kind] {
				o.defines = nil // which one of a name is called does not depend on their order
			}
			if !plain(s, n) || name >= 0 && isTest(s.tree.Source(name)) {
				o.order = tree.Effect
			}
			return o
		case placed[kind]:
			return effect()
		}
		return fenced()
	}
}

// overloaded declarations of one name are told apart by their parameters. Parts
// of a type of one name are not: their fields have an order.
var overloaded = setOf("method_declaration", "function_declaration", "constructor_declaration", "secondary_constructor")

// javaPlain annotations say nothing to a program that runs.
var javaPlain = setOf("Override", "Deprecated", "SuppressWarnings", "SafeVarargs", "FunctionalInterface", "Nullable", "NonNull", "NotNull", "VisibleForTesting")

// javaAnnotated tells whether all annotations of a declaration are known.
func javaAnnotated(s *side, n int) bool {
	modifiers := s.first(n, "modifiers")
	if modifiers < 0 {
		return true
	}
	for c := range s.tree.Children(modifiers) {
		if (s.kind(c) == "annotation" || s.kind(c) == "marker_annotation") && !javaPlain[s.tree.Source(s.child(c, "name"))] {
			return false
		}
	}
	return true
}

func javaHolds(l *language) {
	in := setOf("program", "class_body", "interface_body", "enum_body_declarations")
	l.holds = func(s *side, n int) bool { return in[s.kind(n)] }
	l.order = declarationsOf(
		setOf("class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "annotation_type_declaration", "method_declaration",
			"constructor_declaration", "compact_constructor_declaration", "import_declaration"),
		setOf("field_declaration", "constant_declaration", "static_initializer", "block"), javaAnnotated)
	l.leads = func(s *side, n int) bool {
		return s.kind(n) == "block_comment" && !strings.Contains(s.tree.Source(n), `\u`)
	}
}

func csharpHolds(l *language) {
	l.holds = func(s *side, n int) bool {
		switch s.kind(n) {
		case "compilation_unit":
			return true
		case "declaration_list":
			// The methods of an interface can have an order for others.
			return s.parentKind(n) != "interface_declaration" || !s.has(s.parent(n), "attribute_list")
		}
		return false
	}
	l.order = declarationsOf(
		setOf("class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "struct_declaration", "delegate_declaration", "method_declaration",
			"constructor_declaration", "destructor_declaration", "operator_declaration", "conversion_operator_declaration", "namespace_declaration"),
		setOf("field_declaration", "property_declaration", "event_field_declaration", "event_declaration", "indexer_declaration", "global_statement"),
		func(s *side, n int) bool { return !s.has(n, "attribute_list") })
}

func kotlinHolds(l *language) {
	l.holds = func(s *side, n int) bool { return s.kind(n) == "source_file" || s.kind(n) == "class_body" }
	l.order = declarationsOf(
		setOf("class_declaration", "object_declaration", "function_declaration", "type_alias", "secondary_constructor", "companion_object"),
		setOf("property_declaration", "anonymous_initializer"),
		func(s *side, n int) bool {
			modifiers := s.first(n, "modifiers")
			if modifiers < 0 {
				return true
			}
			for c := range s.tree.Children(modifiers) {
				if s.kind(c) == "annotation" && !kotlinPlain[kotlinAnnotation(s.tree.Source(c))] {
					return false
				}
			}
			return true
		})
}

// kotlinPlain annotations are the standard library's, for the compiler.
var kotlinPlain = setOf("Suppress", "Deprecated", "SinceKotlin", "OptIn", "PublishedApi", "ReplaceWith", "Throws", "JvmStatic", "JvmName", "JvmOverloads",
	"JvmSynthetic", "kotlin.internal.InlineOnly", "kotlin.jvm.JvmStatic", "kotlin.jvm.JvmName", "kotlin.jvm.JvmOverloads", "kotlin.OptIn",
	"DeprecatedSinceKotlin", "WasExperimental", "VisibleForTesting", "kotlin.internal.LowPriorityInOverloadResolution", "JvmSuppressWildcards",
	"kotlin.internal.IntrinsicConstEvaluation", "ExperimentalStdlibApi", "ExperimentalUnsignedTypes", "ExperimentalAtomicApi", "ExperimentalTime",
	"ExperimentalEncodingApi", "ExperimentalUuidApi", "ExperimentalContracts", "ExperimentalPathApi", "ExperimentalMultiplatform")

// kotlinAnnotation is the name of an annotation, as it is written.
func kotlinAnnotation(text string) string {
	name := strings.TrimPrefix(text, "@")
	if end := strings.IndexFunc(name, func(r rune) bool { return !isLetter(r) && r != '.' && r != '_' }); end >= 0 {
		name = name[:end]
	}
	return name
}

func phpHolds(l *language) {
	l.holds = func(s *side, n int) bool { return s.kind(n) == "program" || s.kind(n) == "declaration_list" }
	l.leads = func(s *side, n int) bool { return s.kind(n) == "comment" }
	l.order = func(s *side, n int, leads []int) ordering {
		name, kind := s.child(n, "name"), s.kind(n)
		o := fenced()
		switch kind {
		case "function_definition", "method_declaration":
			o = s.declares(tree.Free, name, "")
		case "class_declaration", "interface_declaration", "trait_declaration":
			// One that is made from others is there when its statement runs.
			o = s.declares(tree.Still, name, "class ")
			if s.has(n, "base_clause") || s.has(n, "class_interface_clause") || s.contains(n, setOf("use_declaration")) {
				o.order = tree.Effect
			}
		case "property_declaration", "const_declaration", "use_declaration", "enum_declaration", "enum_case", "expression_statement", "if_statement",
			"echo_statement", "return_statement":
			return effect()
		}
		if o.fence {
			return o
		}
		if s.has(n, "attribute_list") || isTest(s.tree.Source(name)) || kind == "method_declaration" && (!phpDocumented(s, leads) || phpTests(s, n)) {
			o.order = tree.Effect // a note could make it a test, a route
		}
		lower := set{}
		for defined := range o.defines {
			lower[strings.ToLower(defined)] = true
		}
		o.defines = lower
		return o
	}
}

// phpTags are the notes of phpDocumentor and of checkers of types, which say
// what is declared, and give it to nobody.
var phpTags = setOf("param", "return", "throws", "var", "inheritdoc", "inheritDoc", "deprecated", "see", "since", "internal", "final", "link", "author",
	"license", "copyright", "todo", "template", "extends", "implements")

// phpDocumented tells whether the comments in front of a method have none but
// these notes.
func phpDocumented(s *side, leads []int) bool {
	for _, lead := range leads {
		rest := s.tree.Source(lead)
		for {
			_, after, found := strings.Cut(rest, "@")
			if !found {
				break
			}
			tag, rest2 := after, ""
			if end := strings.IndexFunc(after, func(r rune) bool { return !isLetter(r) && r != '-' && r != '\\' && r != '_' }); end >= 0 {
				tag, rest2 = after[:end], after[end:]
			}
			if !phpTags[tag] && !strings.HasPrefix(tag, "psalm-") && !strings.HasPrefix(tag, "phpstan-") {
				return false
			}
			rest = rest2
		}
	}
	return true
}

// phpTests tells whether a method is in a class of tests, which run in the
// order in which they stand.
func phpTests(s *side, n int) bool {
	class := s.parent(s.parent(n))
	name := s.child(class, "name")
	if name < 0 {
		return false
	}
	for _, mark := range []string{"Test", "Spec", "Cest", "Context"} {
		if strings.Contains(s.tree.Source(name), mark) {
			return true
		}
	}
	return false
}
