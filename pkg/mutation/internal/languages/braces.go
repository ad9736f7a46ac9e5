package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// places says what a name declares by where it stands: "kind.field" of the leaf
// in its parent, to the kind of object.
type places map[string]string

// braces is what the languages of this package have in common that know blocks
// and see a name from its declaration on. Only locals are declared: every other
// name is fixed, and one that is not resolved where a local of its name is
// renamed makes the renaming unproven.
func braces(grammar treesitter.Language, declared places, starts func(s *side, leaf int) uint32) *language {
	return &language{
		grammar:    grammar,
		names:      setOf("identifier"),
		sequential: true,
		strict:     true,
		fixed:      func(*side, int) bool { return false },
		optional:   func(*side, int) bool { return false },
		inner:      func(*side, int) int { return -1 },
		declare: func(s *side, n int, in *scope) {
			kind, ok := declared[s.place(n)]
			if !ok || !s.language.names[s.kind(n)] || in.region().kind == module {
				return
			}
			from := s.tree.Nodes[n].Start
			if starts != nil {
				if later := starts(s, n); later > 0 {
					from = later
				}
			}
			s.addNamed(in, n, s.tree.Source(n), kind, from)
		},
	}
}

// bodyOf is where the body of a loop starts: what it runs over is read outside.
func (s *side) bodyOf(n int, field string) uint32 {
	if body := s.child(n, field); body >= 0 {
		return s.tree.Nodes[body].Start
	}
	return s.tree.Nodes[n].End
}

// pinNamed pins the parameters that a call in the file names: the name of an
// argument stands in a node of the given kind, before the given sign.
func (s *side) pinNamed(argument, sign string) {
	named := set{}
	for n := range s.tree.Nodes {
		if s.named(n) && s.parentKind(n) == argument {
			if before, after := s.siblings(n); before < 0 && after >= 0 && s.kind(after) == sign {
				named["$"+s.tree.Source(n)] = true
			}
		}
	}
	for _, o := range s.declared {
		if o.Kind == "parameter" && named["$"+strings.TrimPrefix(o.Name, "$")] {
			o.pin("a call names it")
		}
	}
}

// conceal makes a node's names unusable for renames.
func (s *side) conceal(n int) {
	s.opaque = append(s.opaque, freeText{s.tree.Source(n), s.tree.Nodes[n].Start, s.scopeAt(n).region(), false})
}

// lists makes a comma at the end of lists optional.
func lists(kinds ...string) func(*side, int) bool {
	in := setOf(kinds...)
	return func(s *side, n int) bool { return s.trailing(n, in) }
}
