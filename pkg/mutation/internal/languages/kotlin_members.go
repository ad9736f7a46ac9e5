package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

var kotlinClassNodes = setOf("class_declaration", "object_declaration", "companion_object", "object_literal", "enum_entry")

// kotlinProtocol are members that the language or its tools look for.
var kotlinProtocol = setOf(strings.Fields(`main equals hashCode toString finalize clone compareTo getClass notify notifyAll wait writeObject readObject readResolve
	writeReplace readObjectNoData serialVersionUID serialPersistentFields values valueOf entries name ordinal invoke get set contains iterator next hasNext plus minus
	times div rem inc dec not unaryPlus unaryMinus rangeTo rangeUntil getValue setValue provideDelegate copy component1 component2 component3
	println print require check error listOf mapOf setOf run let with apply also lazy repeat TODO maxOf minOf arrayOf assert buildString synchronized`)...)

// kotlinQuiet annotations do not look at the name of what they stand at.
var kotlinQuiet = setOf("Suppress", "SuppressLint", "SuppressWarnings", "Deprecated", "OptIn", "VisibleForTesting", "Nullable", "NonNull", "NotNull", "Volatile", "Throws",
	"Synchronized", "UiThread", "MainThread", "AnyThread", "ThreadConfined")

// kotlinMembers makes names of the private members of the file's classes, and
// of what is private to the file.
func kotlinMembers(s *side) {
	t := kotlinClasses(s)
	s.nominal = t
	reflects := s.speaks("reflect", "json", "gson", "moshi", "jackson", "serializ", "declaredfield", "declaredmethod", "declaredmember", "getfield", "kproperty", "unsafe")
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "property_declaration":
			if declaration := s.first(n, "variable_declaration"); declaration >= 0 {
				t.kotlinMember(n, s.first(declaration, "identifier"), "property", reflects)
			}
		case "class_parameter":
			t.kotlinMember(n, s.first(n, "identifier"), "property", reflects)
		case "function_declaration":
			t.kotlinMember(n, s.child(n, "name"), "function", reflects)
		}
	}
	t.pinShared()
	t.settleHomes()
	s.shorts = map[int]*object{}
	for n := range s.tree.Nodes {
		t.kotlinUse(n)
	}
	for _, f := range s.loose {
		if o := t.find(0, f.text); o != nil {
			o.pin("a name of the file may be used with a dot")
		}
	}
}

// kotlinMember declares a member or a name of the file, or notes that others
// can see it. The file itself stands for a class here.
func (t *nominal) kotlinMember(n, leaf int, kind string, reflects bool) {
	if leaf < 0 {
		return
	}
	class, name := 0, t.tree.Source(leaf)
	if body := t.parent(n); body != 0 {
		class = t.above(n, kotlinClassNodes)
		if kind := t.kind(body); class < 0 || kind != "class_body" && kind != "enum_class_body" && kind != "class_parameters" {
			return
		}
	}
	modifiers := t.first(n, "modifiers")
	parameter := t.kind(n) == "class_parameter"
	if modifiers < 0 || !strings.Contains(" "+t.tree.Source(modifiers)+" ", " private ") || t.kotlinReceiver(n) || parameter && !t.side.has(n, "val") && !t.side.has(n, "var") {
		t.has[class][name] = true
		return
	}
	if class == 0 && kind == "property" && (t.side.has(n, "getter") || t.side.has(n, "setter")) {
		t.has[class][name] = true
		return
	}
	o := t.member(class, leaf, kind)
	if class == 0 {
		o.member, o.Reach = false, tree.Local
		o.share()
	}
	t.kotlinPins(o, n, class, reflects)
}

func (t *nominal) kotlinPins(o *object, n, class int, reflects bool) {
	switch {
	case kotlinProtocol[o.Name] && (o.Kind == "function" || strings.HasPrefix(o.Name, "serial") || o.Name == "name" || o.Name == "ordinal" || o.Name == "entries"):
		o.pin("others look for that name")
	case !t.kotlinAnnotated(n), class != 0 && !t.kotlinAnnotated(class):
		o.pin("an annotation may look at the name")
	case t.kotlinModifier(n, "operator"), t.kotlinModifier(n, "external"), t.kotlinModifier(n, "actual"), t.kotlinModifier(n, "expect"), t.kotlinModifier(n, "override"):
		o.pin("it is known elsewhere")
	case t.side.has(n, "property_delegate"):
		o.pin("what it is delegated to gets its name")
	case reflects:
		o.pin("the file may find members by their names")
	case o.Kind == "property" && class != 0 && strings.Contains(t.kotlinHead(class), "Serializable"), o.Kind == "property" && strings.Contains(t.kotlinHead(class), "Externalizable"):
		o.pin("it may be written by its name")
	case t.kind(n) == "class_parameter" && (t.kotlinModifier(class, "data") || t.kotlinModifier(class, "value") || t.kotlinModifier(class, "inline") || t.kotlinModifier(class, "annotation")):
		o.pin("the class shows the names of its parameters")
	}
}

func (t *nominal) kotlinHead(class int) string {
	specifiers := t.first(class, "delegation_specifiers")
	if specifiers < 0 {
		return ""
	}
	return t.tree.Source(specifiers)
}

func (t *nominal) kotlinModifier(n int, word string) bool {
	modifiers := t.first(n, "modifiers")
	return modifiers >= 0 && strings.Contains(" "+t.tree.Source(modifiers)+" ", " "+word+" ")
}

// kotlinAnnotated tells whether all annotations of a declaration are known.
func (t *nominal) kotlinAnnotated(n int) bool {
	modifiers := t.first(n, "modifiers")
	if modifiers < 0 {
		return !t.side.has(n, "annotation")
	}
	for c := range t.tree.Children(modifiers) {
		if t.kind(c) != "annotation" {
			continue
		}
		if !kotlinQuiet[kotlinAnnotation(t.tree.Source(c))] {
			return false
		}
	}
	return true
}

// kotlinReceiver tells whether a function or property extends a type: in it a
// name may be that of a member of this type.
func (t *nominal) kotlinReceiver(n int) bool {
	// context(Type) in front of it is a call to the grammar.
	if t.parent(n) == 0 && t.siblingBefore(n) == "call_expression" {
		return true
	}
	for c := range t.tree.Children(n) {
		switch t.kind(c) {
		case "user_type", "nullable_type", "parenthesized_type", "function_type", "non_nullable_type", ".":
			return true
		case "function_value_parameters", "variable_declaration", "multi_variable_declaration", "identifier", "class_body", "primary_constructor":
			return false
		}
	}
	return false
}

// kotlinUse finds out whose member a name is.
func (t *nominal) kotlinUse(n int) {
	s := t.side
	switch s.kind(n) {
	case "string_literal", "multiline_string_literal":
		if !strings.Contains(s.tree.Source(n), "$") {
			s.say(n)
		}
		return
	case "string_content":
		if name := s.kotlinShort(n); name != "" {
			s.shorts[n] = t.kotlinBare(n, name, false)
		}
		return
	case "identifier":
	default:
		return
	}
	if s.declared[n] != nil {
		return
	}
	name, owner := s.tree.Source(n), s.parent(n)
	first := owner+1 == n
	switch kind := s.kind(owner); {
	case kind == "navigation_expression" && !first:
		t.kotlinOf(n, name)
	case kind == "value_argument" && s.language.fixed(s, n):
		t.kotlinNamed(n, name)
	case kind == "call_expression" && first, kotlinValues[kind], kind == "navigation_expression", kotlinSides[kind] && s.field(n) != "":
		if kind == "function_declaration" || kind == "property_declaration" && s.siblingBefore(n) != "=" {
			s.loosen(n)
		} else if o := t.kotlinBare(n, name, kind == "call_expression"); o != nil {
			s.declared[n] = o
		}
	case kind == "user_type", kind == "qualified_identifier", kind == "package_header":
	default:
		s.loosen(n)
	}
}

// kotlinValues are the kinds of nodes of which a name in them is a value,
// kotlinSides those of which a name under a field is.
var (
	kotlinValues = setOf("value_argument", "return_expression", "function_body", "property_declaration", "interpolation", "when_subject", "range_expression", "index_expression",
		"parenthesized_expression", "block", "lambda_literal", "getter", "throw_expression", "control_structure_body", "if_expression", "when_entry", "while_statement",
		"spread_expression")
	kotlinSides = setOf("binary_expression", "assignment", "unary_expression", "as_expression", "is_expression", "in_expression", "range_test")
)

// kotlinOf resolves what stands behind a dot.
func (t *nominal) kotlinOf(n int, name string) {
	access := t.parent(n)
	if before := t.siblingBefore(n); before != "." && before != "?." {
		t.loosen(n)
		return
	}
	of := t.typeOf(access + 1)
	if of.class <= 0 {
		if of.class == anyType {
			t.loosen(n)
		}
		return
	}
	if o := t.find(of.class, name); o != nil && !t.has[of.class][name] && !t.refined(of.class, name) {
		t.declared[n] = o
		return
	}
	t.loosen(n)
}

// refined tells whether a class that is made from another declares the name as
// well: where a value is known to be one of it, that is meant.
func (t *nominal) refined(class int, name string) bool {
	for c := range t.classes {
		if c != class && (t.has[c][name] || t.find(c, name) != nil) && t.some(c, func(b int) bool { return b == class }) {
			return true
		}
	}
	return false
}

// kotlinNamed resolves the name of an argument of a constructor.
func (t *nominal) kotlinNamed(n int, name string) {
	call := t.parent(t.parent(t.parent(n)))
	if t.kind(call) == "call_expression" && t.kind(call+1) == "identifier" {
		class := t.called(t.tree.Source(call+1), n).class
		if class > 0 && !t.side.contains(class, setOf("secondary_constructor")) && t.kotlinMakes(call+1) {
			if o := t.find(class, name); o != nil && len(t.homes[o]) == 1 && t.parentKind(t.homes[o][0]) == "class_parameter" {
				t.declared[n] = o
				return
			}
		}
	}
	t.loosen(n)
}

// kotlinMakes tells whether a name that is called can be nothing but a class.
func (t *nominal) kotlinMakes(n int) bool {
	name := t.tree.Source(n)
	for class, has := range t.has {
		if has[name] || t.find(class, name) != nil {
			return false
		}
	}
	return t.lookup(t.scopeAt(n), name, t.tree.Nodes[n].Start) == nil
}
