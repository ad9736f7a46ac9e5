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

// typing is the type of an expression, where declarations in these files tell;
// nil where they do not. It is never a guess.
func (s *side) typing(n *tree.Node, depth int) *tree.Node {
	if n == nil || depth > maxTyping {
		return nil
	}
	if t, ok := s.symbols[n]; ok {
		return t
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
	case "number", "string", "character":
		return foreign
	case "operator":
		return s.typeOfOperator(n, depth)
	case "pointer":
		if s.isType(n) {
			return n // of a method expression or a conversion
		}
		return s.pointedTo(s.typing(n.Kids[0], depth))
	case "literal":
		return s.typeOfLiteral(n)
	case "function literal":
		return n
	case "type assertion":
		return n.Kids[1]
	case "slice":
		return s.sliced(s.typing(n.Kids[0], depth))
	case "index":
		return s.typeOfIndex(n, depth)
	case "selector":
		return s.typeOfSelector(n, depth)
	case "call":
		return s.typeOfCall(n, depth)
	}
	return nil
}

func pointerTo(t *tree.Node) *tree.Node {
	if t == nil || t == foreign {
		return t
	}
	return &tree.Node{Kind: "pointer", Kids: []*tree.Node{t}}
}

func (s *side) pointedTo(t *tree.Node) *tree.Node {
	if s.isForeign(t) {
		return foreign
	}
	if u := s.underlying(t, 0); u != nil && u.Kind == "pointer" {
		return u.Kids[0]
	}
	return nil
}

func (s *side) typeOfName(n *tree.Node, depth int) *tree.Node {
	if n.Object == nil {
		switch n.Text {
		case "true", "false", "iota", "nil":
			return foreign
		}
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
	case v.over:
		return s.ranged(s.typing(v.init, depth), v.index)
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
		if results, elsewhere := s.resultsOf(v.init, depth); elsewhere {
			return foreign
		} else if len(results) == v.of {
			return results[v.index]
		}
	case "type assertion", "index", "operator":
		if v.index == 1 {
			return foreign // whether there is one
		}
		return s.typing(v.init, depth)
	}
	return nil
}

// throughPointer is what is underlying a type, or the type that it points to.
func (s *side) throughPointer(t *tree.Node) *tree.Node {
	u := s.underlying(t, 0)
	if u != nil && u.Kind == "pointer" {
		u = s.underlying(u.Kids[0], 0)
	}
	return u
}

// ranged is the type of the index-th variable of a range clause.
func (s *side) ranged(t *tree.Node, index int) *tree.Node {
	if s.isForeign(t) {
		return foreign
	}
	u := s.throughPointer(t)
	if u == nil {
		return nil
	}
	switch u.Kind {
	case "slice type", "array type":
		if index == 0 {
			return foreign
		}
		return s.elementOf(u)
	case "map type":
		return u.Kids[index]
	case "channel type":
		return u.Kids[0]
	case "function type":
		return s.yielded(u, index)
	}
	if u.Kind == "name" && u.Object == nil && predeclaredTypes[u.Text] {
		if index == 0 && u.Text != "string" {
			return t // an integer
		}
		return foreign
	}
	return nil
}

// yielded is what a function that is ranged over gives to its argument.
func (s *side) yielded(f *tree.Node, index int) *tree.Node {
	if len(f.Kids) != 2 {
		return nil
	}
	yield := s.underlying(f.Kids[0], 0)
	if yield == nil || yield.Kind != "function type" || index >= len(yield.Kids)-1 {
		return nil
	}
	return yield.Kids[index]
}

// isType tells whether an expression is a type that these files declare, or
// one that shows by its syntax.
func (s *side) isType(n *tree.Node) bool {
	for n != nil && n.Kind == "pointer" {
		n = n.Kids[0]
	}
	if n == nil {
		return false
	}
	switch n.Kind {
	case "slice type", "array type", "map type", "channel type", "function type", "struct", "interface":
		return true
	case "name":
		return s.declared(n) != nil || n.Object == nil && (predeclaredTypes[n.Text] || n.Text == "error" || n.Text == "any") ||
			n.Object != nil && n.Object.Kind == "type parameter"
	}
	return s.declared(n) != nil
}

// typeOfLiteral is the type of a composite literal that has one of its own.
func (s *side) typeOfLiteral(n *tree.Node) *tree.Node {
	t := n.Kids[0]
	if t != nil && t.Kind == "array type" && t.Text == "..." {
		return &tree.Node{Kind: "array type", Kids: t.Kids}
	}
	return t
}

func (s *side) typeOfOperator(n *tree.Node, depth int) *tree.Node {
	switch n.Text {
	case "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!":
		return foreign
	}
	left := s.typing(n.Kids[0], depth)
	if len(n.Kids) == 1 {
		switch n.Text {
		case "&":
			return pointerTo(left)
		case "<-":
			return s.received(left)
		}
		return left
	}
	if n.Text == "<<" || n.Text == ">>" {
		return left
	}
	right := s.typing(n.Kids[1], depth)
	switch {
	case left != nil && !s.isForeign(left):
		return left
	case right != nil && !s.isForeign(right):
		return right // an untyped constant takes the other's type
	case left == nil:
		return nil
	}
	return right
}

func (s *side) received(t *tree.Node) *tree.Node {
	if s.isForeign(t) {
		return foreign
	}
	if u := s.underlying(t, 0); u != nil && u.Kind == "channel type" {
		return u.Kids[0]
	}
	return nil
}

func (s *side) sliced(t *tree.Node) *tree.Node {
	if s.isForeign(t) {
		return foreign
	}
	u := s.throughPointer(t)
	if u == nil {
		return nil
	}
	if u.Kind == "array type" {
		return &tree.Node{Kind: "slice type", Kids: u.Kids[1:]}
	}
	// A type of another file is a slice or a string where what this gives has
	// members: an array would give a slice without a name.
	if u.Kind == "slice type" || s.isForeign(u) || u == t && s.declared(t) != nil {
		return t
	}
	return nil
}

// typeOfIndex is the type of an element, or of an instance of a generic type
// or function.
func (s *side) typeOfIndex(n *tree.Node, depth int) *tree.Node {
	if s.declared(n) != nil {
		return n
	}
	base := n.Kids[0]
	t := s.typing(base, depth)
	if s.isForeign(t) {
		for _, argument := range n.Kids[1:] {
			if base.Kind == "selector" && s.packages[base.Kids[0]] != "" && !s.isForeign(s.typing(argument, depth)) {
				return nil // it can be a function, and the argument a type
			}
		}
		return foreign
	}
	return s.elementOf(t)
}

// elementOf is the type of the elements of a slice, array, map or pointer to
// an array.
func (s *side) elementOf(t *tree.Node) *tree.Node {
	u := s.underlying(t, 0)
	if u != nil && u.Kind == "pointer" {
		if u = s.underlying(u.Kids[0], 0); u != nil && u.Kind != "array type" {
			return nil
		}
	}
	if u == nil {
		return nil
	}
	switch u.Kind {
	case "slice type":
		return u.Kids[0]
	case "array type", "map type":
		return u.Kids[1]
	}
	if s.isForeign(u) {
		return foreign // a letter of a string
	}
	return nil
}

func (s *side) typeOfSelector(n *tree.Node, depth int) *tree.Node {
	f := s.memberOf(n, depth)
	switch {
	case f.place == resolved && !f.member.method:
		return s.given(f, f.member.typ)
	case f.place != elsewhere:
		return nil
	}
	if s.packages[n.Kids[0]] != "" || s.isForeign(s.typing(n.Kids[0], depth)) {
		return foreign
	}
	return nil
}

// memberOf is the member that a selector means, whether it has been resolved
// already or not.
func (s *side) memberOf(n *tree.Node, depth int) found {
	if s.packages[n.Kids[0]] != "" {
		return found{place: elsewhere}
	}
	name := n.Kids[1].Text
	if o := n.Kids[1].Object; o != nil {
		name = o.Name
	}
	return s.lookup(s.typing(n.Kids[0], depth), name)
}
