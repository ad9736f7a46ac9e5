package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// script is JavaScript and its typed kin.
func script(grammar treesitter.Language) *language {
	return &language{
		grammar:  grammar,
		comments: setOf("comment"),
		kept:     scriptKept,
		whole:    setOf("string", "regex", "number"),
		spelling: scriptSpelling,
		exact:    setOf("template_string", "template_literal_type", "jsx_text"),
		optional: scriptOptional,
		inner:    scriptInner,
		rewrite:  scriptRewrite,
		newlines: setOf("return_statement", "throw_statement", "break_statement", "continue_statement",
			"yield_expression", "update_expression", "arrow_function", "function_declaration", "function_expression",
			"method_definition", "public_field_definition", "field_definition", "abstract_class_declaration",
			"type_alias_declaration", "interface_declaration", "internal_module", "module", "ambient_declaration", "non_null_expression"),
		foldsLineEnds: true,
		names: setOf("identifier", "type_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern",
			"private_property_identifier"),
		fixed: scriptFixed,
		scopes: map[string]scopeKind{
			"function_declaration": function, "function_expression": function, "arrow_function": function, "method_definition": function,
			"generator_function_declaration": function, "generator_function": function, "class_static_block": function,
			"function_signature": function, "method_signature": function, "abstract_method_signature": function, "call_signature": function,
			"construct_signature": function, "function_type": function, "constructor_type": function, "internal_module": function, "module": function,
			"statement_block": block, "for_statement": block, "for_in_statement": block, "catch_clause": block, "switch_body": block,
			"class_declaration": block, "class": block, "abstract_class_declaration": block, "class_body": block, "enum_body": block,
			"interface_declaration": block, "type_alias_declaration": block,
		},
		declare:  scriptDeclare,
		finish:   scriptFinish,
		inlining: scriptInlining(),
		holds:    scriptHolds,
		order:    scriptOrder,
		leads:    scriptLeads,
		reserved: setOf("arguments", "eval", "undefined", "NaN", "Infinity", "async", "await", "yield", "let", "static", "of", "this", "super", "constructor", "require", "module", "exports", "default", "accessor", "using",
			"implements", "interface", "package", "private", "protected", "public", "void", "declare", "abstract", "namespace",
			"keyof", "infer", "asserts", "readonly", "satisfies", "global", "override", "React", "h", "then",
			"break", "case", "catch", "class", "const", "continue", "debugger", "delete", "do", "else", "enum", "export", "extends", "false",
			"finally", "for", "function", "if", "import", "in", "instanceof", "new", "null", "return", "switch", "throw", "true", "try",
			"typeof", "var", "while", "with"),
		dynamic: map[string]reach{"eval": anywhere},
		pinned: func(name string) string {
			if strings.Contains(name, `\`) {
				return "the name is written with an escape"
			}
			return ""
		},
	}
}

// scriptKept comments are read by compilers and bundlers.
func scriptKept(s *side, n int, text string) bool {
	if strings.HasPrefix(text, "<!--") || strings.HasPrefix(text, "-->") || strings.HasPrefix(text, "///") && strings.Contains(text, "<") {
		return true
	}
	for _, mark := range []string{"@ts-", "@jsx", "@flow", "@noflow", "webpack", "@vite", "PURE__", "NO_SIDE_EFFECTS", "sourceMappingURL", "sourceURL", "@license", "@preserve", "@cc_on", "turbopack"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

var scriptLists = setOf("arguments", "formal_parameters", "array", "object", "array_pattern", "object_pattern", "named_imports",
	"export_clause", "enum_body", "type_parameters", "tuple_type")

func scriptOptional(s *side, n int) bool {
	switch kind := s.kind(n); kind {
	case ";":
		return s.parentKind(n) != "for_statement" && s.parentKind(n) != "empty_statement" && !scriptModifies(s, n)
	case ",":
		parent := s.parentKind(n)
		return (parent == "object_type" || parent == "interface_body") && !scriptModifies(s, n) || s.trailing(n, scriptLists)
	case "arguments":
		return s.parentKind(n) == "new_expression" && s.parts(n) == 0
	case "jsx_text":
		return jsxText(s.tree.Source(n)) == "" && !besideEntity(s, n)
	case "empty_statement":
		parent := s.parentKind(n)
		// After an empty statement a text is no directive.
		_, after := s.siblings(n)
		text := after >= 0 && s.kind(after) == "expression_statement" && s.kind(after+1) == "string"
		return !text && (parent == "program" || parent == "statement_block")
	}
	return false
}

// scriptModifies tells whether the semicolon n keeps a field from being a
// modifier of what follows: get; is a field, and get before a method is not.
func scriptModifies(s *side, n int) bool {
	parent := s.parentKind(n)
	if parent != "class_body" && parent != "interface_body" && parent != "object_type" {
		return false
	}
	before, after := s.siblings(n)
	if before < 0 {
		return false
	}
	if after >= 0 && s.kind(after) == "call_signature" {
		return true // or it is a method
	}
	parts := words(s.tree.Source(before))
	return len(parts) > 0 && scriptModifiers[parts[len(parts)-1]]
}

var scriptModifiers = setOf("get", "set", "static", "async", "accessor", "readonly", "declare", "abstract", "override", "public", "private", "protected")

// besideEntity tells whether a text goes on in an entity: it is one text for
// JSX, whose line breaks are a space.
func besideEntity(s *side, n int) bool {
	before, after := s.siblings(n)
	return s.kind(before) == "html_character_reference" || s.kind(after) == "html_character_reference"
}

// scriptInner takes parentheses off where they only group: what they hold is
// grouped by the tree as well.
func scriptInner(s *side, n int) int {
	switch s.kind(n) {
	case "union_type", "intersection_type":
		// A leading separator. Two in a row are an error for TypeScript, and none for the parser.
		if before, _ := s.siblings(n); before >= 0 && s.parentKind(n) == s.kind(n) {
			return -1
		}
		if first := n + 1; !s.named(first) && int(s.tree.Nodes[first].Next) < int(s.tree.Nodes[n].Next) {
			if second := int(s.tree.Nodes[first].Next); int(s.tree.Nodes[second].Next) == int(s.tree.Nodes[n].Next) {
				return second
			}
		}
	case "parenthesized_expression":
		inner := s.sole(n)
		if inner < 0 || !scriptGroups(s, n, inner) {
			return -1
		}
		return inner
	}
	return -1
}

func scriptGroups(s *side, n, inner int) bool {
	parent, field := s.parentKind(n), s.field(n)
	switch parent {
	case "expression_statement":
		// A text alone is a directive, and a function alone a declaration.
		return s.kind(inner) == "call_expression" || s.kind(inner) == "assignment_expression" || s.kind(inner) == "await_expression"
	case "export_statement", "extends_clause", "class_heritage", "decorator", "for_in_statement", "for_statement", "new_expression", "unary_expression":
		return false
	case "member_expression", "subscript_expression", "call_expression", "non_null_expression":
		// The reach of ?. ends at a parenthesis.
		if s.contains(inner, setOf("optional_chain", "?.")) {
			return false
		}
		return field != "function" || s.kind(inner) != "identifier" && s.kind(inner) != "sequence_expression"
	case "if_statement", "while_statement", "do_statement", "switch_statement", "with_statement":
		return false // the grammar's own
	}
	if field == "left" && (parent == "assignment_expression" || parent == "augmented_assignment_expression") {
		return false
	}
	// Parsers of the language refuse what this one takes without them.
	if parent == "update_expression" || mixesNullish(s, n, inner) {
		return false
	}
	return !s.contains(inner, setOf("in")) || s.above(n, setOf("for_statement", "for_in_statement")) < 0
}

// mixesNullish tells whether ?? and another operator of logic meet.
func mixesNullish(s *side, n, inner int) bool {
	operator := func(node int) string {
		if s.kind(node) != "binary_expression" {
			return ""
		}
		return s.tree.Source(s.child(node, "operator"))
	}
	outside, within := operator(s.parent(n)), operator(inner)
	return outside != "" && within != "" && outside != within && (outside == "??" || within == "??")
}

// scriptSpelling writes texts with one kind of quotes, and keys without.
func scriptSpelling(s *side, n int, text string) string {
	if s.kind(n) != "string" || len(text) < 2 {
		return text
	}
	body := text[1 : len(text)-1]
	if s.parentKind(n) == "jsx_attribute" {
		if strings.ContainsAny(body, `"'\`) {
			return text
		}
		return body
	}
	if !strings.Contains(body, `\`) {
		return "=" + body
	}
	var out strings.Builder
	out.WriteByte('=')
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' && i+1 < len(body) {
			if c := body[i+1]; c != '\'' && c != '"' {
				out.WriteString(body[i : i+2])
				i++
				continue
			}
			i++
		}
		out.WriteByte(body[i])
	}
	return out.String()
}

// scriptRewrite gives shorthands their long form.
func scriptRewrite(b *builder, n int, field string) *tree.Node {
	switch kind := b.kind(n); kind {
	case "shorthand_property_identifier":
		if b.tree.Source(n) == "__proto__" {
			return nil // in the long form it is the prototype
		}
		return b.longhand(n, "pair", "identifier")
	case "shorthand_property_identifier_pattern":
		if b.parentKind(n) == "object_assignment_pattern" {
			return nil
		}
		return b.longhand(n, "pair pattern", "identifier")
	case "object_assignment_pattern":
		return b.defaulted(n)
	case "import_specifier":
		return b.importedName(n, field)
	case "string":
		if text := b.tree.Source(n); b.place(n) == "property_signature.name" && len(text) > 2 && isPlainName(text[1:len(text)-1]) {
			return b.leaf(n, label("property_identifier", field), text[1:len(text)-1])
		}
		if text := b.tree.Source(n); (b.place(n) == "pair.key" || b.place(n) == "pair_pattern.key") && len(text) > 2 && (isPlainName(text[1:len(text)-1]) || isIndex(text[1:len(text)-1])) {
			return b.leaf(n, label("property_identifier", field), text[1:len(text)-1])
		}
	case "number":
		if text := b.tree.Source(n); b.place(n) == "property_signature.name" && len(text) > 2 && isPlainName(text[1:len(text)-1]) {
			return b.leaf(n, label("property_identifier", field), text[1:len(text)-1])
		}
		if text := b.tree.Source(n); (b.place(n) == "pair.key" || b.place(n) == "pair_pattern.key") && isIndex(text) {
			return b.leaf(n, label("property_identifier", field), text)
		}
	case "binary_expression":
		return b.chain(n, field)
	case "jsx_text":
		if besideEntity(b.side, n) {
			return nil
		}
		return &tree.Node{Kind: "jsx text", Text: jsxText(b.tree.Source(n)), Literal: true, Line: b.line(n)}
	case "identifier":
		if b.place(n) == "arrow_function.parameter" {
			return b.loneParameter(n)
		}
	}
	return nil
}

// jsxText folds lines as JSX does.
func jsxText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var parts []string
	for i, line := range lines {
		if i > 0 {
			line = strings.TrimLeft(line, " \t")
		}
		if i < len(lines)-1 {
			line = strings.TrimRight(line, " \t")
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

func isPlainName(name string) bool {
	for i, r := range name {
		if r > 127 || !isLetter(r) && r != '_' && r != '$' || i == 0 && r >= '0' && r <= '9' {
			return false
		}
	}
	return name != "" && name != "constructor" && name != "__proto__"
}

// isIndex tells whether a number and a text are the same key.
func isIndex(text string) bool {
	if text == "" || len(text) > 15 || text[0] == '0' && len(text) > 1 {
		return false
	}
	return strings.Trim(text, "0123456789") == ""
}

// chain builds a && (b && c) as a && b && c, and so with ||.
func (b *builder) chain(n int, field string) *tree.Node {
	operator := b.tree.Source(b.child(n, "operator"))
	if operator != "&&" && operator != "||" {
		return nil
	}
	made := &tree.Node{Kind: label("binary_expression", field), Text: operator, Literal: true, Line: b.line(n)}
	if !b.operands(n, operator, made) {
		return nil
	}
	return made
}

// operands adds those of a chain, or tells that a comment with meaning is
// between them.
func (b *builder) operands(n int, operator string, made *tree.Node) bool {
	for c := range b.tree.Children(n) {
		if b.language.comments[b.kind(c)] {
			if b.language.kept(b.side, c, b.tree.Source(c)) {
				return false
			}
			continue
		}
		if b.field(c) == "operator" {
			continue
		}
		part := c
		for inner := b.language.inner(b.side, part); inner >= 0; inner = b.language.inner(b.side, part) {
			part = inner
		}
		if b.kind(part) == "binary_expression" && b.tree.Source(b.child(part, "operator")) == operator {
			if !b.operands(part, operator, made) {
				return false
			}
			continue
		}
		made.Kids = append(made.Kids, b.node(c, "operand"))
	}
	return true
}

// longhand builds {name} as {name: name}.
func (b *builder) longhand(n int, kind, leaf string) *tree.Node {
	value := b.name(n, "")
	value.Kind = label(leaf, "value")
	key := b.leaf(n, "key property identifier", b.tree.Source(n))
	return &tree.Node{Kind: kind, Literal: true, Line: b.line(n), Kids: []*tree.Node{key, token(":", b.line(n)), value}}
}

// defaulted builds {name = 1} as {name: name = 1}.
func (b *builder) defaulted(n int) *tree.Node {
	left := b.child(n, "left")
	if b.kind(left) != "shorthand_property_identifier_pattern" {
		return nil
	}
	made := b.longhand(left, "pair pattern", "identifier")
	made.Kids[2].Kind = label("identifier", "left")
	inner := &tree.Node{Kind: label("assignment_pattern", "value"), Literal: true, Line: b.line(n), Kids: []*tree.Node{made.Kids[2]}}
	for c := range b.tree.Children(n) {
		if c != left {
			if part := b.node(c, b.field(c)); part != nil {
				inner.Kids = append(inner.Kids, part)
			}
		}
	}
	made.Kids[2] = inner
	return made
}

// loneParameter builds a => b as (a) => b.
func (b *builder) loneParameter(n int) *tree.Node {
	defer func(sc *scope) { b.scope = sc }(b.scope)
	name := b.name(n, "")
	if b.language.grammar != treesitter.JavaScript {
		name.Kind = label("identifier", "pattern")
		name = &tree.Node{Kind: "required parameter", Literal: true, Line: name.Line, Kids: []*tree.Node{name}}
	}
	line := b.line(n)
	open, close := &tree.Node{Kind: "(", Text: "(", Line: line}, &tree.Node{Kind: ")", Text: ")", Line: line}
	return &tree.Node{Kind: label("formal_parameters", "parameters"), Literal: true, Line: line, Kids: []*tree.Node{open, name, close}}
}
