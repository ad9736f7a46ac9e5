package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// declarators stand between a declaration and the name that it declares.
var declarators = setOf("pointer_declarator", "array_declarator", "init_declarator", "reference_declarator", "parenthesized_declarator",
	"function_declarator", "attributed_declarator")

func clang(grammar treesitter.Language) *language {
	l := braces(grammar, nil, nil)
	l.names = setOf("identifier", "type_identifier", "namespace_identifier")
	l.comments = setOf("comment")
	l.whole = setOf("string_literal", "char_literal", "raw_string_literal", "system_lib_string")
	l.exact = setOf("preproc_arg")
	l.splices = true
	l.opaque = func(s *side, n int) bool {
		switch s.kind(n) {
		case "preproc_def", "preproc_function_def", "preproc_call", "preproc_undef":
			return true
		}
		return false
	}
	l.spelling = func(s *side, n int, text string) string {
		if strings.HasPrefix(s.kind(n), "#") && strings.HasPrefix(text, "#") {
			return "#" + strings.TrimLeft(text[1:], " \t")
		}
		if strings.HasPrefix(s.kind(n), "preproc") {
			if text = preprocessed(text); strings.HasPrefix(text, "# ") {
				text = "#" + text[2:]
			}
			if k := s.kind(n); k == "preproc_def" || k == "preproc_function_def" {
				return macroLayout(text, s.child(n, "value") >= 0 && strings.ContainsAny(s.tree.Source(s.child(n, "value")), "({"))
			}
			return text
		}
		return text
	}
	l.optional = lists("initializer_list", "enumerator_list")
	l.fixed = func(s *side, n int) bool {
		switch s.place(n) {
		case "struct_specifier.name", "union_specifier.name", "enum_specifier.name", "class_specifier.name", "qualified_identifier.name":
			return true
		}
		return false
	}
	l.scopes = map[string]scopeKind{
		"function_definition": function, "lambda_expression": function, "compound_statement": block, "for_statement": block, "for_range_loop": block,
		"if_statement": block, "while_statement": block, "switch_statement": block, "catch_clause": block, "do_statement": block,
		"parameter_list": block, "template_declaration": block, "requires_expression": block,
	}
	l.settled = true
	if grammar == treesitter.CPlusPlus {
		l.scopes["field_declaration_list"] = class
		l.scopes["namespace_definition"] = block
	}
	l.declare = clangDeclare
	l.finish = clangFinish
	l.reserved = setOf(clangKeywords...)
	l.pinned = func(name string) string {
		if strings.HasPrefix(name, "__") || strings.ToUpper(name) == name && len(name) > 1 {
			return "it may be a macro"
		}
		return ""
	}
	clangHolds(l)
	l.inlining = clangInlining(grammar == treesitter.CPlusPlus)
	return l
}

// clangDeclare declares locals and parameters, and in C the functions and
// variables that the file keeps to itself.
func clangDeclare(s *side, n int, in *scope) {
	switch s.kind(n) {
	case "identifier":
	case "call_expression":
		clangCall(s, n)
		return
	default:
		return
	}
	top, isFunction, met := n, false, false
	for declarators[s.parentKind(top)] {
		p := s.parent(top)
		if f := s.field(top); f != "declarator" && s.kind(p) != "reference_declarator" && s.kind(p) != "parenthesized_declarator" && s.kind(p) != "attributed_declarator" {
			return // a size, an initial value
		}
		if k := s.kind(p); !met && k != "parenthesized_declarator" && k != "attributed_declarator" {
			// What is nearest to the name says what it is: a pointer to a function
			// is a variable.
			isFunction, met = k == "function_declarator", true
		}
		top = p
	}
	switch owner := s.parent(top); s.kind(owner) {
	case "parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration":
		if s.field(top) == "declarator" {
			s.parameter(n, top, in)
		}
	case "declaration":
		clangVariable(s, n, owner, in, isFunction)
	case "for_range_loop":
		if s.field(top) == "declarator" {
			s.clangAdd(in, n, "variable", s.bodyOf(owner, "body"))
		}
	case "structured_binding_declarator":
		s.clangBinding(n, owner, in)
	case "lambda_capture_initializer":
		if s.field(n) == "left" {
			s.clangAdd(in, n, "variable", s.tree.Nodes[owner].End).pin("it is declared by a capture")
		}
	case "function_definition":
		if s.language.grammar == treesitter.C && isFunction && in.parent != nil && in.parent.kind == module {
			clangTop(s, n, owner, in.parent, "function")
		}
	}
}

// clangAdd declares a name. What a scope declares twice is one thing in several
// pieces, or a choice of the preprocessor.
func (s *side) clangAdd(in *scope, n int, kind string, from uint32) *object {
	name := s.tree.Source(n)
	if known := in.names[name]; len(known) > 0 {
		s.declared[n] = known[0].object
		return known[0].object
	}
	return s.addNamed(in, n, name, kind, from)
}

// clangBinding declares one of the names that a value is taken apart into.
func (s *side) clangBinding(n, binding int, in *scope) {
	from := s.tree.Nodes[binding].End
	if loop := s.parent(binding); s.kind(loop) == "for_range_loop" || s.kind(loop) == "reference_declarator" && s.parentKind(loop) == "for_range_loop" {
		from = s.bodyOf(s.above(n, setOf("for_range_loop")), "body")
	}
	if in.region().kind == function {
		s.clangAdd(in, n, "variable", from)
	}
}

func clangVariable(s *side, n, declaration int, in *scope, isFunction bool) {
	inFunction, declarator := in.region().kind == function, s.underOf(n, declaration)
	switch {
	case s.field(declarator) != "declarator":
	case inFunction && (!isFunction || s.clangInitialised(declarator, in)):
		from := s.tree.Nodes[declarator].End
		if s.kind(declarator) == "init_declarator" {
			from = s.tree.Nodes[s.child(declarator, "declarator")].End
		}
		o := s.clangAdd(in, n, "variable", from)
		if s.hasText(declaration, "storage_class_specifier", "extern") {
			o.pin("it is declared elsewhere")
		}
	case !inFunction && s.language.grammar == treesitter.C:
		kind := "variable"
		if isFunction {
			kind = "function"
		}
		clangTop(s, n, declaration, in.around(module), kind)
	}
}

// clangInitialised tells a variable with an argument from a function with a
// parameter, which look alike: the argument is a variable of the function.
func (s *side) clangInitialised(declarator int, in *scope) bool {
	if s.language.grammar != treesitter.CPlusPlus || s.kind(declarator) != "function_declarator" || s.kind(s.child(declarator, "declarator")) != "identifier" {
		return false
	}
	for c := range s.tree.Children(max(s.child(declarator, "parameters"), 0)) {
		if s.kind(c) != "parameter_declaration" {
			continue
		}
		if name := c + 1; s.kind(name) == "type_identifier" && s.tree.Nodes[name].Next == s.tree.Nodes[c].Next {
			return s.lookup(in, s.tree.Source(name), s.tree.Nodes[name].Start) != nil
		}
	}
	return false
}

// clangTop declares a name of the file: another file can use it unless it is
// static.
func clangTop(s *side, n, declaration int, in *scope, kind string) {
	name := s.tree.Source(n)
	o := s.clangAdd(in, n, kind, 0)
	if name == "main" {
		o.pin("the program starts there")
	}
	if !s.hasText(declaration, "storage_class_specifier", "static") {
		o.share()
	}
}

// underOf is the child of above that n is in.
func (s *side) underOf(n, above int) int {
	for s.parent(n) != above {
		n = s.parent(n)
	}
	return n
}

func (s *side) hasText(n int, kind, text string) bool {
	for c := range s.tree.Children(n) {
		if s.kind(c) == kind && s.tree.Source(c) == text {
			return true
		}
	}
	return false
}

// parameter declares a parameter in its function's scope, or in the list alone
// if no body follows.
func (s *side) parameter(n, declarator int, in *scope) {
	if in.kind != block || s.kind(in.node) != "parameter_list" {
		return // of a template
	}
	to := in
	if owner := s.parent(in.node); s.kind(owner) == "function_declarator" && s.child(owner, "declarator") >= 0 && s.contains(s.child(owner, "declarator"), setOf("parameter_list")) {
		s.addNamed(in, n, s.tree.Source(n), "parameter", s.tree.Nodes[declarator].End) // of what the function returns
		return
	}
	for above := s.parent(in.node); declarators[s.kind(above)] || s.kind(above) == "function_definition" || s.kind(above) == "abstract_function_declarator" ||
		s.kind(above) == "lambda_expression" || s.kind(above) == "catch_clause"; above = s.parent(above) {
		if sc := s.scopes[above]; sc != nil {
			to = sc
			break
		}
	}
	s.clangAdd(to, n, "parameter", s.tree.Nodes[declarator].End)
}

// clangCall: what looks like a call may be a macro, and then its arguments may
// be anything.
func clangCall(s *side, n int) {
	callee := s.child(n, "function")
	if callee < 0 || s.kind(callee) != "identifier" {
		return
	}
	name := s.tree.Source(callee)
	known := name == "offsetof" || name == "container_of" || strings.Contains(name, "_entry") || strings.Contains(name, "foreach") || strings.Contains(name, "for_each")
	if known || s.macros()[name] || strings.ToUpper(name) == name && strings.ContainsFunc(name, isUpper) && !s.evaluates(name) {
		if arguments := s.child(n, "arguments"); arguments >= 0 {
			s.conceal(arguments)
		}
	}
}

func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }

// macros are the names that the file defines itself.
func (s *side) macros() set {
	if s.defined == nil {
		s.defined = set{}
		for n := range s.tree.Nodes {
			if k := s.kind(n); k == "preproc_def" || k == "preproc_function_def" {
				s.defined[s.tree.Source(s.child(n, "name"))] = true
			}
		}
	}
	return s.defined
}

func clangFinish(s *side) {
	s.clangScopes()
	if s.language.grammar == treesitter.CPlusPlus {
		s.clangNames()
		cppMember(s)
	} else {
		clangMember(s)
	}
	s.heedMacros()
	used := s.macroWords()
	for _, o := range s.declared {
		switch {
		case s.macros()[o.Name]:
			o.pin("it is a macro, too")
		case used[o.Name]:
			o.pin("a macro has that name in it")
		}
	}
}

// macroWords are the names in the macros of the file, but for their parameters.
func (s *side) macroWords() set {
	used := set{}
	for n := range s.tree.Nodes {
		value := -1
		if k := s.kind(n); k == "preproc_def" || k == "preproc_function_def" {
			value = s.child(n, "value")
		}
		if value < 0 {
			continue
		}
		own := set{}
		if parameters := s.child(n, "parameters"); parameters >= 0 {
			own = setOf(words(s.tree.Source(parameters))...)
		}
		for _, word := range words(s.tree.Source(value)) {
			if !own[word] {
				used[word] = true
			}
		}
	}
	return used
}

var clangKeywords = strings.Fields(`auto break case char const continue default do double else enum extern float for goto if inline int long
	register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false nullptr
	alignas alignof and and_eq asm bitand bitor catch char8_t char16_t char32_t class compl concept consteval constexpr constinit const_cast
	co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq operator or or_eq
	private protected public reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid typename using
	virtual wchar_t xor xor_eq override final import module typeof NULL errno stdin stdout stderr unix linux defined
	size_t ssize_t ptrdiff_t intptr_t uintptr_t charptr_t nullptr_t max_align_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t
	uint64_t char64_t`)

// preprocessed is a line of the preprocessor without comments, and with its
// white space folded: whether there is some has meaning.
func preprocessed(text string) string {
	var out strings.Builder
	text = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)
	for i := 0; i < len(text); i++ {
		c, rest := text[i], text[i:]
		switch {
		case c == '"' || c == '\'':
			end := i + 1
			for end < len(text) && text[end] != c {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			out.WriteString(text[i:end])
			i = end - 1
		case strings.HasPrefix(rest, "//"):
			i += strings.IndexByte(rest+"\n", '\n') - 1
		case strings.HasPrefix(rest, "/*"):
			out.WriteByte(' ')
			i += max(strings.Index(rest[2:], "*/"), 0) + 3
		case strings.IndexByte(space, c) >= 0:
			out.WriteByte(' ')
		default:
			out.WriteByte(c)
		}
	}
	return strings.Join(foldSpace(out.String()), " ")
}

// foldSpace splits at white space that is outside of quotes.
func foldSpace(text string) (parts []string) {
	start, quote := -1, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == ' ':
			if start >= 0 {
				parts = append(parts, text[start:i])
			}
			start = -1
			continue
		case c == '"' || c == '\'':
			quote = c
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		parts = append(parts, text[min(start, len(text)):])
	}
	return parts
}
