package golang

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// typeSpec converts the declaration of a type whose name is already declared
// as o; o is nil for the blank type.
func (c *converter) typeSpec(spec *ast.TypeSpec, o *tree.Object) *tree.Node {
	n := c.node(spec.Pos(), "type declaration", "")
	if spec.Assign.IsValid() {
		n.Text = "alias"
	}
	if o == nil {
		n.Kids = append(n.Kids, c.node(spec.Name.Pos(), "name", "_"))
	} else {
		n.Kids = append(n.Kids, &tree.Node{Kind: "name", Object: o, Line: c.src.line(spec.Name.Pos())})
		if c.decl != nil {
			c.decl.Objects = append(c.decl.Objects, o)
		}
	}
	c.in(func() {
		if spec.TypeParams != nil {
			list, params := c.typeParams(spec.TypeParams)
			n.Kids = append(n.Kids, list)
			if o != nil {
				c.typeInfo(o).params = params
			}
		}
		n.Kids = append(n.Kids, c.declaredType(spec, o))
	})
	return n
}

// declaredType converts what a type is declared as. The members of a struct
// or an interface that has a name of its own can be renamed.
func (c *converter) declaredType(spec *ast.TypeSpec, o *tree.Object) *tree.Node {
	if o == nil {
		return c.typ(spec.Type)
	}
	info := c.typeInfo(o)
	info.alias = spec.Assign.IsValid()
	owner := info
	if info.expr != nil {
		owner = nil // of another file, which has the type in another build
	}
	expr := c.declaredAs(ast.Unparen(spec.Type), owner, info.alias)
	if owner != nil {
		info.expr = expr
	}
	return expr
}

func (c *converter) declaredAs(e ast.Expr, owner *typeInfo, alias bool) *tree.Node {
	if !alias {
		switch t := e.(type) {
		case *ast.StructType:
			return c.structType(t, owner)
		case *ast.InterfaceType:
			return c.interfaceType(t, owner)
		}
	}
	return c.typ(e)
}

// unnamedType converts the literal of a struct or interface.
func (c *converter) unnamedType(convert func(*typeInfo) *tree.Node) *tree.Node {
	info := newTypeInfo(nil)
	info.unnamed = true
	info.expr = convert(info)
	c.unnamed[info.expr] = info
	return info.expr
}

// typ converts a type. Types and expressions cannot always be told apart by
// their syntax, and need not be.
func (c *converter) typ(e ast.Expr) *tree.Node { return c.expr(e) }

func (c *converter) typeParams(list *ast.FieldList) (n *tree.Node, params []*tree.Object) {
	n = c.node(list.Pos(), "type parameters", "")
	for _, f := range list.List {
		for _, id := range f.Names {
			o := &tree.Object{Name: id.Name, Kind: "type parameter", Line: c.src.line(id.Pos())}
			c.declare(o)
			params = append(params, o)
		}
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			name := c.node(id.Pos(), "name", "_")
			if id.Name != "_" {
				name = c.use(id)
			}
			n.Kids = append(n.Kids, name, c.typ(f.Type))
		}
	}
	return n, params
}

// signature converts parameters and results. Types are resolved outside of the
// block in which the names are declared; what it returns declares them.
func (c *converter) signature(t *ast.FuncType) (n *tree.Node, declare []func()) {
	in := c.node(t.Pos(), "parameters", "")
	if t.Params != nil {
		in.Line = c.src.line(t.Params.Pos())
	}
	out := c.node(t.Pos(), "results", "")
	c.fields(t.Params, func(id *ast.Ident, typ ast.Expr) {
		in.Kids = append(in.Kids, c.parameterNode(id, typ, "parameter", &declare))
	})
	c.fields(t.Results, func(id *ast.Ident, typ ast.Expr) {
		p := c.parameterNode(id, typ, "result", &declare)
		if id == nil {
			p.Kids = p.Kids[1:] // unnamed results are not the same as blank ones
		}
		out.Kids = append(out.Kids, p)
	})
	return c.node(t.Pos(), "signature", "", in, out), declare
}

func (c *converter) fields(list *ast.FieldList, each func(*ast.Ident, ast.Expr)) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		if len(f.Names) == 0 {
			each(nil, f.Type)
		}
		for _, id := range f.Names {
			each(id, f.Type)
		}
	}
}

func (c *converter) parameterNode(id *ast.Ident, typ ast.Expr, kind string, declare *[]func()) *tree.Node {
	n := c.node(typ.Pos(), kind, "")
	t := c.typ(typ)
	known := t
	if t != nil && t.Kind == "variadic" {
		known = &tree.Node{Kind: "slice type", Kids: t.Kids}
	}
	name := c.node(typ.Pos(), "name", "_")
	if id != nil {
		name = c.parameter(id, kind, known, declare)
	}
	n.Kids = []*tree.Node{name, t}
	return n
}

func (c *converter) parameter(id *ast.Ident, kind string, typ *tree.Node, declare *[]func()) *tree.Node {
	if id.Name == "_" {
		return c.node(id.Pos(), "name", "_")
	}
	o := &tree.Object{Name: id.Name, Kind: kind, Line: c.src.line(id.Pos())}
	c.values[o] = &value{typ: typ}
	*declare = append(*declare, func() { c.declare(o) })
	return &tree.Node{Kind: "name", Object: o, Line: o.Line}
}

// funcType converts a type of functions, in which names mean nothing.
func (c *converter) funcType(t *ast.FuncType) *tree.Node {
	n := c.node(t.Pos(), "function type", "")
	if t.TypeParams != nil {
		list, _ := c.typeParams(t.TypeParams)
		n.Kids = append(n.Kids, list)
	}
	results := c.node(t.Pos(), "results", "")
	names := map[string]bool{}
	once := func(id *ast.Ident) {
		if id != nil && id.Name != "_" && names[id.Name] && c.err == nil {
			c.err = fmt.Errorf("%q is declared twice in line %d", id.Name, c.src.line(id.Pos()))
		} else if id != nil {
			names[id.Name] = true
		}
	}
	c.fields(t.Params, func(id *ast.Ident, typ ast.Expr) { once(id); n.Kids = append(n.Kids, c.typ(typ)) })
	c.fields(t.Results, func(id *ast.Ident, typ ast.Expr) { once(id); results.Kids = append(results.Kids, c.typ(typ)) })
	n.Kids = append(n.Kids, results)
	return n
}

// structType converts a struct; owner is nil where it has no name, and then
// its fields cannot be renamed.
func (c *converter) structType(t *ast.StructType, owner *typeInfo) *tree.Node {
	n := c.node(t.Pos(), "struct", "")
	if t.Fields == nil {
		return n
	}
	for _, f := range t.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag = "tag " + strconv.Quote(unquote(f.Tag.Value))
		}
		if len(f.Names) == 0 {
			typ := c.typ(f.Type)
			name := c.memberName(baseName(f.Type), f.Type.Pos(), "embedded field", typ, owner)
			owner.tag(baseName(f.Type), tag)
			if owner != nil {
				owner.embeds = append(owner.embeds, typ)
			}
			n.Kids = append(n.Kids, c.node(f.Pos(), "embedded field", tag, name, typ))
			continue
		}
		for _, id := range f.Names {
			typ := c.typ(f.Type)
			n.Kids = append(n.Kids, c.node(id.Pos(), "field", tag, c.memberName(id.Name, id.Pos(), "field", typ, owner), typ))
			owner.tag(id.Name, tag)
		}
	}
	return n
}

func (c *converter) interfaceType(t *ast.InterfaceType, owner *typeInfo) *tree.Node {
	n := c.node(t.Pos(), "interface", "")
	if t.Methods == nil {
		return n
	}
	for _, f := range t.Methods.List {
		if len(f.Names) == 0 {
			typ := c.typ(f.Type)
			if owner != nil {
				owner.embeds = append(owner.embeds, typ)
			}
			n.Kids = append(n.Kids, c.node(f.Pos(), "embedded interface", "", typ))
			continue
		}
		for _, id := range f.Names {
			name := c.memberName(id.Name, id.Pos(), "interface method", nil, owner)
			n.Kids = append(n.Kids, c.node(id.Pos(), "interface method", "", name, c.typ(f.Type)))
			if _, ok := f.Type.(*ast.FuncType); ok && owner != nil && owner.fields[id.Name] != nil {
				signature := n.Kids[len(n.Kids)-1].Kids[1]
				owner.fields[id.Name].results = signature.Kids[len(signature.Kids)-1].Kids
				owner.fields[id.Name].signature = signature
			}
		}
	}
	return n
}

func (c *converter) memberName(name string, at token.Pos, kind string, typ *tree.Node, owner *typeInfo) *tree.Node {
	if owner == nil || name == "_" {
		c.fixed[name] = true
		return c.node(at, "member", name)
	}
	o := &tree.Object{Name: name, Kind: kind, Line: c.src.line(at), Reach: tree.Member}
	if owner.fields[name] != nil {
		o.Pinned = "it is declared twice"
	}
	owner.fields[name] = &member{object: o, owner: owner, method: kind == "interface method", typ: typ}
	if c.decl != nil {
		c.decl.Objects = append(c.decl.Objects, o)
	}
	return &tree.Node{Kind: "member", Object: o, Line: o.Line}
}

// baseName is the field name that an embedded type gives.
func baseName(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	}
	return "_"
}
