package languages

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// rubySections are calls that say nothing about the one method that follows.
var rubySections = setOf("private", "protected", "public", "module_function", "attr_reader", "attr_writer", "attr_accessor", "include", "extend", "prepend",
	"require", "require_relative", "alias_method", "private_constant", "autoload")

func rubyHolds(l *language) {
	l.holds = func(s *side, n int) bool {
		if s.kind(n) == "body_statement" {
			k := s.parentKind(n)
			return k == "class" || k == "module" || k == "singleton_class"
		}
		return s.kind(n) == "program"
	}
	// A method is declared when its text is reached. What a call before it is
	// about may be this method.
	l.order = func(s *side, n int, _ []int) ordering {
		kind := s.kind(n)
		if kind != "method" && kind != "singleton_method" {
			return effect()
		}
		before, _ := s.siblings(n)
		switch s.kind(before) {
		case "identifier":
			if !rubySections[s.tree.Source(before)] {
				return effect()
			}
		case "call":
			if !rubySections[s.tree.Source(s.child(before, "method"))] || s.child(before, "receiver") >= 0 {
				return effect()
			}
		}
		prefix := ""
		if object := s.child(n, "object"); object >= 0 {
			prefix = s.tree.Source(object) + "."
		}
		name := s.tree.Source(s.child(n, "name"))
		if isTest(name) || name == "method_added" || name == "singleton_method_added" || name == "inherited" {
			return effect()
		}
		return s.declares(tree.Still, s.child(n, "name"), prefix)
	}
}
