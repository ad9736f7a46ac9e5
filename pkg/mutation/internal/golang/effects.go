package golang

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// orderOf says whether variables with these values may be declared elsewhere
// in the file. Values that the compiler knows may; values that are only built
// must not pass calls, which could see that they are not there yet.
func (c *converter) orderOf(inits []*tree.Node) tree.Order {
	order := tree.Free
	for _, n := range inits {
		order = max(order, c.orderOfExpr(n))
	}
	return order
}

func (c *converter) orderOfExpr(n *tree.Node) tree.Order {
	if n == nil {
		return tree.Free
	}
	switch n.Kind {
	case "number", "string", "character":
		return tree.Free
	case "function literal":
		return tree.Still
	case "name":
		return c.orderOfName(n)
	case "operator":
		return c.orderOfOperator(n)
	case "literal":
		return max(tree.Still, c.orderOf(n.Kids[1:]))
	case "element":
		return c.orderOf(n.Kids)
	case "key":
		return max(tree.Still, c.orderOf(n.Kids))
	case "selector":
		if base := n.Kids[0]; base != nil && base.Kind == "name" {
			return tree.Still
		}
	case "call":
		return c.orderOfCall(n)
	}
	return tree.Effect
}

func (c *converter) orderOfOperator(n *tree.Node) tree.Order {
	args := c.orderOf(n.Kids)
	switch n.Text {
	case "<-":
		return tree.Effect
	case "&":
		return max(tree.Still, args)
	case "+", "-", "*", "|", "^", "&^", "!":
		return args
	}
	if args == tree.Free {
		return tree.Free
	}
	return tree.Effect // it can panic
}

func isDeclaredType(n *tree.Node) bool {
	for n != nil && n.Kind == "pointer" {
		n = n.Kids[0]
	}
	return n != nil && n.Kind == "name" && n.Object != nil && n.Object.Kind == "type"
}

func (c *converter) orderOfName(n *tree.Node) tree.Order {
	if n.Object == nil && (n.Text == "true" || n.Text == "false" || n.Text == "nil") || n.Object != nil && n.Object.Kind == "constant" {
		return tree.Free
	}
	return tree.Still
}

// orderOfCall knows the calls that do nothing: conversions of plain types, and
// the makers of errors.
func (c *converter) orderOfCall(n *tree.Node) tree.Order {
	callee, args := n.Kids[0], c.orderOf(n.Kids[1:])
	if callee == nil {
		return tree.Effect
	}
	switch {
	case callee.Kind == "name" && callee.Object == nil && predeclaredTypes[callee.Text]:
		return args
	case isDeclaredType(callee):
		return args // (*T)(nil)
	case callee.Kind == "selector" && callee.Kids[0] != nil && callee.Kids[0].Kind == "name" && callee.Kids[0].Object == nil:
		if callee.Kids[0].Text == "errors" && callee.Kids[1].Text == "New" && c.src.importsPlainly("errors") && args == tree.Free {
			return tree.Still
		}
	}
	return tree.Effect
}
