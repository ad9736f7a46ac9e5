package languages

import "strings"

// scriptProtocol are names that the language or its library looks for.
var scriptProtocol = setOf(strings.Fields(`constructor toString valueOf toJSON toLocaleString then catch finally length name prototype caller arguments apply
	call bind hasOwnProperty isPrototypeOf propertyIsEnumerable next return throw done value message stack cause handleEvent get set has deleteProperty
	ownKeys construct defineProperty getOwnPropertyDescriptor default raw index input lastIndex exec flags source inspect asymmetricMatch signal aborted
	__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__`)...)

var scriptClasses = setOf("class_declaration", "abstract_class_declaration", "class")

// scriptMembers makes names of the members that the classes of the file
// declare, where each use is known to be one.
func scriptMembers(s *side) {
	var classes []int
	for n := range s.tree.Nodes {
		if scriptClasses[s.kind(n)] && s.named(n) && s.child(n, "body") >= 0 {
			classes = append(classes, n)
		}
	}
	f := newFamilies(s, classes, scriptBase)
	for _, class := range classes {
		for c := range s.tree.Children(s.child(class, "body")) {
			scriptDeclareMember(f, class, c)
		}
	}
	for _, class := range classes {
		scriptAssigned(f, class)
	}
	for n := range s.tree.Nodes {
		scriptMemberUse(f, n)
	}
	f.settle()
}

// scriptBase is the class of the file that a class is made from, or why its
// members are not its own.
func scriptBase(f *families, class int) (own int, why string) {
	s := f.side
	if s.has(class, "decorator") || s.parentKind(class) == "export_statement" && s.has(s.parent(class), "decorator") {
		return -1, "a decorator may look at the members"
	}
	heritage := s.first(class, "class_heritage")
	if heritage < 0 {
		return -1, ""
	}
	if s.has(heritage, "implements_clause") {
		f.open[class] = "an interface that the class implements may have it"
	}
	base := s.first(heritage, "identifier")
	if extends := s.first(heritage, "extends_clause"); extends >= 0 {
		base = s.child(extends, "value")
	} else if f.open[class] != "" {
		return -1, ""
	}
	if own := f.scriptClassOf(base); own >= 0 {
		return own, ""
	}
	return -1, "the class is made from one that is declared elsewhere"
}

// scriptPrivate tells whether TypeScript keeps a member to its class: no
// interface can have it.
func scriptPrivate(s *side, n int) bool {
	modifier := s.first(n, "accessibility_modifier")
	return modifier >= 0 && s.tree.Source(modifier) == "private"
}

// scriptClassOf is the class of the file that an identifier means, or -1.
func (f *families) scriptClassOf(n int) int {
	s := f.side
	if n < 0 || s.kind(n) != "identifier" {
		return -1
	}
	return f.scriptClassIn(s.lookup(s.scopeAt(n), s.tree.Source(n), 0))
}

// scriptClassIn is the class that an object stands for, or -1.
func (f *families) scriptClassIn(o *object) int {
	s := f.side
	if o == nil || o.Kind != "class" {
		return -1
	}
	if homes := f.homes[o]; len(homes) == 1 && scriptClasses[s.parentKind(homes[0])] {
		return s.parent(homes[0])
	}
	return -1
}

// scriptMemberName is the leaf with the name of a member, and the name that is
// it among those of its class.
func scriptMemberName(s *side, n int) (leaf int, name string) {
	leaf = s.child(n, "name")
	if leaf < 0 {
		leaf = s.child(n, "property")
	}
	if leaf < 0 || s.kind(leaf) != "property_identifier" {
		return -1, ""
	}
	name = s.tree.Source(leaf)
	if s.has(n, "static") {
		name = "static " + name
	}
	return leaf, name
}

func scriptDeclareMember(f *families, class, n int) {
	s, kind := f.side, "method"
	switch s.kind(n) {
	case "method_definition", "method_signature", "abstract_method_signature":
	case "public_field_definition", "field_definition":
		kind = "field"
	default:
		return
	}
	leaf, name := scriptMemberName(s, n)
	if leaf < 0 {
		return
	}
	o := f.declare(class, leaf, name, kind)
	if why := f.openOf(class); why != "" && !scriptPrivate(s, n) {
		o.pin(why)
	}
	if scriptProtocol[o.Name] || strings.HasPrefix(o.Name, "$") {
		o.pin("others look for that name")
	}
	before, _ := s.siblings(n)
	if s.has(n, "decorator") || s.kind(before) == "decorator" || s.has(n, "declare") || s.has(n, "override") {
		o.pin("it is known elsewhere")
	}
}

// scriptAssigned declares the fields that a constructor sets.
func scriptAssigned(f *families, class int) {
	s := f.side
	for c := range s.tree.Children(s.child(class, "body")) {
		if leaf, name := scriptMemberName(s, c); leaf < 0 || name != "constructor" {
			continue
		}
		for n := c; n < int(s.tree.Nodes[c].Next); n++ {
			if s.kind(n) != "member_expression" || s.place(n) != "assignment_expression.left" || s.kind(s.child(n, "object")) != "this" {
				continue
			}
			leaf := s.child(n, "property")
			if at, static := s.scriptThis(n); at != class || static || s.kind(leaf) != "property_identifier" || f.use(class, leaf, s.tree.Source(leaf)) {
				continue
			}
			o := f.declare(class, leaf, s.tree.Source(leaf), "field")
			if scriptProtocol[o.Name] {
				o.pin("others look for that name")
			}
			if why := f.openOf(class); why != "" {
				o.pin(why)
			}
		}
	}
}

// scriptThis is the class that `this` is of at a place, and whether it is the
// class itself; -1 if it is not known.
func (s *side) scriptThis(n int) (class int, static bool) {
	for child, p := n, s.parent(n); p >= 0; child, p = p, s.parent(p) {
		switch s.kind(p) {
		case "function_declaration", "function_expression", "generator_function", "generator_function_declaration", "decorator", "computed_property_name",
			"class_heritage", "internal_module", "module":
			return -1, false
		case "method_definition", "public_field_definition", "field_definition", "class_static_block":
			if s.parentKind(p) != "class_body" || s.field(child) == "name" || s.field(child) == "property" {
				return -1, false
			}
			return s.parent(s.parent(p)), s.has(p, "static") || s.kind(p) == "class_static_block"
		}
	}
	return -1, false
}

// scriptMemberUse finds out whose member a name is.
func scriptMemberUse(f *families, n int) {
	s := f.side
	switch s.kind(n) {
	case "string", "template_string":
		s.say(n)
		if s.kind(n) == "string" && s.parentKind(n) == "method_definition" {
			s.loosen(n)
		}
	case "this":
		scriptSelf(f, n)
	case "shorthand_property_identifier", "shorthand_property_identifier_pattern":
		s.loosen(n)
	case "property_identifier":
		if s.declared[n] != nil {
			return
		}
		if !scriptKnownUse(f, n) {
			s.loosen(n)
		}
	case "accessibility_modifier", "readonly":
		// A parameter that declares a member.
		if p := s.parent(n); s.kind(p) == "required_parameter" || s.kind(p) == "optional_parameter" {
			if name := s.child(p, "pattern"); name >= 0 {
				s.loosen(name)
			}
		}
	case "for_in_statement":
		if operator := s.child(n, "operator"); operator < 0 || s.tree.Source(operator) != "of" {
			f.noFields("the file runs over the names of members")
		}
	case "spread_element", "rest_pattern":
		if p := s.parentKind(n); p == "object" || p == "object_pattern" || strings.HasPrefix(p, "jsx") {
			f.noFields("the file copies members by their names")
		}
	case "identifier":
		scriptReflects(f, n)
	}
}

func (f *families) noFields(why string) {
	for _, fam := range f.of {
		fam.fields = why
	}
}

func (f *families) none(why string) {
	for _, fam := range f.of {
		fam.fixed = why
	}
}

// scriptKnownUse: this.name, super.name and Class.name.
func scriptKnownUse(f *families, n int) bool {
	s := f.side
	access := s.parent(n)
	if s.kind(access) != "member_expression" || s.field(n) != "property" {
		return false
	}
	name, object := s.tree.Source(n), s.child(access, "object")
	switch s.kind(object) {
	case "this", "super":
		class, static := s.scriptThis(access)
		if static {
			name = "static " + name
		}
		return class >= 0 && f.use(class, n, name)
	case "identifier":
		if class := f.scriptInstance(object); class >= 0 {
			return f.use(class, n, name)
		}
		class := f.scriptClassOf(object)
		return class >= 0 && f.use(class, n, "static "+name)
	}
	return false
}

// scriptInstance is the class of the file of which a variable holds objects:
// the class is its type, or it is never set to anything but a new object. -1 if
// it is not known.
func (f *families) scriptInstance(n int) int {
	s := f.side
	o := s.lookup(s.scopeAt(n), s.tree.Source(n), 0)
	if o == nil || o.Kind != "parameter" && o.Kind != "variable" || len(f.homes[o]) != 1 {
		return -1
	}
	declaration := s.parent(f.homes[o][0])
	switch s.kind(declaration) {
	case "required_parameter", "variable_declarator":
	default:
		return -1
	}
	if annotation := s.child(declaration, "type"); annotation >= 0 {
		named := annotation + 2
		if s.kind(annotation) != "type_annotation" || s.kind(named) != "type_identifier" || s.tree.Nodes[named].Next != s.tree.Nodes[annotation].Next {
			return -1
		}
		return f.scriptClassIn(s.lookup(s.scopeAt(named), s.tree.Source(named), 0))
	}
	value := s.child(declaration, "value")
	if s.kind(declaration) != "variable_declarator" || s.kind(value) != "new_expression" || s.tree.Source(max(s.child(s.parent(declaration), "kind"), 0)) != "const" {
		return -1
	}
	class := f.scriptClassOf(s.child(value, "constructor"))
	if class < 0 || f.scriptReturnsElse(class) {
		return -1
	}
	return class
}

// scriptReturnsElse tells whether a constructor returns another object.
func (f *families) scriptReturnsElse(class int) bool {
	s := f.side
	for c := range s.tree.Children(s.child(class, "body")) {
		if name := s.child(c, "name"); name >= 0 && s.tree.Source(name) == "constructor" && s.contains(c, setOf("return_statement")) {
			return true
		}
	}
	heritage := s.first(class, "class_heritage")
	return heritage >= 0 && !(s.has(heritage, "implements_clause") && !s.has(heritage, "extends_clause"))
}

// scriptSelf looks at what is done with `this` as a whole.
func scriptSelf(f *families, n int) {
	s := f.side
	class, _ := s.scriptThis(n)
	if class < 0 {
		return
	}
	fam := f.of[class]
	switch s.place(n) {
	case "subscript_expression.object":
		if index := s.child(s.parent(n), "index"); s.kind(index) != "string" && s.kind(index) != "number" {
			fam.fixed = "the class finds members by their names"
		}
	case "spread_element.", "for_in_statement.right":
		fam.fields = "the class runs over the names of its members"
	}
}

// scriptReflects: these find members by their names.
func scriptReflects(f *families, n int) {
	s := f.side
	if s.place(n) != "member_expression.object" {
		return
	}
	method := s.tree.Source(s.child(s.parent(n), "property"))
	switch s.tree.Source(n) {
	case "Reflect":
		f.none("the file finds members by their names")
	case "Object":
		switch method {
		case "keys", "values", "entries", "assign", "fromEntries":
			f.noFields("the file finds members by their names")
		case "getOwnPropertyNames", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "defineProperty", "defineProperties":
			f.none("the file finds members by their names")
		}
	case "JSON", "util":
		f.noFields("the file writes objects with the names of their members")
	}
}
