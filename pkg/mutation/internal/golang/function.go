package golang

import (
	"go/ast"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

func (c *converter) funcDecl(decl *tree.Decl, d *ast.FuncDecl) {
	n := c.node(d.Pos(), "function", "")
	decl.Label = "func " + d.Name.Name
	if d.Recv != nil {
		n.Kind = "method"
		decl.Label = "method " + d.Name.Name
	}
	c.labels = map[string]*tree.Object{}
	c.in(func() {
		var receiver *typeInfo
		var after []func()
		if d.Recv != nil {
			var recv *tree.Node
			recv, receiver, after = c.receiver(d.Recv)
			n.Kids = append(n.Kids, recv)
			if id := receiverBase(receiverType(d.Recv)); id != nil {
				decl.Label = "method " + id.Name + "." + d.Name.Name
			}
		}
		n.Kids = append(n.Kids, c.funcName(decl, d, receiver))
		if d.Type.TypeParams != nil {
			list, _ := c.typeParams(d.Type.TypeParams)
			n.Kids = append(n.Kids, list)
		}
		signature, declare := c.signature(d.Type)
		n.Kids = append(n.Kids, signature)
		for _, f := range append(after, declare...) {
			f()
		}
		c.noteFunction(d, signature, receiver)
		if d.Body != nil {
			n.Kids = append(n.Kids, c.body(d.Body))
		}
	})
	c.labels = nil
	decl.Node = n
	if d.Recv == nil && (d.Name.Name == "init" || c.src.isTest() && testKind(d.Name.Name) != "") {
		decl.Order = tree.Effect
	}
	if d.Recv == nil && d.Body == nil {
		c.pin(d.Name, "its body is in another file")
	}
}

func (c *converter) pin(name *ast.Ident, why string) {
	if o := c.pkg.lookup(name.Name); o != nil {
		o.Pinned = why
	}
}

// body converts a function's outermost block, whose names are in one block
// with the parameters.
func (c *converter) body(b *ast.BlockStmt) *tree.Node {
	saved := c.decl
	c.decl = nil
	n := c.node(b.Pos(), "body", "", c.stmts(b.List)...)
	c.decl = saved
	return n
}

func (c *converter) funcName(decl *tree.Decl, d *ast.FuncDecl, receiver *typeInfo) *tree.Node {
	switch {
	case d.Recv == nil && d.Name.Name == "init":
		return c.node(d.Name.Pos(), "name", "init")
	case d.Recv == nil:
		if d.Name.Name == "main" {
			c.pin(d.Name, "programs start there")
		}
		return c.global(decl, d.Name)
	case receiver == nil || d.Name.Name == "_":
		c.fixed[d.Name.Name] = true
		return c.node(d.Name.Pos(), "member", d.Name.Name)
	}
	m := receiver.methods[d.Name.Name]
	if m == nil {
		m = &member{
			object: &tree.Object{Name: d.Name.Name, Kind: "method", Line: c.src.line(d.Name.Pos()), Reach: tree.Member},
			owner:  receiver, method: true,
		}
		receiver.methods[d.Name.Name] = m
	} else {
		m.object.Pinned = "it is declared twice"
	}
	decl.Objects = append(decl.Objects, m.object)
	return &tree.Node{Kind: "member", Object: m.object, Line: c.src.line(d.Name.Pos())}
}

// receiver converts the receiver of a method. Its name is declared by what it
// returns, together with the parameters.
func (c *converter) receiver(list *ast.FieldList) (n *tree.Node, owner *typeInfo, declare []func()) {
	n = c.node(list.Pos(), "receiver", strconv.Itoa(list.NumFields()))
	c.receiverParams = nil
	for _, f := range list.List {
		base := plainType(f.Type)
		for _, p := range receiverParams(base) {
			o := &tree.Object{Name: "_", Kind: "type parameter", Line: c.src.line(p.Pos())}
			if id, ok := ast.Unparen(p).(*ast.Ident); ok {
				o.Name = id.Name
				c.declare(o)
			}
			c.receiverParams = append(c.receiverParams, o)
		}
		if id := receiverBase(base); id != nil {
			owner = c.receiverType(id)
		}
		typ := c.typ(f.Type)
		name := c.node(f.Pos(), "name", "_")
		if len(f.Names) > 0 {
			name = c.parameter(f.Names[0], "receiver", typ, &declare)
		}
		n.Kids = append(n.Kids, name, typ)
	}
	return n, owner, declare
}

func plainType(e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if star, ok := e.(*ast.StarExpr); ok {
		return ast.Unparen(star.X)
	}
	return e
}

func receiverType(list *ast.FieldList) ast.Expr {
	if len(list.List) == 0 {
		return nil
	}
	return plainType(list.List[0].Type)
}

func (c *converter) receiverType(id *ast.Ident) *typeInfo {
	switch o := c.pkg.lookup(id.Name); {
	case o == nil && c.elsewhere[id.Name] == nil:
		c.elsewhere[id.Name] = newTypeInfo(nil)
		return c.elsewhere[id.Name]
	case o == nil:
		return c.elsewhere[id.Name]
	case o.Kind == "type":
		return c.typeInfo(o)
	}
	return nil
}

func receiverBase(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return receiverBase(ast.Unparen(e.X))
	case *ast.IndexListExpr:
		return receiverBase(ast.Unparen(e.X))
	}
	return nil
}

func receiverParams(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return []ast.Expr{e.Index}
	case *ast.IndexListExpr:
		return e.Indices
	}
	return nil
}

// noteFunction keeps what calls of a function or method give.
func (c *converter) noteFunction(d *ast.FuncDecl, signature *tree.Node, receiver *typeInfo) {
	var results []*tree.Node
	for _, r := range signature.Kids[1].Kids {
		results = append(results, r.Kids[len(r.Kids)-1])
	}
	switch {
	case receiver != nil:
		if m := receiver.methods[d.Name.Name]; m != nil {
			m.results, m.signature, m.params = results, signature, c.receiverParams
		}
	case d.Recv == nil:
		if o := c.pkg.lookup(d.Name.Name); o != nil {
			c.functions[o] = results
		}
	}
}
