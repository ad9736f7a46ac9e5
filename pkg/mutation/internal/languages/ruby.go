package languages

import (
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func ruby() *language {
	l := braces(treesitter.Ruby, nil, nil)
	l.lines = true
	l.goesAfter = setOf(strings.Fields("( [ { , = += -= *= /= ||= &&= && || and or not + - * / % == != < > <= >= << & | ? : . &. => do then")...)
	l.goesBefore = setOf(strings.Fields(". &. ) ] } end")...)
	l.comments = setOf("comment")
	l.kept = func(s *side, n int, text string) bool {
		if strings.HasPrefix(text, "#!") {
			return s.line(n) == 1
		}
		for _, mark := range []string{"coding", "frozen_string_literal", "frozen-string-literal", "warn_indent", "shareable_constant_value", "typed:"} {
			if strings.Contains(text, mark) {
				return true
			}
		}
		return strings.HasPrefix(text, "#:") && !rubyDocumentation(text) || strings.HasPrefix(text, "# @rbs")
	}
	// Ruby reads these words with or without a space in front.
	l.note = func(text string) string {
		if said := strings.TrimLeft(strings.TrimPrefix(text, "#"), " \t"); rubyMagic.MatchString(said) {
			return "# " + said
		}
		return ""
	}
	l.exact = setOf("string", "string_content", "heredoc_body", "heredoc_content", "subshell", "regex", "delimited_symbol", "bare_string", "bare_symbol", "character",
		"chained_string")
	l.spelling = rubyHeredoc
	l.joined = setOf("chained_string")
	l.opaque = func(s *side, n int) bool {
		return s.kind(n) == "regex" && strings.Contains(s.tree.Source(n), "(?<") || s.kind(n) == "uninterpreted"
	}
	l.fixed = func(s *side, n int) bool {
		switch s.place(n) {
		case "call.method", "method.name", "singleton_method.name", "alias.name", "alias.alias", "undef.":
			return s.place(n) != "call.method" || s.child(s.parent(n), "receiver") >= 0 || s.child(s.parent(n), "arguments") >= 0 ||
				s.child(s.parent(n), "block") >= 0
		}
		return false
	}
	l.scopes = map[string]scopeKind{"method": function, "singleton_method": function, "class": function, "module": function, "singleton_class": function,
		"block": block, "do_block": block, "lambda": block}
	l.declare = rubyDeclare
	l.dynamic = map[string]reach{"binding": anywhere, "eval": anywhere, "local_variables": anywhere, "instance_eval": anywhere, "class_eval": anywhere,
		"module_eval": anywhere}
	l.finish = func(s *side) {
		for n := range s.tree.Nodes {
			if s.kind(n) == "identifier" && s.language.dynamic[s.tree.Source(n)] != 0 {
				if s.place(n) == "call.method" && s.child(s.parent(n), "arguments") < 0 && s.child(s.parent(n), "block") >= 0 {
					continue // of a block, which is no text
				}
				// Also with a receiver: it is a method then, and gets the block's text.
				sc := s.scopeAt(n)
				s.free = append(s.free, freeText{s.tree.Source(n), s.tree.Nodes[n].Start, sc.region(), false})
			}
		}
		rubyMembers(s)
	}
	l.sigil = "@"
	l.reserved = setOf(strings.Fields(`_ it _1 _2 _3 _4 _5 _6 _7 _8 _9 __method__ __FILE__ __LINE__ BEGIN END alias and begin break case class def
		defined? do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until
		when while yield raise puts p require lambda proc loop print private public protected attr_accessor attr_reader block_given? binding
		include extend format sprintf fail catch throw sleep rand gets exit abort caller freeze send`)...)
	rubyHolds(l)
	l.inlining = rubyInlining()
	return l
}

var rubyMagic = regexp.MustCompile(`^(frozen[_-]string[_-]literal|warn[_-]indent|shareable[_-]constant[_-]value): *[a-z_]+[ \t]*$`)

// rubyDocumentation tells a note to RDoc (#:nodoc:) from a type (#: () -> A).
func rubyDocumentation(text string) bool {
	word, _, found := strings.Cut(text[2:], ":")
	return found && setOf("nodoc", "doc", "stopdoc", "startdoc", "enddoc", "notnew", "not-new", "yield", "yields", "call-seq", "args", "arg")[word] &&
		!strings.HasPrefix(text[2+len(word):], "::")
}

// rubyHeredoc is a heredoc's text without the indentation of the line that ends
// it.
func rubyHeredoc(s *side, n int, text string) string {
	if s.kind(n) != "heredoc_content" {
		return text
	}
	if _, after := s.siblings(n); after < 0 || s.kind(after) != "heredoc_end" {
		return text
	}
	last := strings.LastIndexByte(text, '\n') + 1
	if last == 0 || strings.Trim(text[last:], " \t") != "" {
		return text
	}
	return text[:last]
}

func rubyDeclare(s *side, n int, in *scope) {
	switch s.kind(n) {
	case "pair", "keyword_pattern":
		// {x:} is short for {x: x}.
		if s.child(n, "value") < 0 {
			if key := s.child(n, "key"); key >= 0 {
				s.conceal(key)
			}
		}
		return
	case "keyword_parameter":
		if name := s.child(n, "name"); name >= 0 {
			s.addNamed(in, name, s.tree.Source(name), "parameter", s.tree.Nodes[name].Start).pin("callers name it")
		}
		return
	case "super":
		return
	case "identifier":
	default:
		return
	}
	if s.declared[n] != nil || in.region().kind == module {
		return
	}
	kind := "variable"
	switch place := s.place(n); place {
	case "assignment.left", "operator_assignment.left", "left_assignment_list.", "rest_assignment.", "destructured_left_assignment.", "exception_variable.",
		"for.pattern":
	case "method_parameters.", "optional_parameter.name", "splat_parameter.name", "hash_splat_parameter.name", "block_parameter.name", "block_parameters.",
		"lambda_parameters.", "destructured_parameter.", "block_parameters.locals":
		kind = "parameter"
	default:
		return
	}
	// An assignment to a variable that is there declares nothing.
	name, at := s.tree.Source(n), s.tree.Nodes[n].Start
	if kind == "variable" {
		if o := s.lookupWithin(in, name, at); o != nil {
			s.declared[n] = o
			return
		}
	}
	s.addNamed(in, n, name, kind, at)
}

// lookupWithin finds a variable up to the function around.
func (s *side) lookupWithin(from *scope, name string, at uint32) *object {
	for sc := from; sc != nil; sc = sc.parent {
		for _, e := range sc.names[name] {
			if e.from <= at {
				return e.object
			}
		}
		if sc.kind == function || sc.kind == module {
			return nil
		}
	}
	return nil
}
