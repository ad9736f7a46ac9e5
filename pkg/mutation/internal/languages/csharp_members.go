package languages

import "strings"

// csharpProtocol are members that the language or its tools look for.
var csharpProtocol = setOf(strings.Fields(`Main Dispose DisposeAsync GetEnumerator GetAsyncEnumerator MoveNext MoveNextAsync Current Add Deconstruct GetAwaiter GetResult
	IsCompleted OnCompleted GetHashCode Equals ToString Finalize Invoke Slice Length Count Item Select SelectMany Where Join GroupJoin OrderBy OrderByDescending ThenBy
	ThenByDescending GroupBy Cast MemberwiseClone GetType ReferenceEquals PrintMembers EqualityContract GetPinnableReference Configure ConfigureServices Application_Start`)...)

// csharpCalled are spellings that tools look for.
func csharpCalled(name string) bool {
	for _, prefix := range []string{"op_", "get_", "set_", "add_", "remove_", "ShouldSerialize", "Reset", "Page_", "Application_", "Session_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return csharpProtocol[name]
}

var csharpTypes = setOf("class_declaration", "struct_declaration", "record_declaration", "interface_declaration", "enum_declaration", "record_struct_declaration")

// csharpMembers makes names of the private members of the file's classes.
func csharpMembers(s *side) {
	t := csharpClasses(s)
	reflects := s.speaks("reflect", "getfield", "getmethod", "getpropert", "getmember", "bindingflags", "json", "serializ", "datacontract", "binaryformatter",
		"expression<", "dynamic", "marshal", "typedescriptor", "getruntime") || s.hasName("Expression")
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "field_declaration":
			for i := n; i < int(s.tree.Nodes[n].Next); i++ {
				if s.place(i) == "variable_declarator.name" && s.parent(s.parent(s.parent(i))) == n {
					t.csharpMember(n, i, "field", reflects)
				}
			}
		case "property_declaration":
			t.csharpMember(n, s.child(n, "name"), "property", reflects)
		case "method_declaration":
			t.csharpMember(n, s.child(n, "name"), "method", reflects)
		}
	}
	t.pinShared()
	t.settleHomes()
	for n := range s.tree.Nodes {
		t.csharpUse(n)
	}
}

func (s *side) hasName(name string) bool {
	for n := range s.tree.Nodes {
		if s.kind(n) == "identifier" && s.tree.Source(n) == name {
			return true
		}
	}
	return false
}

// csharpMember declares a member, or notes that others can see it.
func (t *nominal) csharpMember(n, leaf int, kind string, reflects bool) {
	class := t.above(n, csharpTypes)
	if class < 0 || leaf < 0 {
		return
	}
	name := t.tree.Source(leaf)
	// What stands in a #if may be there or not.
	if !t.csharpPrivate(class, n) || t.parent(n) != t.child(class, "body") {
		t.has[class][name] = true
		return
	}
	o := t.member(class, leaf, kind)
	switch {
	case csharpCalled(name):
		o.pin("others look for that name")
	case t.side.has(n, "attribute_list"), t.side.has(class, "attribute_list"):
		o.pin("an attribute may look at the name")
	case t.csharpModifier(class, "partial"):
		o.pin("another file may have more of the class")
	case reflects:
		o.pin("the file may find members by their names")
	case kind == "method" && t.some(class, func(c int) bool { return t.open[c] && !t.faces[c] }):
		o.pin("the class is made from one that is declared elsewhere")
	case kind != "field" && t.csharpAsks(n):
		o.pin("what it calls may ask for its name")
	case t.csharpModifier(n, "extern"), t.csharpModifier(n, "partial"), t.csharpModifier(n, "new"), t.csharpModifier(n, "virtual"):
		o.pin("it is known elsewhere")
	}
}

func (t *nominal) csharpModifier(n int, word string) bool {
	for c := range t.tree.Children(n) {
		if t.kind(c) == "modifier" && t.tree.Source(c) == word {
			return true
		}
	}
	return false
}

// csharpPrivate members are known to the text of their class alone.
func (t *nominal) csharpPrivate(class, n int) bool {
	kind := t.kind(class)
	if kind == "interface_declaration" || kind == "enum_declaration" || t.side.has(n, "explicit_interface_specifier") {
		return false
	}
	for _, word := range []string{"public", "internal", "protected", "file", "override", "abstract"} {
		if t.csharpModifier(n, word) {
			return false
		}
	}
	return true
}

// csharpAsks tells whether a property, or a method that may be called with
// `this` by others, calls what the file does not declare: that may be given the
// name of who calls it.
func (t *nominal) csharpAsks(n int) bool {
	method := t.kind(n) == "method_declaration"
	for i := n; i < int(t.tree.Nodes[n].Next); i++ {
		if method && t.kind(i) == "parameter" && strings.HasPrefix(t.tree.Source(i), "this ") {
			return true
		}
		if !method && t.kind(i) == "invocation_expression" && t.field(i) != "value" {
			return true
		}
	}
	return false
}

// csharpUse finds out whose member a name is.
func (t *nominal) csharpUse(n int) {
	s := t.side
	switch s.kind(n) {
	case "string_literal", "verbatim_string_literal", "raw_string_literal", "string_content":
		s.say(n)
		return
	case "identifier":
	default:
		return
	}
	if s.declared[n] != nil {
		return
	}
	name, leaf := s.tree.Source(n), n
	if s.parentKind(n) == "generic_name" && s.parent(n)+1 == n {
		leaf = s.parent(n)
	}
	switch place := s.place(leaf); {
	case place == "member_access_expression.name":
		t.csharpOf(t.typeOf(s.child(s.parent(leaf), "expression")), n, name)
	case place == "member_binding_expression.name":
		t.csharpOf(t.csharpBound(leaf), n, name)
	case place == "assignment_expression.left" && s.parentKind(s.parent(leaf)) == "initializer_expression":
		of := typed{class: anyType}
		if made := s.parent(s.parent(s.parent(leaf))); s.kind(made) == "object_creation_expression" {
			of = t.typeOf(made)
		}
		t.csharpOf(of, n, name)
		if s.declared[n] == nil {
			s.loosen(n)
		}
	case csharpExpressions[place] || csharpParts[s.parentKind(leaf)]:
		if o := t.csharpBare(leaf, name); o != nil {
			s.declared[n] = o
		}
	default:
		s.loosen(n)
	}
}

// csharpOf makes a name that of the member of a class, if its receiver is one.
func (t *nominal) csharpOf(of typed, n int, name string) {
	if of.class >= 0 && of.arrays == 0 {
		if o := t.find(of.class, name); o != nil && !t.has[of.class][name] {
			t.declared[n] = o
			return
		}
	}
	// A private member can be used of what is made from its class, and nowhere
	// else than in its class.
	for class := range t.own {
		at := t.tree.Nodes[n].Start
		if t.find(class, name) != nil && (of.class == anyType || at >= t.tree.Nodes[class].Start && at < t.tree.Nodes[class].End) {
			t.loosen(n)
			return
		}
	}
	if of.class == anyType {
		t.loosen(n)
	}
}

// csharpBound is the type of what a ?. is about.
func (t *nominal) csharpBound(n int) typed {
	access := t.parent(t.parent(n))
	if t.kind(access) != "conditional_access_expression" {
		return typed{class: anyType}
	}
	condition := t.child(access, "condition")
	if kind := t.kind(condition); kind != "identifier" && kind != "this" && kind != "member_access_expression" {
		return typed{class: anyType}
	}
	return t.typeOf(condition)
}

// csharpExpressions and csharpParts are where a name stands for a value.
var (
	csharpExpressions = setOf("binary_expression.left", "binary_expression.right", "assignment_expression.left", "assignment_expression.right", "invocation_expression.function",
		"member_access_expression.expression", "element_access_expression.expression", "if_statement.condition", "while_statement.condition", "do_statement.condition",
		"for_statement.initializer", "for_statement.condition", "for_statement.update", "switch_statement.value", "lambda_expression.body",
		"conditional_access_expression.condition", "cast_expression.value", "is_pattern_expression.expression", "as_expression.left", "is_expression.left",
		"foreach_statement.right", "property_declaration.value", "variable_declarator.", "argument.", "conditional_expression.condition",
		"conditional_expression.consequence", "conditional_expression.alternative")
	csharpParts = setOf("parenthesized_expression", "prefix_unary_expression", "postfix_unary_expression", "return_statement", "interpolation",
		"arrow_expression_clause", "await_expression", "initializer_expression", "lock_statement", "yield_statement", "throw_statement", "ref_expression")
)

// csharpBare is the member that a name without a receiver stands for.
func (t *nominal) csharpBare(n int, name string) *object {
	at := t.tree.Nodes[n].Start
	for p := t.parent(n); p >= 0; p = t.parent(p) {
		switch {
		case t.localIn(p, name, at):
			return nil
		case !t.classes[p]:
		case t.find(p, name) != nil && !t.has[p][name]:
			return t.find(p, name)
		case t.inherits(p), t.some(p, func(c int) bool { return t.has[c][name] || t.find(c, name) != nil }):
			return nil
		}
	}
	return nil
}
