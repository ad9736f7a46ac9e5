package golang

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

func (s *side) typeOfCall(n *tree.Node, depth int) *tree.Node {
	callee := n.Kids[0]
	if callee == nil {
		return nil
	}
	if s.isType(callee) {
		return callee // a conversion
	}
	if callee.Kind == "name" && callee.Object == nil && predeclared()[callee.Text] {
		return s.typeOfBuiltin(n, depth)
	}
	results, elsewhere := s.resultsOf(n, depth)
	switch {
	case elsewhere:
		return foreign
	case len(results) == 1:
		return results[0]
	}
	return nil
}

func (s *side) typeOfBuiltin(n *tree.Node, depth int) *tree.Node {
	args := n.Kids[1:]
	switch n.Kids[0].Text {
	case "new":
		if len(args) == 1 {
			if t := args[0]; s.isType(t) || s.isQualified(t) {
				return pointerTo(t)
			}
			return pointerTo(s.typing(args[0], depth))
		}
	case "make":
		if len(args) > 0 {
			return args[0]
		}
	case "append", "min", "max":
		for _, a := range args {
			if t := s.typing(a, depth); !s.isForeign(t) || n.Kids[0].Text == "append" {
				return t
			}
		}
		return foreign
	case "len", "cap", "copy", "complex", "real", "imag", "recover", "print", "println":
		return foreign
	}
	return nil
}

// isQualified tells whether an expression is a name of another package, or an
// instance of one: a type, where a type can stand.
func (s *side) isQualified(n *tree.Node) bool {
	if n != nil && n.Kind == "index" {
		n = n.Kids[0]
	}
	return n != nil && n.Kind == "selector" && s.packages[n.Kids[0]] != ""
}

// resultsOf are the types that a call gives; foreigners tells that they are all
// foreign, however many there are.
func (s *side) resultsOf(n *tree.Node, depth int) (types []*tree.Node, foreigners bool) {
	callee := n.Kids[0]
	if callee != nil && callee.Kind == "index" { // of a generic function
		if base := callee.Kids[0]; base != nil && base.Kind == "name" && base.Object != nil && s.functions[base.Object] != nil {
			callee = base
		}
	}
	switch {
	case callee == nil:
		return nil, false
	case callee.Kind == "name" && callee.Object != nil && s.functions[callee.Object] != nil:
		return s.functions[callee.Object], false
	case callee.Kind == "selector" && s.packages[callee.Kids[0]] != "":
		return s.resultsOfForeign(n, s.packages[callee.Kids[0]]+"."+callee.Kids[1].Text, depth)
	case callee.Kind == "selector":
		f := s.memberOf(callee, depth)
		if f.place == resolved && f.member.method {
			for _, r := range f.member.results {
				types = append(types, s.given(f, r))
			}
			return types, false
		}
		if f.place == elsewhere {
			return nil, s.isForeign(s.typing(callee.Kids[0], depth))
		}
	}
	return s.resultsOfValue(s.underlying(s.typing(callee, depth), 0))
}

// resultsOfForeign are those of a function of another package. It can give
// what is ours only if it is generic.
func (s *side) resultsOfForeign(n *tree.Node, function string, depth int) (types []*tree.Node, elsewhere bool) {
	args := n.Kids[1:]
	if sameAsFirst()[function] && len(args) > 0 {
		if t := s.typing(args[0], depth); t != nil && !s.isForeign(t) {
			return []*tree.Node{t}, false
		}
	}
	if standardPackages()[packageOf(function)] && !genericFunctions()[function] {
		return nil, true
	}
	for _, a := range args {
		if !s.isForeign(s.typing(a, depth)) {
			return nil, false
		}
	}
	return nil, true
}

func packageOf(function string) string {
	for i := len(function) - 1; i >= 0; i-- {
		if function[i] == '.' {
			return function[:i]
		}
	}
	return ""
}

// resultsOfValue are those of a variable or a literal of a function.
func (s *side) resultsOfValue(t *tree.Node) (types []*tree.Node, elsewhere bool) {
	if t == nil {
		return nil, false
	}
	switch t.Kind {
	case "function type":
		return t.Kids[len(t.Kids)-1].Kids, false
	case "function literal":
		for _, r := range t.Kids[0].Kids[1].Kids {
			types = append(types, r.Kids[len(r.Kids)-1])
		}
		return types, false
	}
	return nil, s.isForeign(t)
}
