package golang

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// use is a name where it is used.
func (c *converter) use(id *ast.Ident) *tree.Node {
	if id.Name != "_" {
		if o := c.scope.lookup(id.Name); o != nil {
			n := c.node(id.Pos(), "name", "")
			n.Object = o
			if typ := c.symbol[o]; typ != nil {
				c.symbols[n] = typ
			}
			return n
		}
	}
	return c.node(id.Pos(), "name", id.Name)
}

func (c *converter) exprs(list []ast.Expr) (nodes []*tree.Node) {
	for _, e := range list {
		nodes = append(nodes, c.expr(e))
	}
	return nodes
}

// expr converts an expression or a type; nil stays nil. Parentheses are what
// the tree says by itself.
func (c *converter) expr(e ast.Expr) *tree.Node {
	if e == nil {
		return nil
	}
	defer c.leave()
	if !c.enter() {
		return nil
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.expr(e.X)
	case *ast.Ident:
		return c.use(e)
	case *ast.BasicLit:
		return c.basicLit(e)
	case *ast.CompositeLit:
		return c.compositeLit(e)
	case *ast.FuncLit:
		return c.funcLit(e)
	case *ast.SelectorExpr:
		n := c.node(e.Sel.Pos(), "selector", "", c.expr(e.X), c.node(e.Sel.Pos(), "member", e.Sel.Name))
		c.selectors = append(c.selectors, n)
		if base := n.Kids[0]; base != nil && base.Kind == "name" && base.Object == nil {
			c.src.bases = append(c.src.bases, base)
		}
		return n
	case *ast.CallExpr:
		return c.call(e)
	case *ast.UnaryExpr:
		return c.node(e.OpPos, "operator", e.Op.String(), c.expr(e.X))
	case *ast.BinaryExpr:
		return c.node(e.OpPos, "operator", e.Op.String(), c.expr(e.X), c.expr(e.Y))
	case *ast.StarExpr:
		return c.node(e.Pos(), "pointer", "", c.expr(e.X))
	}
	return c.lesserExpr(e)
}

func (c *converter) lesserExpr(e ast.Expr) *tree.Node {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return c.node(e.Lbrack, "index", "", c.expr(e.X), c.expr(e.Index))
	case *ast.IndexListExpr:
		return c.node(e.Lbrack, "index", "", append([]*tree.Node{c.expr(e.X)}, c.exprs(e.Indices)...)...)
	case *ast.SliceExpr:
		return c.node(e.Lbrack, "slice", strconv.FormatBool(e.Slice3), c.expr(e.X), c.expr(e.Low), c.expr(e.High), c.expr(e.Max))
	case *ast.TypeAssertExpr:
		return c.node(e.Lparen, "type assertion", "", c.expr(e.X), c.expr(e.Type))
	case *ast.KeyValueExpr:
		return c.node(e.Colon, "element", "", c.expr(e.Key), c.expr(e.Value))
	case *ast.ArrayType:
		return c.arrayType(e)
	case *ast.StructType:
		return c.unnamedType(func(owner *typeInfo) *tree.Node { return c.structType(e, owner) })
	case *ast.InterfaceType:
		return c.unnamedType(func(owner *typeInfo) *tree.Node { return c.interfaceType(e, owner) })
	case *ast.FuncType:
		return c.funcType(e)
	case *ast.MapType:
		return c.node(e.Pos(), "map type", "", c.expr(e.Key), c.expr(e.Value))
	case *ast.ChanType:
		return c.node(e.Pos(), "channel type", strconv.Itoa(int(e.Dir)), c.expr(e.Value))
	case *ast.Ellipsis:
		return c.node(e.Pos(), "variadic", "", c.expr(e.Elt))
	}
	c.unknown(e)
	return nil
}

// unknown syntax is not compared.
func (c *converter) unknown(n ast.Node) {
	if c.err == nil {
		c.err = fmt.Errorf("line %d has syntax that is not known here (%T)", c.src.line(n.Pos()), n)
	}
}

func (c *converter) basicLit(e *ast.BasicLit) *tree.Node {
	n := c.node(e.Pos(), "number", e.Value)
	n.Literal = true
	switch e.Kind {
	case token.STRING:
		n.Kind, n.Text = "string", unquote(e.Value)
		c.src.strings = append(c.src.strings, n.Text)
	case token.CHAR:
		n.Kind, n.Text = "character", unquote(e.Value)
	}
	return n
}

func (c *converter) arrayType(e *ast.ArrayType) *tree.Node {
	switch length := e.Len.(type) {
	case nil:
		return c.node(e.Pos(), "slice type", "", c.expr(e.Elt))
	case *ast.Ellipsis:
		return c.node(e.Pos(), "array type", "...", nil, c.expr(e.Elt))
	default:
		return c.node(e.Pos(), "array type", "", c.expr(length), c.expr(e.Elt))
	}
}

func (c *converter) call(e *ast.CallExpr) *tree.Node {
	n := c.node(e.Lparen, "call", "", c.expr(e.Fun))
	if e.Ellipsis.IsValid() {
		n.Text = "..."
	}
	n.Kids = append(n.Kids, c.exprs(e.Args)...)
	return n
}

func (c *converter) funcLit(e *ast.FuncLit) *tree.Node {
	labels := c.labels
	c.labels = map[string]*tree.Object{}
	n := c.node(e.Pos(), "function literal", "")
	c.in(func() {
		signature, declare := c.signature(e.Type)
		for _, f := range declare {
			f()
		}
		n.Kids = append(n.Kids, signature, c.body(e.Body))
	})
	c.labels = labels
	return n
}

// compositeLit converts a literal whose keys may be fields or expressions,
// which its type decides once all types are known.
func (c *converter) compositeLit(e *ast.CompositeLit) *tree.Node {
	n := c.node(e.Lbrace, "literal", "", c.expr(e.Type))
	l := &literal{typ: n.Kids[0], outer: c.outer}
	c.literals = append(c.literals, l)
	saved := c.outer
	element := func(v ast.Expr, asKey bool) *tree.Node {
		c.outer = nil
		if inner, ok := v.(*ast.CompositeLit); ok && inner.Type == nil {
			outer := *l
			outer.asKey = asKey
			c.outer = &outer
		}
		return c.expr(v)
	}
	for _, elt := range e.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			n.Kids = append(n.Kids, element(elt, false))
			continue
		}
		var key *tree.Node
		if id, ok := kv.Key.(*ast.Ident); ok {
			key = c.node(id.Pos(), "key", id.Name, c.use(id))
			l.keys = append(l.keys, key)
		} else {
			key = c.node(kv.Key.Pos(), "key", "", element(kv.Key, true))
		}
		n.Kids = append(n.Kids, c.node(kv.Colon, "element", "", key, element(kv.Value, false)))
	}
	c.outer = saved
	return n
}
