package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// javaProtocol are methods that the platform looks for, or that every object
// has.
var javaProtocol = setOf(strings.Fields(`main writeObject readObject readResolve writeReplace readObjectNoData finalize equals hashCode toString getClass notify
	notifyAll wait clone values valueOf ordinal name compareTo serialVersionUID serialPersistentFields length getDeclaringClass describeConstable annotationType`)...)

var javaClasses = setOf("class_body", "enum_body", "interface_body")

// javaMembers makes names of the private members of the file's classes.
func javaMembers(s *side) {
	t := javaTypes(s)
	reflects := s.speaks("reflect", "json", "gson", "objectmapper", "unsafe", "varhandle", "fieldupdater", "jackson", "moshi", "introspector") || s.hasKind("native")
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "field_declaration":
			javaField(t, n, reflects)
		case "method_declaration":
			javaMethod(t, n)
		}
	}
	s.lacks = func(sc *scope, name string) bool {
		class := s.parent(sc.node)
		return t.classes[class] && t.lacks(class, name)
	}
	t.settleHomes()
	for n := range s.tree.Nodes {
		javaUse(t, n)
	}
}

// javaClass is the scope of the class that a member stands in, and the class.
func javaClass(s *side, n int) (*scope, int) {
	body := s.above(n, javaClasses)
	if body < 0 || s.scopes[body] == nil {
		return nil, -1
	}
	return s.scopes[body], s.parent(body)
}

func javaModifier(s *side, n int, modifier string) bool {
	modifiers := s.first(n, "modifiers")
	return modifiers >= 0 && s.has(modifiers, modifier)
}

// javaSerial tells whether the fields of a class are written by their names.
func javaSerial(t *nominal, class int) bool {
	return t.some(class, func(c int) bool {
		body := t.child(c, "body")
		if body < 0 {
			return t.kind(c) != "enum_constant"
		}
		head := string(t.tree.Text[t.tree.Nodes[c].Start:t.tree.Nodes[body].Start])
		return strings.Contains(head, "Serializable") || strings.Contains(head, "Externalizable") || t.has[c]["serialVersionUID"] || t.has[c]["serialPersistentFields"] ||
			t.has[c]["writeObject()"] || t.has[c]["readObject()"] || t.has[c]["writeReplace()"] || t.has[c]["readResolve()"]
	})
}

func javaField(t *nominal, n int, reflects bool) {
	s := t.side
	in, class := javaClass(s, n)
	if in == nil {
		return
	}
	why := ""
	switch {
	case !javaModifier(s, n, "private"):
		why = "others can see a field of that name"
	case s.kind(class) == "object_creation_expression":
		why = "it is in a class without a name"
	case !javaAnnotated(s, class) || !javaAnnotated(s, n):
		why = "an annotation may look at the name"
	case reflects:
		why = "the file may find fields by their names"
	case javaSerial(t, class):
		why = "it may be written by its name"
	}
	for c := range s.tree.Children(n) {
		if s.kind(c) == "variable_declarator" {
			javaDeclare(s, in, s.child(c, "name"), "field", why)
		}
	}
}

func javaMethod(t *nominal, n int) {
	s := t.side
	in, class := javaClass(s, n)
	leaf := s.child(n, "name")
	if in == nil || leaf < 0 {
		return
	}
	why := ""
	switch {
	case !javaModifier(s, n, "private"):
		why = "others can see a method of that name"
	case !javaAnnotated(s, n), !javaAnnotated(s, class):
		why = "an annotation may look at the name"
	case javaModifier(s, n, "native"):
		why = "it is found by its name"
	}
	o := javaDeclare(s, in, leaf, "method", why)
	if s.has(class, "superclass") || s.has(class, "super_interfaces") || s.kind(class) == "object_creation_expression" || s.kind(class) == "interface_declaration" {
		o.hidden = false // a base may have another of that name
	}
}

// javaDeclare declares a member; methods of one name are one.
func javaDeclare(s *side, in *scope, leaf int, kind, why string) *object {
	name := s.tree.Source(leaf)
	key := name
	if kind == "method" {
		key = name + "()"
	}
	var o *object
	if known := in.names[key]; len(known) > 0 {
		o = known[0].object
		s.declared[leaf] = o
	} else {
		o = &object{Object: &tree.Object{Name: name, Kind: kind, Line: s.line(leaf), Reach: tree.Member}, region: s.scopes[0], in: in, member: true, hidden: kind == "method"}
		in.names[key] = append(in.names[key], &entry{object: o})
		s.declared[leaf] = o
	}
	if pins := s.spellingPins(name); pins != "" {
		o.pin(pins)
	}
	if javaProtocol[name] {
		o.pin("others look for that name")
	}
	if why != "" {
		o.pin(why)
	}
	return o
}

// javaUse finds out whose member a name is.
func javaUse(t *nominal, n int) {
	s := t.side
	switch s.kind(n) {
	case "string_literal", "string_fragment", "multiline_string_fragment":
		s.say(n)
		return
	case "identifier":
	default:
		return
	}
	if s.declared[n] != nil {
		return
	}
	name := s.tree.Source(n)
	switch s.place(n) {
	case "field_access.field":
		javaOf(t, s.child(s.parent(n), "object"), n, name)
	case "method_invocation.name":
		if receiver := s.child(s.parent(n), "object"); receiver >= 0 {
			javaOf(t, receiver, n, name+"()")
		} else if found := s.lookup(s.scopeAt(n), name+"()", s.tree.Nodes[n].Start); found != nil {
			s.declared[n] = found
		} else {
			s.loosen(n)
		}
	case "element_value_pair.key", "annotation.name", "marker_annotation.name", "scoped_identifier.name":
	default:
		if s.language.fixed(s, n) && s.parentKind(n) == "method_reference" {
			javaOf(t, s.parent(n)+1, n, name+"()")
		}
	}
}

// javaOf makes a name that of the member of a class of the file, if that is
// what its receiver has. Private members are not inherited: what the class does
// not have itself is none of the file's.
func javaOf(t *nominal, receiver, n int, key string) {
	switch of := t.typeOf(receiver); {
	case of.class == anyType:
		t.loosen(n)
	case of.class >= 0 && of.arrays == 0:
		if o := t.javaMember(of.class, key); o != nil {
			t.declared[n] = o
		}
	}
}

// javaMember is the member that a class declares under a name.
func (t *nominal) javaMember(class int, key string) *object {
	body := t.child(class, "body")
	if body < 0 || t.scopes[body] == nil {
		return nil
	}
	if known := t.scopes[body].names[key]; len(known) > 0 {
		return known[0].object
	}
	return nil
}
