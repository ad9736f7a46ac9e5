package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

func pythonHolds(s *side, n int) bool {
	return s.kind(n) == "module" || s.kind(n) == "block" && s.parentKind(n) == "class_definition"
}

func pythonOrder(s *side, n int, _ []int) ordering {
	switch s.kind(n) {
	case "function_definition":
		return pythonFunctionOrder(s, n)
	case "class_definition":
		return pythonClassOrder(s, n)
	case "decorated_definition":
		return pythonDecoratedOrder(s, n)
	case "expression_statement":
		return pythonStatementOrder(s, n)
	}
	return effect()
}

// pythonStatementOrder knows assignments of values that are only built.
func pythonStatementOrder(s *side, n int) ordering {
	if k := s.kind(n + 1); k == "string" || k == "concatenated_string" {
		return fenced() // documentation, or it would be elsewhere
	}
	left, right := s.child(n+1, "left"), s.child(n+1, "right")
	if s.kind(n+1) != "assignment" || int(s.tree.Nodes[n+1].Next) != int(s.tree.Nodes[n].Next) || s.kind(left) != "identifier" || right < 0 {
		return effect()
	}
	o := s.declares(tree.Still, left, "")
	o.reads = set{}
	o.keeps = s.parentKind(n) == "block"
	if strings.HasPrefix(s.tree.Source(left), "__") || !pythonQuiet(s, right, o.reads) || !pythonType(s, s.child(n+1, "type"), o.reads) {
		return effect()
	}
	return o
}

// pythonQuiet tells whether a value is there without anything else being run.
func pythonQuiet(s *side, n int, reads set) bool {
	switch s.kind(n) {
	case "string", "concatenated_string":
		return !s.contains(n, setOf("interpolation"))
	case "integer", "float", "true", "false", "none", "ellipsis":
		return true
	case "identifier":
		reads[s.tree.Source(n)] = true
		return true
	case "lambda":
		return s.child(n, "parameters") < 0 || pythonParametersQuiet(s, s.child(n, "parameters"), reads)
	case "unary_operator":
		k := s.kind(s.child(n, "argument"))
		return k == "integer" || k == "float"
	case "set":
		return !s.contains(n, setOf("identifier", "interpolation", "list_splat", "call"))
	case "pair":
		key := s.kind(s.child(n, "key"))
		return (key == "string" || key == "integer") && pythonQuiet(s, s.child(n, "key"), reads) && pythonQuiet(s, s.child(n, "value"), reads)
	case "tuple", "list", "dictionary", "parenthesized_expression", "expression_list":
		for c := range s.tree.Children(n) {
			if s.named(c) && !s.language.comments[s.kind(c)] && !pythonQuiet(s, c, reads) {
				return false
			}
		}
		return true
	}
	return false
}

// pythonType tells whether an annotation only reads names.
func pythonType(s *side, n int, reads set) bool {
	if n < 0 {
		return true
	}
	for i := n; i < int(s.tree.Nodes[n].Next); i++ {
		switch k := s.kind(i); k {
		case "identifier":
			reads[s.tree.Source(i)] = true
		case "type", "generic_type", "type_parameter", "attribute", "subscript", "string", "string_start", "string_content", "string_end", "none", "list", "tuple", "ellipsis",
			"union_type", "member_type", "integer", "true", "false":
		case "binary_operator":
			if s.tree.Source(s.child(i, "operator")) != "|" {
				return false
			}
		default:
			if s.named(i) {
				return false
			}
		}
	}
	return true
}

func pythonParametersQuiet(s *side, n int, reads set) bool {
	for c := range s.tree.Children(n) {
		if value := s.child(c, "value"); value >= 0 && !pythonQuiet(s, value, reads) {
			return false
		}
		if !pythonType(s, s.child(c, "type"), reads) {
			return false
		}
	}
	return true
}

// pythonFunctionOrder: test functions run in the order in which they stand.
func pythonFunctionOrder(s *side, n int) ordering {
	o := s.declares(tree.Still, s.child(n, "name"), "")
	o.reads = set{}
	if isTest(s.tree.Source(o.leaf)) || s.has(n, "type_parameter") || !pythonParametersQuiet(s, s.child(n, "parameters"), o.reads) ||
		!pythonType(s, s.child(n, "return_type"), o.reads) {
		return effect()
	}
	return o
}

// isTest tells whether test runners look for such names.
func isTest(name string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimLeft(name, "_")), "test") || strings.HasPrefix(name, "pytest_")
}

// pythonBases are classes that nothing happens to when others are made from them.
var pythonBases = setOf("object", "Exception", "BaseException", "ValueError", "TypeError", "RuntimeError", "KeyError", "IndexError", "LookupError", "OSError", "IOError",
	"AttributeError", "NotImplementedError", "ArithmeticError", "Warning", "UserWarning", "DeprecationWarning", "ImportError", "StopIteration", "AssertionError",
	"dict", "list", "set", "tuple", "str", "int", "float", "bytes", "frozenset", "ABC", "Protocol", "TypedDict", "NamedTuple", "Generic")

func pythonClassOrder(s *side, n int) ordering {
	o := s.declares(tree.Still, s.child(n, "name"), "")
	o.reads = set{}
	if isTest(s.tree.Source(o.leaf)) || s.has(n, "type_parameter") || !pythonBasesQuiet(s, n, o.reads, 0) {
		return effect()
	}
	for c := range s.tree.Children(s.child(n, "body")) {
		if !s.named(c) || s.language.comments[s.kind(c)] || s.kind(c) == "pass_statement" {
			continue
		}
		part := pythonOrder(s, c, nil)
		documentation := s.kind(c) == "expression_statement" && (s.kind(c+1) == "string" && pythonQuiet(s, c+1, set{}) || s.kind(c+1) == "ellipsis")
		annotation := s.kind(c) == "expression_statement" && s.kind(c+1) == "assignment" && s.child(c+1, "right") < 0 && pythonType(s, s.child(c+1, "type"), o.reads)
		if part.order == tree.Effect && !documentation && !annotation {
			return effect()
		}
		o.reads = union(o.reads, part.reads)
	}
	return o
}

// pythonBasesQuiet tells whether nothing is told of a new class: its bases are
// known, or are classes of this file of which that is true.
func pythonBasesQuiet(s *side, n int, reads set, deep int) bool {
	bases := s.child(n, "superclasses")
	if bases < 0 {
		return true
	}
	for c := range s.tree.Children(bases) {
		if !s.named(c) || s.language.comments[s.kind(c)] {
			continue
		}
		base := c
		if s.kind(c) == "subscript" {
			base = s.child(c, "value")
			if !pythonType(s, c, reads) {
				return false
			}
		}
		if s.kind(c) == "keyword_argument" && s.tree.Source(c) == "metaclass=ABCMeta" {
			continue
		}
		if s.kind(base) != "identifier" || deep > 20 {
			return false
		}
		name := s.tree.Source(base)
		reads[name] = true
		if own := s.pythonClass(name); own >= 0 && !pythonHooked(s, own) && pythonBasesQuiet(s, own, set{}, deep+1) {
			continue
		}
		if !pythonBases[name] || s.declaresElse(name) {
			return false
		}
	}
	return true
}

// pythonClass is the one class of the file that has a name, or -1.
func (s *side) pythonClass(name string) int {
	found := -1
	for leaf := range s.declaredAs(name) {
		if s.place(leaf) != "class_definition.name" || found >= 0 {
			return -1
		}
		found = s.parent(leaf)
	}
	return found
}

// declaredAs are the places that declare a name of the file.
func (s *side) declaredAs(name string) leaves {
	if s.tops == nil {
		s.tops = map[string]leaves{}
		for leaf, o := range s.declared {
			if o.in.parent != nil {
				continue
			}
			if s.tops[o.Name] == nil {
				s.tops[o.Name] = leaves{}
			}
			s.tops[o.Name][leaf] = true
		}
	}
	return s.tops[name]
}

// leaves is a set of nodes.
type leaves map[int]bool

// pythonStandard are the modules whose names mean what they say.
var pythonStandard = setOf("typing", "typing_extensions", "abc", "functools", "contextlib", "dataclasses")

// declaresElse tells whether the file gives a name a meaning of its own, other
// than by importing it from the standard library.
func (s *side) declaresElse(name string) bool {
	for leaf := range s.declaredAs(name) {
		statement := s.above(leaf, setOf("import_from_statement", "module"))
		if s.kind(statement) != "import_from_statement" || !pythonStandard[s.tree.Source(s.child(statement, "module_name"))] {
			return true
		}
	}
	return s.unsafeFor != ""
}

// pythonHooked tells whether a class is told of those that are made from it.
func pythonHooked(s *side, class int) bool {
	body := s.child(class, "body")
	for i := body; i < int(s.tree.Nodes[body].Next); i++ {
		if s.kind(i) == "identifier" && s.tree.Source(i) == "__init_subclass__" {
			return true
		}
	}
	return s.parentKind(class) == "decorated_definition"
}

// pythonDecorators only wrap what they are given.
var pythonDecorators = setOf("staticmethod", "classmethod", "property", "abstractmethod", "cached_property", "lru_cache", "cache", "contextmanager", "asynccontextmanager",
	"overload", "final", "dataclass", "wraps", "override", "total_ordering", "singledispatchmethod")

func pythonDecoratedOrder(s *side, n int) ordering {
	definition := s.child(n, "definition")
	o := pythonOrder(s, definition, nil)
	if o.order == tree.Effect {
		return o
	}
	for c := range s.tree.Children(n) {
		if s.kind(c) != "decorator" {
			continue
		}
		o.reads = union(o.reads, s.mentioned(c))
		if !pythonDecorator(s, c+1+1) {
			return effect()
		}
	}
	return o
}

// pythonDecorator knows decorators by their last name: of a module, or of a
// property that the class has.
func pythonDecorator(s *side, n int) bool {
	if s.kind(n) == "call" {
		for c := range s.tree.Children(s.child(n, "arguments")) {
			value := c
			if s.kind(c) == "keyword_argument" {
				value = s.child(c, "value")
			}
			if s.named(c) && !pythonQuiet(s, value, set{}) {
				return false
			}
		}
		n = s.child(n, "function")
	}
	switch s.kind(n) {
	case "identifier":
		return pythonDecorators[s.tree.Source(n)] && !s.declaresElse(s.tree.Source(n))
	case "attribute":
		object, last := s.tree.Source(s.child(n, "object")), s.tree.Source(s.child(n, "attribute"))
		if last == "setter" || last == "getter" || last == "deleter" {
			definition := s.above(n, setOf("decorated_definition"))
			return object == s.tree.Source(s.child(s.child(definition, "definition"), "name"))
		}
		return pythonDecorators[last] && (object == "functools" || object == "abc" || object == "contextlib" || object == "dataclasses" || object == "typing" || object == "t")
	}
	return false
}
