package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// rubyInlining: all parts of an expression are worked out from left to right,
// and an operator is a method that gets the same values either way.
func rubyInlining() *inlining {
	return &inlining{
		usable: func(s *side) bool {
			for n := range s.tree.Nodes {
				if !rubyBodies[s.kind(n)] || !s.named(n) || s.parentKind(n) == "program" {
					continue
				}
				// The body of a class has a value: that of its last line.
				if s.parentKind(n) != "body_statement" || !rubyBodies[s.parentKind(s.parent(n))] {
					return false
				}
			}
			return s.unsafeFor == ""
		},
		methods: &methodInlining{declares: "method.name", accepts: rubyAccepts, read: rubyRead, fits: rubyFits, grouped: rubyGrouped, tidy: rubyTidy},
	}
}

var rubyBodies = setOf("class", "module", "singleton_class")

// rubyCommon are names that objects, classes, errors and what can be included
// have already.
var rubyCommon = setOf(strings.Fields(`alias_method all? allocate ancestors any? at_exit attr attr_accessor attr_reader attr_writer autoload? backtrace
	backtrace_locations between? caller_locations cause chain chunk chunk_while clamp class_variable_get class_variable_set class_variables collect
	collect_concat compact const_defined? const_get const_set constants corrections count cycle def_delegator def_delegators define_singleton_method delegate
	detailed_message detect drop drop_while each_cons each_entry each_slice each_with_index each_with_object entries enum_for errno exception exit! exit_value
	filter filter_map find find_all find_index first flat_map frozen? full_message gets global_variables grep grep_v group_by include? inject
	instance_delegate instance_method instance_methods instance_variable_defined? instance_variable_get instance_variable_set instance_variables is_a?
	key lazy load local_variables map max max_by member? message min min_by minmax minmax_by module_eval module_exec none? one? original_message partition
	printf private_methods protected_methods public_method public_methods public_send reason receiver reduce reject remove_instance_variable select
	set_backtrace signo singleton_class singleton_method singleton_methods slice_after slice_before slice_when sort sort_by spell_checker status subclasses
	success? sum tainted? take take_while tally to_enum trust uniq untaint untrace_var untrust untrusted? value yield_self zip __id__ __callee__ __dir__
	instance_of? kind_of? nil? object_id lambda catch iterator?`)...)

func rubyAccepts(m *methodHelper) bool {
	s := m.side
	for c := range s.tree.Children(m.method) {
		switch s.kind(c) {
		case "def", "method_parameters", "body_statement", "end", "=", "(", ")", "comment":
		default:
			if field := s.field(c); field != "name" && field != "body" {
				return false
			}
		}
	}
	name := m.object.Name
	return s.parentKind(m.method) == "body_statement" && rubyBodies[s.parentKind(s.parent(m.method))] && !rubyCommon[name] && !rubyProtocol[strings.TrimRight(name, "?!")]
}

func rubyRead(m *methodHelper) bool {
	s := m.side
	if list := s.child(m.method, "parameters"); list >= 0 {
		for c := range s.tree.Children(list) {
			if !s.named(c) || s.language.comments[s.kind(c)] {
				continue
			}
			if s.kind(c) != "identifier" || s.declared[c] == nil {
				return false
			}
			m.params = append(m.params, s.declared[c].Object)
			m.names = append(m.names, s.tree.Source(c))
		}
	}
	m.value = s.child(m.method, "body")
	if s.kind(m.value) == "body_statement" {
		m.value = s.only(m.value)
	}
	if s.kind(m.value) == "return" {
		m.value = s.only(s.only(m.value))
	}
	for s.kind(m.value) == "parenthesized_statements" {
		m.value = s.only(m.value)
	}
	if m.value < 0 || s.kind(m.value) == "identifier" || strings.Contains(s.tree.Source(m.value), "\n") || !s.each(m.value, m.rubyPlain) {
		return false
	}
	m.expr = rubyReturned(m.item.kids[len(m.item.kids)-1])
	return true
}

// rubyReturned is the expression that a method is, in the tree that is compared;
// nil if there is more.
func rubyReturned(method *tree.Node) (value *tree.Node) {
	for _, k := range method.Kids {
		if strings.HasPrefix(k.Kind, "body ") {
			value = k
		}
	}
	sole := func(kind string, count, at int) {
		if value != nil && value.Kind == kind {
			if len(value.Kids) != count {
				value = nil
				return
			}
			value = value.Kids[at]
		}
	}
	sole("body body statement", 1, 0)
	if value != nil && value.Kind == "return" {
		sole("return", 2, 1)
		sole("argument list", 1, 0)
	}
	for value != nil && strings.HasSuffix(value.Kind, "parenthesized statements") {
		sole(value.Kind, 3, 1)
	}
	return value
}

// rubyParts are the kinds of nodes that an expression may be made of. There are
// no ranges and patterns: in a condition they mean something else.
var rubyParts = setOf("binary", "unary", "conditional", "parenthesized_statements", "identifier", "instance_variable", "string", "string_content",
	"escape_sequence", "interpolation", "simple_symbol", "integer", "float", "true", "false", "nil", "array", "call", "argument_list", "element_reference",
	"constant", "scope_resolution", "pair", "hash_key_symbol")

// rubyLevels say how tightly an operator binds.
var rubyLevels = map[string]int{"*": 9, "/": 9, "%": 9, "+": 8, "-": 8, "<<": 7, ">>": 7, "&": 6, "|": 5, "^": 5, "<": 4, "<=": 4, ">": 4, ">=": 4,
	"==": 3, "!=": 3, "<=>": 3, "===": 3, "&&": 2, "||": 1}

// rubyFrames are methods that see who calls them, or in which method it stands.
var rubyFrames = setOf(strings.Fields(`binding eval instance_eval class_eval module_eval instance_exec class_exec module_exec send __send__ public_send
	method public_method instance_method local_variables global_variables caller caller_locations block_given? iterator? lambda proc __method__ __callee__
	__dir__ require require_relative load autoload raise fail throw catch loop gets readline readlines warn last_match local_variable_get local_variable_set
	local_variable_defined? irb to_proc define_method set_trace_func trace_var nesting callcc at_exit using refine import_methods private public protected
	module_function attr_reader attr_writer attr_accessor ruby2_keywords super_method curry`)...)

// rubyPlain tells whether a part of an expression means the same in another
// method of the class.
func (m *methodHelper) rubyPlain(n int) bool {
	s := m.side
	kind := s.kind(n)
	if !s.named(n) {
		return true
	}
	if !rubyParts[kind] {
		return false
	}
	switch kind {
	case "binary":
		return rubyLevels[s.textOf(s.child(n, "operator"))] > 0
	case "unary":
		return s.textOf(s.child(n, "operator")) == "!"
	case "parenthesized_statements":
		return s.parts(n) == 1
	case "interpolation":
		return s.parentKind(n) == "string" && s.parts(n) == 1
	case "pair":
		return s.child(n, "value") >= 0 && s.parentKind(n) == "argument_list"
	case "call":
		arguments := s.child(n, "arguments")
		return s.child(n, "receiver") >= 0 && s.child(n, "method") >= 0 && s.child(n, "block") < 0 && (arguments < 0 || s.kind(arguments+1) == "(")
	case "identifier":
		if s.place(n) == "call.method" {
			return !rubyFrames[s.tree.Source(n)]
		}
		return slices.Contains(m.names, s.tree.Source(n))
	}
	return true
}

// rubyTidy takes a private off that nothing follows.
func rubyTidy(s *side, root *tree.Node) {
	for _, holder := range s.holders(root) {
		for list := s.lists[holder]; holder.Kind == "body body statement" && len(list) > 0; list = s.lists[holder] {
			last := list[len(list)-1]
			if len(last.kids) != 1 || last.kids[0].Kind != "identifier" || last.kids[0].Text != "private" || len(holder.Kids) == 0 || holder.Kids[len(holder.Kids)-1] != last.kids[0] {
				break
			}
			holder.Kids = holder.Kids[:len(holder.Kids)-1]
			s.lists[holder] = list[:len(list)-1]
		}
	}
}
