package languages

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// Expression is one that is made of variables whose types are written in the
// file, literals and operators.
type Expression struct {
	Start, End int
	// Item is where the declaration at the top of the file begins that it is in.
	Item int
	// Variables are the places of names.
	Variables []Variable
}

// Variable is a place that has the name of a local one.
type Variable struct {
	Start, End int
	Name, Type string
}

// Expressions finds those of a text which a person could make functions of.
func Expressions(name string, text []byte) (found []Expression) {
	l := tables()[treesitter.Language(name)]
	t, err := parsers.Parse(context.Background(), l.grammar, text)
	if err != nil {
		return nil
	}
	s := newSide(l, t)
	s.declareAll()
	for n := range t.Nodes {
		switch s.kind(n) {
		case "binary_expression", "conditional_expression", "unary_expression":
		default:
			continue
		}
		e := Expression{Start: int(t.Nodes[n].Start), End: int(t.Nodes[n].End)}
		item := n
		for ; item > 0 && s.parent(item) != 0 && s.parentKind(s.parent(item)) != "namespace_definition"; item = s.parent(item) {
		}
		e.Item = int(t.Nodes[item].Start)
		known := true
		for k := n; k < int(t.Nodes[n].Next) && known; k++ {
			switch kind := s.kind(k); {
			case kind == "identifier":
				o := s.declaredAt(k)
				if known = o != nil && o.region.kind == function && o.Kind != "function"; known {
					of := l.inlining.typed.typeOf(s, o.leaf)
					known = of != ""
					e.Variables = append(e.Variables, Variable{int(t.Nodes[k].Start), int(t.Nodes[k].End), o.Name, of})
				}
			case s.named(k):
				known = l.inlining.expression[label(kind, "")]
			default:
				known = s.kind(k) != "*" || s.parentKind(k) != "unary_expression" // of Rust, a reference
			}
		}
		if known && len(e.Variables) > 0 {
			found = append(found, e)
		}
	}
	return found
}
