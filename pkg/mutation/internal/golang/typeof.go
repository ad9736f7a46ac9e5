package golang

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// predeclaredTypes are those without fields and methods, whose values are of
// exactly this type where they are assigned to a variable of it.
var predeclaredTypes = map[string]bool{
	"bool": true, "string": true, "int": true, "int8": true, "int16": true, "int32": true, "int64": true, "uint": true, "uint8": true,
	"uint16": true, "uint32": true, "uint64": true, "uintptr": true, "float32": true, "float64": true, "complex64": true,
	"complex128": true, "byte": true, "rune": true,
}

// maxTyping bounds how far the declarations of variables are followed.
const maxTyping = 200

// typeOf is the type of an expression, where declarations in these files tell;
// nil where they do not. It is never a guess.
func (s *side) typeOf(n *tree.Node) *tree.Node { return s.typing(n, 0) }

func (s *side) typing(n *tree.Node, depth int) *tree.Node {
	if n == nil || depth > maxTyping {
		return nil
	}
	if t, ok := s.typeOfNode[n]; ok {
		return t
	}
	s.typeOfNode[n] = nil // what depends on itself has no type
	t := s.find1(n, depth+1)
	s.typeOfNode[n] = t
	return t
}

func (s *side) find1(n *tree.Node, depth int) *tree.Node {
	switch n.Kind {
	case "name":
		return s.typeOfName(n, depth)
	case "operator":
		if len(n.Kids) == 1 && n.Text == "&" {
			if t := s.typing(n.Kids[0], depth); t != nil {
				return &tree.Node{Kind: "pointer", Kids: []*tree.Node{t}}
			}
		}
	case "pointer":
		if s.isType(n) {
			return n // of a method expression or a conversion
		}
		if t := s.underlyingPlain(s.typing(n.Kids[0], depth)); t != nil && t.Kind == "pointer" {
			return t.Kids[0]
		}
	case "literal":
		return n.Kids[0]
	case "type assertion":
		return n.Kids[1]
	case "slice":
		return s.sliced(s.typing(n.Kids[0], depth))
	case "index":
		return s.elementOf(n.Kids[0], depth)
	case "selector":
		return s.typeOfSelector(n, depth)
	case "call":
		return s.typeOfCall(n, depth)
	}
	return nil
}

func (s *side) typeOfName(n *tree.Node, depth int) *tree.Node {
	if n.Object == nil {
		return nil
	}
	if _, isType := s.types[n.Object]; isType {
		return n
	}
	v := s.values[n.Object]
	switch {
	case v == nil:
		return nil
	case v.typ != nil:
		return v.typ
	case v.element:
		return s.elementOf(v.init, depth)
	case v.of > 1:
		return s.typeOfOne(v, depth)
	}
	return s.typing(v.init, depth)
}

// typeOfOne is the type of one of the variables that share a value.
func (s *side) typeOfOne(v *value, depth int) *tree.Node {
	if v.init == nil {
		return nil
	}
	switch v.init.Kind {
	case "call":
		if results := s.resultsOf(v.init, depth); len(results) == v.of {
			return results[v.index]
		}
	case "type assertion", "index":
		if v.of == 2 && v.index == 0 {
			return s.typing(v.init, depth)
		}
	}
	return nil
}

// isType tells whether an expression is a type that these files declare, or a
// pointer to one.
func (s *side) isType(n *tree.Node) bool {
	for n != nil && n.Kind == "pointer" {
		n = n.Kids[0]
	}
	return s.declared(n) != nil
}

func (s *side) underlyingPlain(t *tree.Node) *tree.Node {
	if t == nil || s.isGeneric(t) {
		return nil
	}
	return s.underlying(t, 0)
}

// isGeneric types have members whose types depend on how they are
// instantiated.
func (s *side) isGeneric(t *tree.Node) bool { return t.Kind == "index" }

func (s *side) sliced(t *tree.Node) *tree.Node {
	if u := s.underlyingPlain(t); u != nil && u.Kind == "slice type" {
		return t
	}
	return nil
}

// elementOf is the type of the elements of an expression of slice, array or
// map type.
func (s *side) elementOf(n *tree.Node, depth int) *tree.Node {
	u := s.underlyingPlain(s.typing(n, depth))
	if u == nil {
		return nil
	}
	switch u.Kind {
	case "slice type":
		return u.Kids[0]
	case "array type", "map type":
		return u.Kids[1]
	}
	return nil
}

func (s *side) typeOfSelector(n *tree.Node, depth int) *tree.Node {
	m := s.memberOf(n, depth)
	if m == nil || m.method {
		return nil
	}
	return m.typ
}

// memberOf is the member that a selector means, whether it has been resolved
// already or not.
func (s *side) memberOf(n *tree.Node, depth int) *member {
	name := n.Kids[1].Text
	if o := n.Kids[1].Object; o != nil {
		name = o.Name
	}
	return s.find(s.typing(n.Kids[0], depth), name)
}

func (s *side) typeOfCall(n *tree.Node, depth int) *tree.Node {
	callee := n.Kids[0]
	if callee == nil {
		return nil
	}
	if s.isType(callee) {
		return callee // a conversion
	}
	if callee.Kind == "name" && callee.Object == nil {
		if callee.Text == "new" && len(n.Kids) == 2 && s.isType(n.Kids[1]) {
			return &tree.Node{Kind: "pointer", Kids: []*tree.Node{n.Kids[1]}}
		}
		if callee.Text == "make" && len(n.Kids) > 1 {
			return n.Kids[1]
		}
	}
	if results := s.resultsOf(n, depth); len(results) == 1 {
		return results[0]
	}
	return nil
}

// resultsOf are the types that a call of a declared function or method gives.
func (s *side) resultsOf(n *tree.Node, depth int) []*tree.Node {
	callee := n.Kids[0]
	if callee == nil {
		return nil
	}
	switch {
	case callee.Kind == "name" && callee.Object != nil:
		if f := s.functions[callee.Object]; f != nil && !f.generic {
			return f.results
		}
	case callee.Kind == "selector":
		if m := s.memberOf(callee, depth); m != nil {
			return m.results
		}
	}
	return nil
}
