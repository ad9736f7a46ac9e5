package languages

import (
	"regexp"
	"strings"
)

// phpCallers run a function that they are given as it is, with the $this that
// it was made with.
var phpCallers = setOf(strings.Fields(`array_map array_filter array_reduce array_walk usort uasort uksort array_udiff array_uintersect array_diff_ukey
	iterator_apply preg_replace_callback call_user_func call_user_func_array set_error_handler set_exception_handler register_shutdown_function
	spl_autoload_register ob_start`)...)

// classOf is the class of the file that an expression is an instance of, or
// is itself; -1 if it is not known.
func (p *phpFile) classOf(n int) int {
	s := p.source
	switch s.kind(n) {
	case "variable_name":
		if s.tree.Source(n) == "$this" {
			return p.around(n)
		}
	case "relative_scope":
		class := p.around(n)
		switch strings.ToLower(s.tree.Source(n)) {
		case "self":
			return class
		case "static": // a class that is made from this one may have its own
			if class >= 0 && s.has(class, "final_modifier") {
				return class
			}
		case "parent":
			if class >= 0 && s.has(class, "base_clause") && p.open[class] == "" {
				return class
			}
		}
	case "name":
		return p.classNamed(n)
	}
	return -1
}

// around is the class whose $this a place has, or -1.
func (p *phpFile) around(n int) int {
	s := p.source
	for child, at := n, s.parent(n); at >= 0; child, at = at, s.parent(at) {
		switch kind := s.kind(at); {
		case kind == "anonymous_class" && s.field(child) != "body":
		case phpAround[kind]:
			if phpClasses[kind] && s.field(child) == "body" {
				return at
			}
			return -1
		case kind == "function_definition":
			return -1
		case kind == "anonymous_function" || kind == "arrow_function":
			if !p.called(at) {
				return -1 // it may be bound to another object
			}
		}
	}
	return -1
}

// called tells whether a function is an argument of one that only calls it.
func (p *phpFile) called(function int) bool {
	s := p.source
	argument := s.parent(function)
	call := s.parent(s.parent(argument))
	if s.kind(argument) != "argument" || s.kind(call) != "function_call_expression" {
		return false
	}
	return phpCallers[strings.ToLower(strings.TrimPrefix(s.tree.Source(s.child(call, "function")), `\`))]
}

// phpFinds find members by their names, phpLists show all fields of an object,
// and phpShows those that are not private.
var (
	phpFinds = setOf(strings.Fields(`eval property_exists method_exists get_class_methods constant create_function newinstanceargs`)...)
	phpLists = setOf(strings.Fields(`get_object_vars get_class_vars get_mangled_object_vars serialize unserialize var_export var_dump print_r debug_zval_refcount
		jsonserialize __sleep __wakeup __serialize __unserialize __set_state __debuginfo http_build_query array_walk array_walk_recursive settype key reset current next end
		dump dd igbinary_serialize msgpack_pack serializable jsonserializable`)...)
	phpShows = setOf(strings.Fields(`json_encode array_column iterator_to_array toarray tojson`)...)
)

// reflects looks for what finds members by their names.
func (p *phpFile) reflects(n int) {
	s := p.source
	switch kind := s.kind(n); kind {
	case "string", "nowdoc_string", "shell_command_expression":
		s.say(n)
	case "string_content":
		if s.parentKind(n) != "string" {
			s.say(n)
		}
	case "comment":
		for _, line := range strings.Split(s.tree.Source(n), "\n") {
			if phpUnknownTag(line) {
				s.said = append(s.said, freeText{text: line, at: s.tree.Nodes[n].Start})
			}
		}
	case "name":
		name := strings.ToLower(s.tree.Source(n))
		switch {
		case phpFinds[name] && !phpNamesText(s, n) || strings.HasPrefix(name, "reflection") && !phpAboutTypes(s, n, name):
			p.none("the file finds members by their names")
		case phpLists[name] && !p.isMember(n, name):
			p.noFields("the file shows objects with the names of their members")
		case phpShows[name]:
			p.whyFields = "the file shows objects with the names of their members"
		}
	case "cast_expression":
		if t := s.child(n, "type"); t >= 0 && !phpPlainCasts[strings.ToLower(s.tree.Source(t))] {
			p.noFields("the file shows objects with the names of their members")
		}
	case "include_expression", "include_once_expression", "require_expression", "require_once_expression":
		if s.above(n, phpAround) >= 0 {
			p.none("a file that a method includes has its $this")
		}
	case "foreach_statement":
		p.foreach(n)
	case "array_creation_expression":
		p.mayBeCallable(n)
	}
}

var phpPlainCasts = setOf("int", "integer", "bool", "boolean", "float", "double", "string", "real", "binary")

// isMember tells whether a word is a method of that name, and no function.
func (p *phpFile) isMember(n int, name string) bool {
	place := p.source.place(n)
	plain := setOf("key", "reset", "current", "next", "end", "dump")
	return plain[name] && place != "function_call_expression.function"
}

// foreach with keys shows the names of fields, if what it runs over is an
// object of the class around.
func (p *phpFile) foreach(n int) {
	s := p.source
	subject := n + 1
	for subject < int(s.tree.Nodes[n].Next) && s.kind(subject) != "(" {
		subject = int(s.tree.Nodes[subject].Next)
	}
	if subject++; s.above(n, phpAround) < 0 || !s.has(n, "pair") && s.tree.Source(subject) != "$this" || p.isArray(subject, n) {
		return
	}
	p.noFields("a loop may run over the names of members")
}

// isArray tells whether an expression is surely an array.
func (p *phpFile) isArray(n, at int) bool {
	s := p.source
	switch s.kind(n) {
	case "array_creation_expression":
		return true
	case "function_call_expression":
		name := strings.ToLower(strings.TrimPrefix(s.tree.Source(s.child(n, "function")), `\`))
		return strings.HasPrefix(name, "array_") || setOf("explode", "range", "preg_split", "str_split", "scandir", "glob", "file")[name]
	case "variable_name":
		method := s.above(at, setOf("method_declaration", "function_definition", "anonymous_function", "arrow_function"))
		return method >= 0 && p.arrayVariable(s.tree.Source(n), method)
	}
	return false
}

// arrayVariable tells whether a variable of a function only holds arrays: it is
// a parameter that is one, or set to arrays.
func (p *phpFile) arrayVariable(name string, method int) bool {
	s, found := p.source, false
	for n := method; n < int(s.tree.Nodes[method].Next); n++ {
		if s.kind(n) != "variable_name" || s.tree.Source(n) != name {
			continue
		}
		switch parent := s.parent(n); s.place(n) {
		case "simple_parameter.name":
			if t := s.child(parent, "type"); t < 0 || s.tree.Source(t) != "array" || s.parent(s.parent(parent)) != method {
				return false
			}
			found = true
		case "assignment_expression.left":
			if value := s.child(parent, "right"); s.kind(value) != "array_creation_expression" && (s.kind(value) != "function_call_expression" || !p.isArray(value, n)) {
				return false
			}
			found = true
		case "foreach_statement.", "subscript_expression.", "return_statement.":
			if before, _ := s.siblings(n); s.kind(parent) == "foreach_statement" && s.kind(before) != "(" {
				return false
			}
		case "argument.":
			if s.kind(s.parent(s.parent(parent))) != "function_call_expression" {
				return false // it may be a reference
			}
		default:
			return false
		}
	}
	return found
}

// mayBeCallable looks for arrays that may stand for a method whose name is
// worked out.
func (p *phpFile) mayBeCallable(n int) {
	s := p.source
	var parts []int
	for c := range s.tree.Children(n) {
		if s.kind(c) == "array_element_initializer" {
			if s.parts(c) != 1 {
				return
			}
			parts = append(parts, c+1)
		}
	}
	if len(parts) != 2 || s.place(n) == "assignment_expression.left" || s.kind(parts[1]) == "string" && !strings.Contains(s.tree.Source(parts[1]), "::") ||
		phpNoText[s.kind(parts[1])] {
		return
	}
	const why = "a method may be called by its name"
	switch text := s.tree.Source(parts[0]); s.kind(parts[0]) {
	case "class_constant_access_expression", "name", "object_creation_expression", "member_access_expression", "member_call_expression", "scoped_call_expression",
		"variable_name", "subscript_expression", "function_call_expression", "clone_expression", "nullsafe_member_access_expression", "assignment_expression":
		if p.calls || text == "$this" || strings.HasSuffix(text, "::class") || text == "__CLASS__" {
			p.none(why)
		}
		p.whyMethods = why
	case "string":
		if !strings.Contains(text, " ") {
			p.none(why)
		}
	case "encapsed_string", "binary_expression", "conditional_expression", "parenthesized_expression":
		p.none(why)
	}
}

// phpNoText are expressions that are no names.
var phpNoText = setOf("integer", "float", "boolean", "null", "array_creation_expression", "object_creation_expression", "anonymous_function", "arrow_function",
	"unary_op_expression")

// callsWhatIsGiven tells whether the file calls functions that it has as values.
func (p *phpFile) callsWhatIsGiven() bool {
	s := p.source
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "function_call_expression":
			function := s.child(n, "function")
			if k := s.kind(function); k != "name" && k != "qualified_name" {
				return true
			}
		case "name":
			if name := strings.ToLower(s.tree.Source(n)); phpCallers[name] || name == "is_callable" || name == "callable" || name == "fromcallable" {
				return true
			}
		case "primitive_type":
			if strings.EqualFold(s.tree.Source(n), "callable") {
				return true
			}
		}
	}
	return false
}

// phpNamesText tells whether what finds a member is given a text, which is
// looked at as all texts are.
func phpNamesText(s *side, n int) bool {
	if s.place(n) != "function_call_expression.function" {
		return false
	}
	last := -1
	for c := range s.tree.Children(s.child(s.parent(n), "arguments")) {
		if s.kind(c) == "argument" {
			last = c
		}
	}
	return last >= 0 && s.kind(last+1) == "string"
}

// phpAboutTypes tells whether a name of the reflection is only a type.
func phpAboutTypes(s *side, n int, name string) bool {
	return name == "reflectionexception" || name == "reflectionnamedtype" || s.above(n, setOf("namespace_use_clause")) >= 0
}

var phpTag = regexp.MustCompile(`(?:^|[\s*{])@([\w\\-]+)`)

// phpKnownTags are those of comments that no program reads at run time.
var phpKnownTags = setOf(strings.Fields(`var param return throws see deprecated internal since author link inheritdoc copyright license package subpackage category
	version access todo final static api example template extends implements type codecoverageignore ignore note global abstract private protected public uses`)...)

func phpUnknownTag(text string) bool {
	for _, m := range phpTag.FindAllStringSubmatch(text, -1) {
		tag := strings.ToLower(m[1])
		if !phpKnownTags[tag] && !strings.HasPrefix(tag, "psalm-") && !strings.HasPrefix(tag, "phpstan-") && !strings.HasPrefix(tag, "template-") {
			return true
		}
	}
	return false
}

// phpAnnotated tells whether the comment in front of a node has what a program
// may read.
func phpAnnotated(s *side, n int) bool {
	last := -1
	for c := range s.tree.Children(s.parent(n)) {
		if c == n {
			break
		}
		last = c
	}
	return last >= 0 && s.kind(last) == "comment" && phpUnknownTag(s.tree.Source(last))
}
