package languages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// clangStable tells whether an argument has the type of its parameter, and a
// value wherever the expression reads it.
func clangStable(h *helper, o *object, at int) bool {
	s := h.side
	// Only for a macro that may do more with a variable its name is pinned here.
	if o.conditional || s.macros()[o.Name] || o.Pinned != "" && !strings.HasPrefix(o.Pinned, "the macro ") || !steady(h, o, at) ||
		s.once("disturbed", o, func() bool { return s.disturbs(o, o.Name, o.Name) != "" }) { // what may be a macro has it, and could declare another one
		return false
	}
	for i, arg := range s.argumentsAt(s.parent(at)) {
		// A variable that has no value yet may be given, and not be read.
		if i < len(h.params) && arg >= 0 && s.declaredAt(arg) == o && !s.once("has a value", o, func() bool { return s.hasValue(o) }) && !h.always(h.expr, i) {
			return false
		}
	}
	return true
}

// hasValue tells whether a variable has one from its declaration on, which no
// jump can pass.
func (s *side) hasValue(o *object) bool {
	if o.Kind == "parameter" {
		return true
	}
	declaration := s.parent(s.parent(o.leaf))
	if s.place(o.leaf) != "init_declarator.declarator" || s.above(declaration, setOf("case_statement")) > o.region.node || s.parentKind(s.parent(declaration)) == "switch_statement" {
		return false
	}
	for n := o.region.node; n < int(s.tree.Nodes[o.region.node].Next); n++ {
		if s.kind(n) == "labeled_statement" {
			return false
		}
	}
	return true
}

// clangSite tells whether a call stands where its value is worked out, with
// nothing beside it that could change a variable.
func clangSite(h *helper, at int) bool {
	s := h.side
	function, definition := s.scopeAt(at).region().node, s.above(h.object.leaf, setOf("function_definition"))
	if s.kind(function) != "function_definition" || s.tree.Nodes[at].Start < s.tree.Nodes[definition].End || !slices.Equal(s.chain(at), s.chain(definition)) ||
		s.namespaces(at) > s.namespaces(definition) {
		return false
	}
	for c := range s.tree.Children(function) {
		if word := s.textOf(c); word == "constexpr" || word == "consteval" {
			return false
		}
	}
	whole, ok := h.clangWhole(s.parent(at))
	if !ok || !h.clangQuiet(whole, at) {
		return false
	}
	for n := s.parent(whole); n > function; n = s.parent(n) {
		if k := s.kind(n); !clangStatements[k] && !clangConditions[k] && k != "declaration" && k != "init_declarator" {
			return false
		}
	}
	return true
}

// namespaces is in how many namespaces a node stands, with a name or without.
func (s *side) namespaces(n int) (count int) {
	for n = s.above(n, setOf("namespace_definition")); n >= 0; n = s.above(n, setOf("namespace_definition")) {
		count++
	}
	return count
}

// clangStatements are what may stand around an expression up to its function.
var clangStatements = setOf("compound_statement", "expression_statement", "return_statement", "if_statement", "else_clause", "while_statement", "do_statement",
	"for_statement", "for_range_loop", "switch_statement", "case_statement", "labeled_statement", "try_statement", "catch_clause", "condition_clause",
	"parenthesized_expression")

// clangTests are the places in which only the truth of a value counts.
var clangTests = setOf("if_statement.condition", "while_statement.condition", "do_statement.condition", "for_statement.condition", "conditional_expression.condition")

// clangWhole goes from a call up to the whole expression that it is part of.
func (h *helper) clangWhole(call int) (whole int, ok bool) {
	s := h.side
	for n, first := call, true; ; n = s.parent(n) {
		place, p := s.place(n), s.parent(n)
		if k := s.kind(p); k == "parenthesized_expression" || k == "condition_clause" {
			if k == "condition_clause" && s.field(n) != "value" {
				return n, false
			}
			if !strings.HasSuffix(s.kind(s.parent(p)), "_statement") {
				continue
			}
			place = s.place(p)
		}
		if truth := clangTests[place] && (place != "conditional_expression.condition" || s.child(p, "consequence") >= 0) || place == "unary_expression.argument" && s.textOf(s.child(p, "operator")) == "!" ||
			s.language.grammar == treesitter.C && (s.has(p, "&&") || s.has(p, "||")); first && h.tested && !truth {
			return n, false
		}
		first = false
		switch place {
		case "binary_expression.left", "binary_expression.right", "unary_expression.argument", "conditional_expression.condition", "conditional_expression.consequence",
			"conditional_expression.alternative", "cast_expression.value", "assignment_expression.right", "subscript_expression.index", "field_expression.argument",
			"pointer_expression.argument", "subscript_argument_list.":
		case "subscript_expression.indices", "subscript_expression.argument":
		case "argument_list.":
			if !s.clangCallee(p) {
				return n, false
			}
		case "call_expression.arguments":
		case "init_declarator.value":
			declaration := s.parent(p)
			return n, s.kind(declaration) == "declaration" && !s.has(declaration, "storage_class_specifier")
		case "return_statement.", "expression_statement.", "for_statement.condition", "for_statement.update", "for_statement.initializer", "if_statement.condition",
			"while_statement.condition", "do_statement.condition", "switch_statement.condition":
			return n, true
		default:
			return n, false
		}
	}
}

// clangQuiet tells whether nothing in an expression but the call at a leaf does
// anything before it is used.
func (h *helper) clangQuiet(whole, at int) bool {
	s := h.side
	if s.language.grammar == treesitter.CPlusPlus && h.readsTwice(at) && !s.builtIn(whole) {
		return false
	}
	for n := whole; n < int(s.tree.Nodes[whole].Next); n++ {
		around := n <= at && at < int(s.tree.Nodes[n].Next)
		if n != whole && !around && s.inTurn(s.parent(n)) {
			if p := s.parent(n); p < at && at < int(s.tree.Nodes[p].Next) {
				n = int(s.tree.Nodes[n].Next) - 1 // all of it happens before or after
				continue
			}
		}
		switch s.kind(n) {
		case "update_expression":
			if counted := s.child(n, "argument"); s.language.grammar != treesitter.C || s.kind(counted) != "identifier" || s.isGiven(at, s.declaredAt(counted)) {
				return false
			}
		case "comma_expression", "lambda_expression", "compound_statement", "co_await_expression", "new_expression", "delete_expression",
			"gnu_asm_expression", "throw_statement", "co_yield_statement", "initializer_list", "compound_literal_expression":
			return false
		case "assignment_expression":
			if !around {
				return false
			}
		case "call_expression":
			if callee := s.child(n, "function"); !around && (s.kind(callee) != "identifier" || s.declaredAt(callee) != h.object) {
				return false
			}
		}
	}
	return true
}

// inTurn tells whether a part of an expression is done when the next one begins.
// In C++ && can be somebody's function.
func (s *side) inTurn(n int) bool {
	return s.kind(n) == "conditional_expression" || s.kind(n) == "binary_expression" && s.language.grammar == treesitter.C && (s.has(n, "&&") || s.has(n, "||"))
}

// isGiven tells whether a variable is given to the call at a leaf.
func (s *side) isGiven(at int, o *object) bool {
	return o == nil || slices.ContainsFunc(s.argumentsAt(s.parent(at)), func(arg int) bool { return arg >= 0 && s.declaredAt(arg) == o })
}

// readsTwice tells whether a call gives way to an expression that reads a
// variable more often than once: it could change in between.
func (h *helper) readsTwice(at int) bool {
	read := map[*object]int{}
	for i, arg := range h.side.argumentsAt(h.side.parent(at)) {
		if arg >= 0 && i < len(h.params) {
			read[h.side.declaredAt(arg)] += h.count(h.params[i])
		}
	}
	for _, times := range read {
		if times > 1 {
			return true
		}
	}
	return false
}

// builtIn tells whether all names in an expression are functions or local
// numbers, so that no operator in it is somebody's function.
func (s *side) builtIn(whole int) bool {
	for n := whole; n < int(s.tree.Nodes[whole].Next); n++ {
		switch s.kind(n) {
		case "identifier":
			o := s.declaredAt(n)
			if o == nil || o.Kind != "function" && clangVariableType(s, o.leaf) == "" {
				return false
			}
		case "this", "field_identifier", "qualified_identifier", "user_defined_literal", "string_literal":
			return false
		}
	}
	return true
}

// clangCallee tells whether what a list of arguments is given to is surely a
// function: one of the file, or one of the standard library, whose macros see no
// more of an argument than its value.
func (s *side) clangCallee(list int) bool {
	callee := s.child(s.parent(list), "function")
	name := s.textOf(callee)
	switch s.kind(callee) {
	case "qualified_identifier":
		return strings.HasPrefix(name, "std::")
	case "identifier":
		if s.macros()[name] {
			return false
		}
		if o := s.declaredAt(callee); o != nil {
			return o.Kind == "function" && !o.conditional
		}
		return clangStandard[name] && s.language.grammar == treesitter.C
	}
	return false
}

// clangStandard are functions of C's library.
var clangStandard = setOf(strings.Fields(`printf fprintf sprintf snprintf puts fputs putchar fputc malloc calloc realloc free memcpy memmove memset memcmp memchr
	strncmp strncpy strncat strchr strrchr exit abs labs qsort fseek fread fwrite isdigit isalpha isalnum isspace isupper islower ispunct toupper tolower`)...)

// always tells whether a part of an expression reads a parameter, whatever the
// values are.
func (h *helper) always(n *tree.Node, param int) bool {
	reads := func(k *tree.Node) bool { return h.always(k, param) }
	switch kind := base(n.Kind, h.how.expression); {
	case n.Object != nil:
		return n.Object == h.params[param]
	case kind == "binary expression" && (n.Kids[1].Text == "&&" || n.Kids[1].Text == "||"):
		return reads(n.Kids[0])
	case kind == "conditional expression":
		return reads(n.Kids[0]) || reads(n.Kids[2]) && reads(n.Kids[4])
	}
	return slices.ContainsFunc(n.Kids, reads)
}

// heedFolded holds the functions that came or went to the macros of what a file
// includes: one could use the function, or be what seems to be a name of it.
func (h *headers) heedFolded(f *file, v *verdict.Verdict) *verdict.Verdict {
	for _, s := range f.sides() {
		for _, helper := range s.folded {
			name := helper.object.Name
			if macro, m := h.using(words(string(s.tree.Text)), name, name); m != nil {
				bad := verdict.Unprovenf(f.path, helper.item.line, "the macro %s of %s may use %q", macro, m.at, name)
				return &bad
			}
			for _, word := range helper.words() {
				if m := h.macros[word]; len(m) > 0 {
					bad := verdict.Unprovenf(f.path, helper.item.line, "%q, which %s has, is a macro of %s", word, name, m[0].at)
					return &bad
				}
			}
			for _, at := range helper.leaves {
				whole, _ := helper.clangWhole(s.parent(at))
				for _, arg := range s.argumentsAt(s.parent(at)) {
					if arg < 0 {
						continue
					}
					if macro, m := h.using(words(s.tree.Source(whole)), s.tree.Source(arg), s.tree.Source(arg)); m != nil {
						bad := verdict.Unprovenf(f.path, s.line(at), "the macro %s of %s may change %q", macro, m.at, s.tree.Source(arg))
						return &bad
					}
				}
			}
			if h.missing != "" {
				v.Widen(fmt.Sprintf("a macro of %q, which was not found, could use the name", h.missing))
			}
		}
	}
	return nil
}

// words are those of a helper, and of the calls of it with what is around them.
func (h *helper) words() (found []string) {
	s := h.side
	found = words(s.tree.Source(s.above(h.object.leaf, setOf("function_definition"))))
	for _, at := range h.leaves {
		whole, _ := h.clangWhole(s.parent(at))
		for n := whole; n < int(s.tree.Nodes[whole].Next); n++ {
			if k := s.kind(n); k == "identifier" && (s.place(n) == "call_expression.function" || s.parent(s.parent(n)) == s.parent(at)) {
				found = append(found, s.tree.Source(n))
			}
		}
	}
	return found
}
