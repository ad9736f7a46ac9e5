package languages

import "strings"

// rubyPlainBases and rubyPlainModules have no instance variables that a class
// could share with them.
var (
	rubyPlainBases = setOf(strings.Fields(`Object BasicObject Exception StandardError RuntimeError ArgumentError TypeError IOError EOFError IndexError KeyError
		RangeError NotImplementedError LoadError ScriptError SecurityError StopIteration ZeroDivisionError`)...)
	rubyPlainModules = setOf("Comparable", "Enumerable", "Forwardable")
)

// rubyProtocol are methods that every object has, or that Ruby looks for.
var rubyProtocol = setOf(strings.Fields(`initialize initialize_copy initialize_dup initialize_clone method_missing respond_to_missing respond_to inherited included
	extended prepended method_added method_removed singleton_method_added const_missing marshal_dump marshal_load _dump _load to_s to_str to_sym to_a to_ary to_h
	to_hash to_proc to_path to_io to_i to_int to_f to_r to_c inspect hash eql equal each call coerce encode_with init_with class dup clone taint
	tap display method methods instance_of kind_of is_a nil object_id itself define_method autoload open system spawn test select fork trap srand
	warn putc readline readlines sprintf syscall set_trace_func trace_var Array String Integer Float Hash Rational Complex name new allocate superclass
	setup teardown run begin pp exec at_exit warn exit readline gem then yield_self instance_exec instance_eval attr attr_writer private_constant
	public_constant module_function refine using define_finalizer ruby2_keywords remove_method undef_method alias_method nesting`)...)

// rubyFinds find members by their names, rubyLists methods, and so do rubyNamed
// if they are given a name that is worked out.
var (
	rubyFinds = setOf(strings.Fields(`instance_variable_get instance_variable_set instance_variables instance_variable_defined? remove_instance_variable
		Marshal YAML Psych ObjectSpace to_yaml marshal_dump marshal_load encode_with init_with instance_values as_json to_json class_exec
		module_exec refine using TracePoint RubyVM extend_object`)...)
	rubyLists = setOf(strings.Fields(`method_missing respond_to_missing? methods private_methods public_methods instance_methods private_instance_methods
		public_instance_methods singleton_methods method_added`)...)
	rubyNamed = setOf("send", "__send__", "method", "instance_method", "define_method", "define_singleton_method", "alias_method",
		"remove_method", "undef_method", "private", "public", "protected", "module_function", "private_class_method", "public_class_method", "attr", "attr_reader",
		"attr_writer", "attr_accessor", "respond_to?", "instance_eval", "class_eval", "module_eval", "instance_exec", "def_delegator", "def_delegators",
		"def_instance_delegator", "def_instance_delegators")
	rubyShows = setOf("inspect", "p", "pp", "pretty_inspect", "pretty_print", "full_message", "detailed_message")
)

// rubyIterators run the block that they are given with the self around it.
var rubyIterators = setOf(strings.Fields(`each each_with_index each_with_object each_pair each_key each_value each_char each_line each_byte each_slice each_cons
	each_entry reverse_each map map! collect collect! flat_map collect_concat filter_map select select! filter filter! reject reject! find detect find_all find_index index rindex
	inject reduce sum times upto downto step loop sort sort! sort_by sort_by! min max min_by max_by minmax_by group_by partition chunk_while slice_when any? all? none? one?
	count tap then yield_self synchronize fetch gsub gsub! sub sub! scan cycle delete_if keep_if take_while drop_while catch zip
	to_h uniq uniq! transform_values transform_keys each_index open`)...)

// rubyMakers are classes whose new runs its block in the same way.
var rubyMakers = setOf("Hash", "Array", "Thread", "File", "Set")

// rubyFile is what the members of a Ruby file are found with.
type rubyFile struct {
	*families
	source *side
	// paths are the first places that declare a class, by its full name.
	paths map[string]int
	// byName is set where the file finds methods by their names.
	byName bool
}

// rubyMembers makes names of the instance variables and private methods of the
// file's classes, where each use is known to be one.
func rubyMembers(s *side) {
	r := &rubyFile{source: s, paths: map[string]int{}}
	var classes []int
	for n := range s.tree.Nodes {
		if k := s.kind(n); s.named(n) && (k == "class" || k == "module") && s.child(n, "name") >= 0 {
			classes = append(classes, n)
			if path := r.path(n); path != "" {
				if _, known := r.paths[path]; !known {
					r.paths[path] = n
				}
			}
		}
	}
	if len(classes) == 0 {
		return
	}
	r.families = newFamilies(s, classes, r.base)
	for n := range s.tree.Nodes {
		if s.kind(n) == "method" {
			r.method(n)
		}
	}
	for n := range s.tree.Nodes {
		r.use(n)
		r.reflects(n)
	}
	r.settle()
	for _, o := range s.declared {
		if o.member && o.Kind == "method" && r.byName {
			o.pin("the file finds methods by their names")
		}
	}
}

// path is the full name of a class, or "" if its name is worked out.
func (r *rubyFile) path(class int) string {
	s, path := r.source, ""
	for n := class; n >= 0; n = s.above(n, setOf("class", "module", "singleton_class", "block", "do_block")) {
		name := s.child(n, "name")
		if name < 0 || s.kind(name) != "constant" && s.kind(name) != "scope_resolution" {
			return ""
		}
		path = "::" + s.tree.Source(name) + path
	}
	return path
}

// base is the class of the file that a class is made from, or why its members
// are not its own.
func (r *rubyFile) base(f *families, class int) (own int, why string) {
	s, path := r.source, r.path(class)
	if path == "" {
		return -1, "the name of the class is worked out"
	}
	if first := r.paths[path]; first != class {
		f.parent[f.root(class)] = f.root(first)
	}
	own = -1
	if super := s.child(class, "superclass"); super >= 0 {
		name := s.tree.Source(super + 2)
		if own = r.classNamed(path, name); own < 0 && !rubyPlainBases[name] {
			return -1, "the class is made from one that is declared elsewhere"
		}
	}
	body := s.child(class, "body")
	if body < 0 {
		return own, ""
	}
	for c := range s.tree.Children(body) {
		switch s.kind(c) {
		case "call":
			if why := r.mixes(c); why != "" {
				return own, why
			}
		case "method":
			if s.kind(class) == "module" {
				return own, "whoever includes the module has its members"
			}
		}
	}
	return own, ""
}

// classNamed is the class of the file that a constant means in the body of
// another, or -1.
func (r *rubyFile) classNamed(path, name string) int {
	for ; path != ""; path = path[:strings.LastIndex(path, "::")] {
		if class, known := r.paths[path[:strings.LastIndex(path, "::")]+"::"+strings.TrimPrefix(name, "::")]; known {
			return class
		}
	}
	return -1
}

// mixes says why a call in the body of a class gives it members of others.
func (r *rubyFile) mixes(call int) string {
	s := r.source
	method := s.tree.Source(max(s.child(call, "method"), 0))
	if method != "include" && method != "extend" && method != "prepend" {
		return ""
	}
	for c := range s.tree.Children(s.child(call, "arguments")) {
		if s.named(c) && !rubyPlainModules[s.tree.Source(c)] {
			return "a module that the class uses may have it"
		}
	}
	return ""
}

// method declares a private method.
func (r *rubyFile) method(n int) {
	s := r.source
	leaf := s.child(n, "name")
	if leaf < 0 || s.kind(leaf) != "identifier" {
		return
	}
	class, static := r.self(leaf)
	if class < 0 || !r.isPrivate(n) {
		return
	}
	name := s.tree.Source(leaf)
	o := r.declareAs(class, leaf, rubyKey(name, static), name, "method")
	o.key = func(name string) string { return rubyKey(name, static) }
	if bare := strings.TrimRight(name, "?!"); rubyProtocol[bare] || isTest(name) {
		o.pin("others look for that name")
	}
	if text := s.tree.Source(n); strings.Contains(text, "__method__") || strings.Contains(text, "super") {
		o.pin("the method knows its name")
	}
}

func rubyKey(name string, static bool) string {
	if static {
		return "static " + name + "()"
	}
	return name + "()"
}

// isPrivate tells whether a method is declared as private where it stands.
func (r *rubyFile) isPrivate(n int) bool {
	s := r.source
	if s.parentKind(n) == "argument_list" {
		call := s.parent(s.parent(n))
		return s.tree.Source(max(s.child(call, "method"), 0)) == "private" && s.child(call, "receiver") < 0 && s.parentKind(call) == "body_statement"
	}
	private := false
	for c := range s.tree.Children(s.parent(n)) {
		switch text := s.tree.Source(c); {
		case c == n:
			return private && s.parentKind(n) == "body_statement"
		case s.kind(c) == "identifier" && text == "private":
			private = true
		case s.kind(c) == "identifier" && (text == "public" || text == "protected" || text == "module_function"):
			private = false
		}
	}
	return false
}

// self is the class whose object a place has as self, and whether it is the
// class itself; -1 if it is not known.
func (r *rubyFile) self(n int) (class int, static bool) {
	s, inMethod := r.source, false
	for child, at := n, s.parent(n); at >= 0; child, at = at, s.parent(at) {
		switch s.kind(at) {
		case "block", "do_block":
			if !r.iterates(at) {
				return -1, false // self may be another there
			}
		case "lambda":
			return -1, false
		case "method":
			inMethod = true
		case "singleton_method":
			if s.kind(s.child(at, "object")) != "self" {
				return -1, false
			}
			inMethod, static = true, true
		case "singleton_class":
			if s.kind(s.child(at, "value")) != "self" || !inMethod || static {
				return -1, false
			}
			static = true
			if body := s.above(at, setOf("class", "module", "method", "singleton_method", "block", "do_block")); s.kind(body) != "class" && s.kind(body) != "module" {
				return -1, false
			}
		case "class", "module":
			if !s.named(at) {
				continue
			}
			if s.field(child) != "body" {
				return -1, false
			}
			return at, static || !inMethod
		}
	}
	return -1, false
}

// iterates tells whether a block has the self that is around it.
func (r *rubyFile) iterates(block int) bool {
	s := r.source
	call := s.parent(block)
	if s.kind(call) != "call" || s.child(call, "method") < 0 {
		return false
	}
	method, receiver := s.tree.Source(s.child(call, "method")), s.child(call, "receiver")
	if method == "new" {
		return receiver >= 0 && rubyMakers[s.tree.Source(receiver)]
	}
	return rubyIterators[method] && (receiver >= 0 || method == "loop" || method == "catch" || method == "synchronize")
}
