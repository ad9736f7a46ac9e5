package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func python() *language {
	return &language{
		grammar:  treesitter.Python,
		comments: setOf("comment", "line_continuation"),
		kept:     pythonKept,
		whole:    setOf("integer", "float"),
		spelling: pythonSpelling,
		exact:    setOf("string", "string_content", "interpolation", "format_specifier"),
		opaque:   pythonOpaque,
		optional: pythonOptional,
		same:     map[string]string{"tuple": "expression_list", "tuple_pattern": "pattern_list"},
		inner:    pythonInner,
		rewrite: func(b *builder, n int, field string) *tree.Node {
			if b.kind(n) == "dotted_name" {
				return b.importedFrom(n, field)
			}
			return pythonText(b, n, field)
		},
		foldsLineEnds: true,
		splices:       true,
		names:         setOf("identifier"),
		fixed:         pythonFixed,
		scopes: map[string]scopeKind{
			"function_definition": function, "lambda": function, "class_definition": class,
			"list_comprehension": function, "set_comprehension": function, "dictionary_comprehension": function, "generator_expression": function,
		},
		outside:  pythonOutside,
		declare:  pythonDeclare,
		finish:   pythonFinish,
		inlining: pythonInlining(),
		holds:    pythonHolds,
		order:    pythonOrder,
		closed:   true,
		reserved: setOf("_", "self", "cls", "super", "print", "exec", "match", "case", "type", "__class__", "__all__", "__name__", "__file__", "__doc__",
			"__path__", "__slots__", "__getattr__", "__dir__",
			"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "False", "finally", "for",
			"from", "global", "if", "import", "in", "is", "lambda", "None", "nonlocal", "not", "or", "pass", "raise", "return", "True", "try",
			"while", "with", "yield", "__debug__"),
		dynamic: map[string]reach{"eval": anywhere, "exec": anywhere, "execfile": anywhere, "_getframe": anywhere,
			"locals": ownRegion, "vars": ownRegion, "dir": ownRegion, "globals": topOnly},
		pinned: func(name string) string {
			if strings.HasPrefix(name, "__") {
				return "names with two underscores have a meaning of their own"
			}
			if pythonHooks[name] || strings.HasPrefix(name, "test") || strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "pytest_") {
				return "tests are found by their names"
			}
			for _, r := range name {
				if r > 127 {
					return "Python folds the letters of such names"
				}
			}
			return ""
		},
	}
}

// pythonKept comments are read by the interpreter, the kernel or type checkers.
func pythonKept(s *side, n int, text string) bool {
	if s.kind(n) != "comment" {
		return false
	}
	line, said := s.line(n), strings.TrimLeft(text, "# \t")
	return line == 1 && strings.HasPrefix(text, "#!") || line <= 2 && strings.Contains(text, "coding") ||
		slices.ContainsFunc(pythonMarks, func(mark string) bool { return strings.HasPrefix(said, mark) }) || pythonScript(s, n)
}

var pythonMarks = []string{"type:", "mypy:", "pyright:", "cython:", "distutils:"}

// pythonScript tells whether a comment is in a block that says what the script
// needs (PEP 723).
func pythonScript(s *side, n int) bool {
	for line := s.line(n); n > 0 && s.kind(n) == "comment" && s.parent(n) == 0 && s.line(n) == line; n, line = n-1, line-1 {
		if strings.HasPrefix(s.tree.Source(n), "# /// ") {
			return true
		}
	}
	return false
}

// pythonSpelling writes texts with one kind of quotes.
func pythonSpelling(s *side, n int, text string) string {
	switch s.kind(n) {
	case "string_start", "string_end":
		whole := s.parent(n)
		start, end := s.first(whole, "string_start"), s.first(whole, "string_end")
		if start < 0 || end < 0 || pythonQuoted(string(s.tree.Text[s.tree.Nodes[start].End:s.tree.Nodes[end].Start]), strings.HasSuffix(text, text[len(text)-1:]+text[len(text)-1:])) {
			return text
		}
		prefix := strings.TrimRight(text, "'\"")
		quotes := strings.ReplaceAll(text[len(prefix):], "'", `"`)
		if prefix = strings.TrimPrefix(strings.ToLower(prefix), "u"); prefix == "rb" {
			prefix = "br"
		} else if prefix == "fr" {
			prefix = "rf"
		}
		return prefix + quotes
	case "integer":
		return strings.ToLower(text)
	case "float":
		return pythonFloat(strings.ToLower(text))
	}
	return text
}

// pythonOpaque: f"{x=}" shows its own text, and a text as a type is code.
func pythonOpaque(s *side, n int) bool {
	switch s.kind(n) {
	case "interpolation":
		return s.has(n, "=")
	case "string":
		return s.above(n, setOf("type")) >= 0
	}
	return false
}

var pythonLists = setOf("argument_list", "parameters", "list", "dictionary", "set", "import_from_statement", "list_pattern", "lambda_parameters")

func pythonOptional(s *side, n int) bool {
	parent := s.parentKind(n)
	switch s.kind(n) {
	case ";":
		return true
	case "argument_list": // class A(): is class A:
		return parent == "class_definition" && s.parts(n) == 0 && !s.contains(n, s.language.comments)
	case "(", ")":
		return parent == "import_from_statement" || parent == "tuple" || parent == "tuple_pattern"
	case ",":
		before, after := s.siblings(n)
		if parent == "import_from_statement" {
			return before >= 0 && s.named(before) && (after < 0 || s.kind(after) == ")")
		}
		if parent == "tuple" || parent == "tuple_pattern" || parent == "expression_list" || parent == "pattern_list" {
			return before >= 0 && (after < 0 || s.kind(after) == ")") && s.parts(s.parent(n)) > 1
		}
		return s.trailing(n, pythonLists)
	}
	return false
}

// parts counts the named children that are no comments.
func (s *side) parts(n int) int {
	count := 0
	for c := range s.tree.Children(n) {
		if s.named(c) && !s.language.comments[s.kind(c)] {
			count++
		}
	}
	return count
}

func pythonInner(s *side, n int) int {
	if s.kind(n) != "parenthesized_expression" {
		return pythonLoneTarget(s, n)
	}
	if inner := s.sole(n); inner >= 0 && pythonGroups(s, n, inner) {
		return inner
	}
	switch parent := s.parentKind(n); parent {
	case "with_item", "assignment", "as_pattern", "for_in_clause", "interpolation", "format_expression", "decorator", "await", "named_expression", "del_statement",
		"delete_statement", "print_statement", "exec_statement", "expression_statement":
		if parent != "assignment" || s.field(n) != "right" {
			return -1
		}
	}
	inner := s.sole(n)
	if inner < 0 || s.contains(inner, setOf("named_expression", "yield", "generator_expression", "list_splat")) {
		return -1
	}
	// What stands in parentheses may go over lines: the tree is the same.
	return inner
}

func pythonFixed(s *side, n int) bool {
	switch s.place(n) {
	case "attribute.attribute", "keyword_argument.name":
		return true
	case "call.function":
		// With an argument these look at an object, not at the variables.
		if name := s.tree.Source(n); name == "vars" || name == "dir" {
			return s.parts(s.child(s.parent(n), "arguments")) > 0
		}
	}
	switch s.parentKind(n) {
	case "dotted_name":
		if first := s.parent(n) + 1; first != n {
			return true
		}
		above := s.parentKind(s.parent(n))
		return above == "import_statement" || above == "import_from_statement" || above == "aliased_import" || above == "relative_import" || above == "future_import_statement"
	case "keyword_pattern":
		return s.parent(n)+1 == n
	}
	return false
}

// pythonOutside parts of a function or class are read where it stands.
func pythonOutside(s *side, n int) bool {
	switch s.place(n) {
	case "default_parameter.value", "typed_default_parameter.value", "typed_default_parameter.type", "typed_parameter.type",
		"function_definition.return_type", "class_definition.superclasses":
		return true
	case "for_in_clause.right":
		// The first iterable of a comprehension is read outside of it.
		return s.first(s.parent(s.parent(n)), "for_in_clause") == s.parent(n)
	}
	return false
}

// pythonHome is the scope that an assignment declares in.
func pythonHome(s *side, in *scope) *scope {
	for in.parent != nil && strings.HasSuffix(s.kind(in.node), "comprehension") || s.kind(in.node) == "generator_expression" {
		in = in.parent
	}
	return in
}

func pythonTarget(s *side, n int) bool {
	switch s.kind(n) {
	case "identifier", "pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "as_pattern_target", "tuple", "list", "list_splat",
		"parenthesized_expression", "expression_list":
		return true
	}
	return false
}

func pythonDeclare(s *side, n int, in *scope) {
	switch s.place(n) {
	case "function_definition.name":
		s.add(in.parent, n, "function")
		return
	case "class_definition.name":
		s.add(in.parent, n, "class")
		return
	case "assignment.left", "augmented_assignment.left", "for_statement.left", "named_expression.name":
		s.pattern(n, pythonHome(s, in), "variable", pythonTarget)
		return
	case "for_in_clause.left":
		s.pattern(n, in, "variable", pythonTarget)
		return
	case "as_pattern.alias":
		s.pattern(n, pythonHome(s, in), "variable", pythonTarget)
		return
	case "aliased_import.alias":
		s.add(in, n, "import")
		return
	}
	switch kind := s.kind(n); {
	case kind == "identifier" && s.parentKind(n) == "dotted_name":
		pythonImported(s, n, in)
	case s.parentKind(n) == "delete_statement":
		s.pattern(n, pythonHome(s, in), "variable", pythonTarget)
	case kind == "identifier" && (s.parentKind(n) == "global_statement" || s.parentKind(n) == "nonlocal_statement"):
		s.elsewhere = append(s.elsewhere, n)
	case s.parentKind(n) == "parameters" || s.parentKind(n) == "lambda_parameters":
		pythonParameter(s, n, in)
	case kind == "match_statement":
		s.matches = append(s.matches, n)
	case kind == "type_parameter" && s.parentKind(n) != "generic_type", kind == "type_alias_statement":
		s.unsafe("declared type parameters")
	case kind == "wildcard_import":
		s.unsafe("an import of all names")
	}
}

func pythonImported(s *side, n int, in *scope) {
	name := s.parent(n)
	if s.field(name) != "name" || name+1 != n {
		return
	}
	switch s.parentKind(name) {
	case "import_statement":
		s.add(in, n, "import").pin("the other module has that name")
	case "import_from_statement":
		s.add(in, n, "import")
	}
}

// pythonParameter: callers can name it.
func pythonParameter(s *side, n int, in *scope) {
	leaf := n
	if s.kind(n) != "identifier" {
		if leaf = s.child(n, "name"); leaf < 0 {
			leaf = n + 1
		}
	}
	for s.kind(leaf) == "list_splat_pattern" || s.kind(leaf) == "dictionary_splat_pattern" {
		leaf++
	}
	for leaf < len(s.tree.Nodes) && leaf < int(s.tree.Nodes[n].Next) && s.kind(leaf) != "identifier" {
		leaf++
	}
	if leaf >= int(s.tree.Nodes[n].Next) {
		return
	}
	o := s.add(in, leaf, "parameter")
	starred := s.kind(n) == "list_splat_pattern" || s.kind(n) == "dictionary_splat_pattern"
	if !starred {
		o.share()
	}
	// Fixtures and the like are found by the names of parameters.
	if f := s.above(n, setOf("function_definition")); f >= 0 && in.node == f {
		if strings.HasPrefix(s.tree.Source(max(s.child(f, "name"), 0)), "test") || pythonWrapped(s, f) {
			o.pin("what calls the function may look at the names of its parameters")
		}
	}
}

func pythonFinish(s *side) {
	for _, n := range s.elsewhere {
		pythonElsewhere(s, n)
	}
	for leaf, o := range s.declared {
		switch {
		case s.unsafeFor != "":
			o.pin("the file has " + s.unsafeFor)
		case o.in.kind == class: // pythonMembers says what may change
		case pythonDecorated(s, leaf):
			o.pin("a decorator may look at the name")
		case o.in.parent == nil:
			o.share()
		}
	}
	for _, n := range s.matches {
		pythonMatch(s, n)
	}
	pythonKeywords(s)
	pythonMembers(s)
}

// pythonWrapped tells whether a function has decorators other than those that
// are known to hand arguments on as they are.
func pythonWrapped(s *side, definition int) bool {
	outer := s.parent(definition)
	if s.kind(outer) != "decorated_definition" {
		return false
	}
	for c := range s.tree.Children(outer) {
		if s.kind(c) != "decorator" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(s.tree.Source(c), "@")), "(")
		switch name[strings.LastIndex(name, ".")+1:] {
		case "staticmethod", "classmethod", "property", "setter", "getter", "deleter", "abstractmethod", "contextmanager", "lru_cache", "cache", "wraps",
			"overload", "final", "override":
		default:
			return true
		}
	}
	return false
}

// pythonDecorated tells whether a decorator gets to see a function or class,
// but for those that are known to leave the name alone.
func pythonDecorated(s *side, leaf int) bool {
	definition := s.parent(leaf)
	if k := s.kind(definition); s.field(leaf) != "name" || k != "function_definition" && k != "class_definition" {
		return false
	}
	outer := s.parent(definition)
	if s.kind(outer) != "decorated_definition" {
		return false
	}
	for c := range s.tree.Children(outer) {
		if s.kind(c) != "decorator" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(s.tree.Source(c), "@"), "(")
		switch name[strings.LastIndex(name, ".")+1:] {
		case "contextmanager", "lru_cache", "cache", "dataclass", "wraps", "overload", "final":
		default:
			return true
		}
	}
	return false
}
