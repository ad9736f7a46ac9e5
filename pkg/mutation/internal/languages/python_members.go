package languages

import "strings"

// pythonKnownMembers are those of the bases that a class of the file may have.
var pythonKnownMembers = setOf(strings.Fields("args with_traceback add_note mro register name value message setUp tearDown")...)

// pythonPlainBases have no other members, and tell nobody of the classes that
// are made from them.
var pythonPlainBases = setOf("object", "ABC", "Generic", "Exception", "ValueError", "TypeError", "RuntimeError", "NotImplementedError")

// pythonMembers makes names of the members that the classes of the file
// declare, where each use is known to be one.
func pythonMembers(s *side) {
	var classes []int
	for n := range s.tree.Nodes {
		if s.kind(n) == "class_definition" {
			classes = append(classes, n)
		}
	}
	f := newFamilies(s, classes, pythonBase)
	for leaf, o := range s.declared {
		if o.in.kind == class && s.kind(o.in.node) == "class_definition" {
			pythonDeclareMember(f, o.in, leaf, o)
		}
	}
	for n := range s.tree.Nodes {
		if s.place(n) == "assignment.left" || s.place(n) == "augmented_assignment.left" || s.parentKind(n) == "pattern_list" || s.parentKind(n) == "tuple_pattern" {
			pythonAssigned(f, n)
		}
	}
	for n := range s.tree.Nodes {
		pythonMemberUse(f, n)
	}
	f.settle()
}

// pythonBase is the class of the file that a class is made from, or why its
// members are not its own.
func pythonBase(f *families, class int) (own int, why string) {
	s := f.side
	if s.parentKind(class) == "decorated_definition" {
		return -1, "a decorator may look at the members"
	}
	own = -1
	bases := s.child(class, "superclasses")
	if bases < 0 {
		return own, ""
	}
	for c := range s.tree.Children(bases) {
		if !s.named(c) || s.language.comments[s.kind(c)] {
			continue
		}
		base := c
		if s.kind(c) == "subscript" {
			base = s.child(c, "value")
		}
		name := s.tree.Source(base)
		switch {
		case s.kind(c) == "keyword_argument" && s.tree.Source(c) == "metaclass=ABCMeta":
		case s.kind(base) == "identifier" && s.pythonClass(name) >= 0 && own < 0:
			own = s.pythonClass(name)
		case s.kind(base) == "identifier" && pythonPlainBases[name] && !s.declaresElse(name):
		default:
			return own, "the class is made from one that is declared elsewhere"
		}
	}
	return own, ""
}

// pythonDeclareMember makes a name of a class's body that of a member.
func pythonDeclareMember(f *families, in *scope, leaf int, was *object) {
	s, kind := f.side, "field"
	if was.Kind == "function" {
		kind = "method"
	}
	o := f.declare(in.node, leaf, was.Name, kind)
	o.spelled = false
	if was.Pinned != "" {
		o.pin(was.Pinned)
	}
	switch {
	case was.Kind != "function" && was.Kind != "variable":
		o.pin("it is a member")
	case kind == "method" && !pythonPlainMethod(s, leaf):
		o.pin("a decorator may look at the name")
	case kind == "field" && !pythonPlainValue(s, leaf):
		o.pin("its value may know the name")
	case pythonKnownMembers[was.Name]:
		o.pin("others look for that name")
	}
	// What the body of the class uses is the member, too.
	for _, e := range in.names[was.Name] {
		e.object = o
	}
}

// pythonPlainMethod tells whether a method has only decorators that leave its
// name alone.
func pythonPlainMethod(s *side, leaf int) bool {
	definition := s.parent(leaf)
	outer := s.parent(definition)
	if s.kind(definition) != "function_definition" || s.kind(outer) != "decorated_definition" {
		return s.kind(definition) == "function_definition"
	}
	for c := range s.tree.Children(outer) {
		if s.kind(c) == "decorator" && !pythonDecorator(s, c+2) {
			return false
		}
	}
	return true
}

// pythonPlainValue tells whether an attribute of a class is set to what is not
// told of its name.
func pythonPlainValue(s *side, leaf int) bool {
	assignment := s.parent(leaf)
	return s.kind(assignment) == "assignment" && s.child(assignment, "right") >= 0 && s.child(assignment, "type") < 0 &&
		pythonQuiet(s, s.child(assignment, "right"), set{})
}

// pythonSelf is the class that an expression is an instance of, or is itself;
// -1 if it is not known.
func pythonSelf(f *families, n int) int {
	s := f.side
	if s.kind(n) == "call" && s.kind(s.child(n, "function")) == "identifier" && s.tree.Source(s.child(n, "function")) == "super" && s.parts(s.child(n, "arguments")) == 0 {
		function := s.above(n, setOf("function_definition", "lambda"))
		if function < 0 {
			return -1
		}
		return pythonMethodOf(s, function)
	}
	if s.kind(n) != "identifier" {
		return -1
	}
	for p := n; p >= 0 && s.kind(p) != "block"; p = s.parent(p) {
		if pythonOutside(s, p) && s.parentKind(p) != "for_in_clause" {
			return -1 // it is read where the function stands
		}
	}
	homes := f.homes[s.lookup(s.scopeAt(n), s.tree.Source(n), 0)]
	if len(homes) != 1 {
		return -1 // it is not known, or set to something else as well
	}
	declared, o := homes[0], s.declared[homes[0]]
	switch {
	case s.place(declared) == "class_definition.name" && o.in.parent == nil:
		if s.parentKind(s.parent(declared)) == "decorated_definition" {
			return -1
		}
		return s.parent(declared)
	case o.Kind == "parameter" && s.parentKind(declared) == "parameters" && declared == s.parent(declared)+2:
		return pythonMethodOf(s, s.parent(s.parent(declared)))
	}
	return -1
}

// pythonMethodOf is the class of which a function is a method that gets an
// instance or the class, or -1.
func pythonMethodOf(s *side, function int) int {
	holder := s.parent(function)
	if s.kind(holder) == "decorated_definition" {
		for c := range s.tree.Children(holder) {
			if s.kind(c) != "decorator" {
				continue
			}
			if name := s.tree.Source(c); strings.Contains(name, "staticmethod") || !pythonDecorator(s, c+2) {
				return -1
			}
		}
		holder = s.parent(holder)
	}
	if s.kind(function) != "function_definition" || s.kind(holder) != "block" || s.parentKind(holder) != "class_definition" {
		return -1
	}
	return s.parent(holder)
}

// pythonAssigned declares what is set of an instance in its class's methods.
func pythonAssigned(f *families, n int) {
	s := f.side
	if s.kind(n) != "attribute" {
		return
	}
	leaf, class := s.child(n, "attribute"), pythonSelf(f, s.child(n, "object"))
	if class < 0 || f.of[class] == nil || f.use(class, leaf, s.tree.Source(leaf)) {
		return
	}
	if o := f.declare(class, leaf, s.tree.Source(leaf), "field"); pythonKnownMembers[o.Name] {
		o.pin("others look for that name")
	}
}

// pythonReflects find members by their names, or show them.
var pythonReflects = setOf("__dict__", "vars", "dir", "asdict", "astuple", "fields", "attrgetter", "methodcaller", "__getattr__", "__getattribute__", "__setattr__",
	"__delattr__", "__init_subclass__", "__slots__", "inspect", "getmembers", "pickle", "__reduce__", "__getstate__", "__setstate__", "__set_name__", "copyreg",
	"__match_args__", "SimpleNamespace")

func pythonMemberUse(f *families, n int) {
	s := f.side
	switch kind := s.kind(n); {
	case kind == "string":
		s.say(n)
	case kind != "identifier":
	case pythonReflects[s.tree.Source(n)]:
		f.none("the file finds members by their names")
	case s.place(n) == "call.function" && (s.tree.Source(n) == "getattr" || s.tree.Source(n) == "setattr" || s.tree.Source(n) == "hasattr" || s.tree.Source(n) == "delattr"):
		if !pythonNamesText(s, s.child(s.parent(n), "arguments")) {
			f.none("the file finds members by their names")
		}
	case s.place(n) == "attribute.attribute":
		if s.declared[n] != nil {
			return
		}
		class := pythonSelf(f, s.child(s.parent(n), "object"))
		if class < 0 || !f.use(class, n, s.tree.Source(n)) {
			s.loosen(n)
		}
	case s.place(n) == "keyword_argument.name", s.parentKind(n) == "keyword_pattern":
		s.loosen(n)
	}
}

// pythonNamesText tells whether the second argument of a call is a text without
// anything that could be put into it.
func pythonNamesText(s *side, arguments int) bool {
	count := 0
	for c := range s.tree.Children(arguments) {
		if !s.named(c) || s.language.comments[s.kind(c)] {
			continue
		}
		if count++; count == 2 {
			return s.kind(c) == "string" && !s.contains(c, setOf("interpolation"))
		}
	}
	return false
}
