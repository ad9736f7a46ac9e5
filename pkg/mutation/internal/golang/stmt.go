package golang

import (
	"go/ast"
	"go/token"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

func (c *converter) stmts(list []ast.Stmt) (nodes []*tree.Node) {
	for _, s := range list {
		nodes = append(nodes, c.stmt(s)...)
	}
	return nodes
}

func (c *converter) block(b *ast.BlockStmt) *tree.Node {
	if b == nil {
		return nil
	}
	n := c.node(b.Pos(), "block", "")
	c.in(func() { n.Kids = c.stmts(b.List) })
	return n
}

// one converts a statement that stands where there can be one only; nil stays
// nil.
func (c *converter) one(s ast.Stmt) *tree.Node {
	if s == nil {
		return nil
	}
	nodes := c.stmt(s)
	switch len(nodes) {
	case 0:
		return c.node(s.Pos(), "empty statement", "")
	case 1:
		return nodes[0]
	}
	return c.node(s.Pos(), "declarations", "", nodes...)
}

// stmt converts a statement; a group of declarations gives several nodes, an
// empty statement none.
func (c *converter) stmt(s ast.Stmt) []*tree.Node {
	defer c.leave()
	if !c.enter() {
		return nil
	}
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return nil
	case *ast.DeclStmt:
		return c.declStmt(s.Decl.(*ast.GenDecl))
	case *ast.LabeledStmt:
		n := c.node(s.Pos(), "labeled statement", "", c.label(s.Label))
		n.Kids = append(n.Kids, c.one(s.Stmt))
		return []*tree.Node{n}
	}
	return []*tree.Node{c.simple(s)}
}

func (c *converter) simple(s ast.Stmt) *tree.Node {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return c.node(s.Pos(), "statement", "", c.expr(s.X))
	case *ast.SendStmt:
		return c.node(s.Arrow, "send", "", c.expr(s.Chan), c.expr(s.Value))
	case *ast.IncDecStmt:
		return c.node(s.TokPos, "statement", s.Tok.String(), c.expr(s.X))
	case *ast.AssignStmt:
		return c.assign(s)
	case *ast.GoStmt:
		return c.node(s.Pos(), "go statement", "", c.expr(s.Call))
	case *ast.DeferStmt:
		return c.node(s.Pos(), "defer statement", "", c.expr(s.Call))
	case *ast.ReturnStmt:
		return c.node(s.Pos(), "return", "", c.exprs(s.Results)...)
	case *ast.BranchStmt:
		return c.node(s.Pos(), "branch", s.Tok.String(), c.label(s.Label))
	case *ast.BlockStmt:
		return c.block(s)
	}
	return c.compound(s)
}

func (c *converter) compound(s ast.Stmt) (n *tree.Node) {
	c.in(func() {
		switch s := s.(type) {
		case *ast.IfStmt:
			n = c.node(s.Pos(), "if", "", c.one(s.Init), c.expr(s.Cond), c.block(s.Body), c.one(s.Else))
		case *ast.ForStmt:
			n = c.node(s.Pos(), "for", "", c.one(s.Init), c.expr(s.Cond), c.one(s.Post), c.block(s.Body))
		case *ast.RangeStmt:
			n = c.rangeStmt(s)
		case *ast.SwitchStmt:
			n = c.node(s.Pos(), "switch", "", c.one(s.Init), c.expr(s.Tag))
			n.Kids = append(n.Kids, c.clauses(s.Body, nil)...)
		case *ast.TypeSwitchStmt:
			n = c.typeSwitch(s)
		case *ast.SelectStmt:
			n = c.node(s.Pos(), "select", "", c.clauses(s.Body, nil)...)
		default:
			c.unknown(s)
		}
	})
	return n
}

// clauses converts those of a switch or select. symbol is what a type switch
// declares in each of them, behind the types.
func (c *converter) clauses(body *ast.BlockStmt, symbol *tree.Object) (nodes []*tree.Node) {
	for _, s := range body.List {
		c.in(func() {
			switch s := s.(type) {
			case *ast.CaseClause:
				n := c.node(s.Pos(), "case", "", c.exprs(s.List)...)
				if s.List == nil {
					n.Text = "default"
				}
				if symbol != nil {
					c.declare(symbol)
					c.symbol[symbol] = nil
					if len(n.Kids) == 1 {
						c.symbol[symbol] = n.Kids[0]
					}
				}
				n.Kids = append(n.Kids, c.node(s.Colon, "body", "", c.stmts(s.Body)...))
				nodes = append(nodes, n)
			case *ast.CommClause:
				n := c.node(s.Pos(), "case", "", c.one(s.Comm))
				if s.Comm == nil {
					n.Text = "default"
				}
				n.Kids = append(n.Kids, c.node(s.Colon, "body", "", c.stmts(s.Body)...))
				nodes = append(nodes, n)
			default:
				c.unknown(s)
			}
		})
	}
	return nodes
}

func (c *converter) typeSwitch(s *ast.TypeSwitchStmt) *tree.Node {
	n := c.node(s.Pos(), "type switch", "", c.one(s.Init))
	var symbol *tree.Object
	if assign, ok := s.Assign.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 {
		of := c.expr(assign.Rhs[0])
		id, ok := assign.Lhs[0].(*ast.Ident)
		if !ok {
			c.unknown(s)
			return nil
		}
		name := c.node(id.Pos(), "name", "_")
		if id.Name != "_" {
			symbol = &tree.Object{Name: id.Name, Kind: "local variable", Line: c.src.line(id.Pos())}
			if of != nil && of.Kind == "type assertion" {
				c.values[symbol] = &value{init: of.Kids[0]}
			}
			name = &tree.Node{Kind: "name", Object: symbol, Line: symbol.Line}
		}
		n.Kids = append(n.Kids, name, of)
	} else {
		n.Kids = append(n.Kids, c.one(s.Assign))
	}
	n.Kids = append(n.Kids, c.clauses(s.Body, symbol)...)
	return n
}

func (c *converter) label(id *ast.Ident) *tree.Node {
	if id == nil {
		return nil
	}
	if id.Name == "_" || c.labels == nil {
		return c.node(id.Pos(), "label", id.Name)
	}
	o := c.labels[id.Name]
	if o == nil {
		o = &tree.Object{Name: id.Name, Kind: "label", Line: c.src.line(id.Pos())}
		c.labels[id.Name] = o
	}
	return &tree.Node{Kind: "label", Object: o, Line: c.src.line(id.Pos())}
}

func (c *converter) local(id *ast.Ident, kind string) *tree.Object {
	o := &tree.Object{Name: id.Name, Kind: kind, Line: c.src.line(id.Pos())}
	c.declare(o)
	return o
}

// assign converts assignments and short declarations, whose new names are
// declared behind them.
func (c *converter) assign(s *ast.AssignStmt) *tree.Node {
	n := c.node(s.TokPos, "assignment", s.Tok.String())
	right := c.exprs(s.Rhs)
	if s.Tok == token.DEFINE {
		n.Kids = c.define(s.Lhs)
		c.note(n.Kids, nil, right)
	} else {
		n.Kids = c.exprs(s.Lhs)
	}
	n.Kids = append(n.Kids, c.node(s.TokPos, "values", "", right...))
	return n
}

// define declares what is new in this block of the left side of a short
// declaration.
func (c *converter) define(left []ast.Expr) (nodes []*tree.Node) {
	for _, e := range left {
		id, ok := e.(*ast.Ident)
		if !ok {
			nodes = append(nodes, c.expr(e))
			continue
		}
		if id.Name == "_" {
			nodes = append(nodes, c.node(id.Pos(), "name", "_"))
			continue
		}
		o := c.scope.names[id.Name]
		kind := "name" // an assignment
		if o == nil {
			o, kind = c.local(id, "local variable"), "new name"
		}
		nodes = append(nodes, &tree.Node{Kind: kind, Object: o, Line: c.src.line(id.Pos())})
	}
	return nodes
}

func (c *converter) rangeStmt(s *ast.RangeStmt) *tree.Node {
	n := c.node(s.Pos(), "range", s.Tok.String())
	over := c.expr(s.X)
	var left []ast.Expr
	for _, e := range []ast.Expr{s.Key, s.Value} {
		if e != nil {
			left = append(left, e)
		}
	}
	targets := c.node(s.Pos(), "targets", "")
	if s.Tok == token.DEFINE {
		targets.Kids = c.define(left)
		for i, t := range targets.Kids {
			if t.Kind == "new name" {
				c.values[t.Object] = &value{init: over, over: true, index: i}
			}
		}
	} else {
		targets.Kids = c.exprs(left)
	}
	n.Kids = []*tree.Node{targets, over, c.block(s.Body)}
	return n
}

func (c *converter) declStmt(d *ast.GenDecl) (nodes []*tree.Node) {
	switch d.Tok {
	case token.CONST:
		c.eachConst(d, func(spec, from *ast.ValueSpec, iota int) {
			var later []*tree.Object
			nodes = append(nodes, c.constSpec(spec, from, iota, func(id *ast.Ident) *tree.Node {
				return c.newName(id, "local constant", &later)
			}))
			c.declareAll(later)
		})
	case token.VAR:
		for _, spec := range d.Specs {
			nodes = append(nodes, c.localVars(spec.(*ast.ValueSpec))...)
		}
	case token.TYPE:
		for _, spec := range d.Specs {
			spec := spec.(*ast.TypeSpec)
			var o *tree.Object
			if spec.Name.Name != "_" {
				o = c.local(spec.Name, "local type")
				o.Reach = tree.Shared // programs can print its name
			}
			nodes = append(nodes, c.typeSpec(spec, o))
		}
	default:
		c.unknown(d)
	}
	return nodes
}

// newName is a name that is declared behind the spec that it stands in.
func (c *converter) newName(id *ast.Ident, kind string, later *[]*tree.Object) *tree.Node {
	if id.Name == "_" {
		return c.node(id.Pos(), "name", "_")
	}
	o := &tree.Object{Name: id.Name, Kind: kind, Line: c.src.line(id.Pos())}
	*later = append(*later, o)
	return &tree.Node{Kind: "new name", Object: o, Line: o.Line}
}

func (c *converter) declareAll(objects []*tree.Object) {
	for _, o := range objects {
		c.declare(o)
	}
}

func (c *converter) localVars(spec *ast.ValueSpec) (nodes []*tree.Node) {
	groups := [][]*ast.Ident{spec.Names}
	if len(spec.Values) == 0 {
		groups = nil
		for i := range spec.Names {
			groups = append(groups, spec.Names[i:i+1])
		}
	}
	var later []*tree.Object
	for _, names := range groups {
		n := c.node(names[0].Pos(), "variable declaration", "")
		for _, id := range names {
			n.Kids = append(n.Kids, c.newName(id, "local variable", &later))
		}
		var typ *tree.Node
		if spec.Type != nil {
			typ = c.typ(spec.Type)
			n.Kids = append(n.Kids, c.node(names[0].Pos(), "of type", "", typ))
		}
		inits := c.exprs(spec.Values)
		c.note(n.Kids[:len(names)], typ, inits)
		n.Kids = append(n.Kids, c.node(names[0].Pos(), "values", "", inits...))
		nodes = append(nodes, n)
	}
	c.declareAll(later)
	return nodes
}
