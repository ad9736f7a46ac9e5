package golang

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// converter makes trees of one file's declarations.
type converter struct {
	*side
	src   *source
	file  int
	scope *scope
	// labels are those of the function that is being converted.
	labels map[string]*tree.Object
	// receiverParams are the type parameters of the method at hand.
	receiverParams []*tree.Object
	// decl gathers the members of the top-level declaration at hand; nil
	// within functions.
	decl  *tree.Decl
	outer *literal
	// symbol gives the types of type switches' symbols in the clause at hand.
	symbol map[*tree.Object]*tree.Node
	nested int
}

// patience is after how many nodes the clock is looked at.
const patience = 4096

// enter counts nesting and work; false ends the conversion.
func (c *converter) enter() bool {
	c.nested++
	c.count++
	if c.nested > c.depth && c.err == nil {
		c.err = errDeep
	}
	if c.count%patience == 0 && c.err == nil {
		c.err = c.ctx.Err()
	}
	return c.err == nil
}

func (c *converter) leave() { c.nested-- }

func (c *converter) node(at token.Pos, kind, text string, kids ...*tree.Node) *tree.Node {
	n := c.fresh()
	n.Kind, n.Text, n.Line, n.Kids = kind, text, c.src.line(at), kids
	return n
}

// slabSize is how many nodes are allocated at once.
const slabSize = 128

func (s *side) fresh() *tree.Node {
	if len(s.slab) == 0 {
		s.slab = make([]tree.Node, slabSize)
	}
	n := &s.slab[0]
	s.slab = s.slab[1:]
	return n
}

// in runs body in a block of its own.
func (c *converter) in(body func()) {
	saved := c.scope
	c.scope = saved.open()
	body()
	c.scope = saved
}

// declare adds an object to the block at hand.
func (c *converter) declare(o *tree.Object) {
	if twice := c.scope.declare(o); twice != nil && c.err == nil {
		c.err = fmt.Errorf("%q is declared in line %d and again in line %d", o.Name, twice.Line, o.Line)
	}
}

// imports compares what is imported, under which name. Their order means
// nothing: packages are initialised in an order of their own.
func (c *converter) imports() {
	for _, d := range c.src.ast.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			continue
		}
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ImportSpec)
			name := ""
			if spec.Name != nil {
				name = spec.Name.Name
			}
			text := name + " " + strconv.Quote(unquote(spec.Path.Value))
			if unquote(spec.Path.Value) == "C" {
				c.src.cgo = true
				text += preamble(spec.Doc) + preamble(gen.Doc)
			}
			c.src.imports = append(c.src.imports, text)
		}
	}
	slices.Sort(c.src.imports)
}

// preamble is the C code above import "C", as it stands.
func preamble(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var all strings.Builder
	for _, comment := range doc.List {
		all.WriteString("\n" + comment.Text)
	}
	return all.String()
}

// declarations converts all but the imports, each spec of a group on its own.
func (c *converter) declarations() {
	for _, d := range c.src.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			c.add(d.End(), func(decl *tree.Decl) { c.funcDecl(decl, d) })
		case *ast.GenDecl:
			c.genDecl(d)
		}
	}
	if rest := c.src.takeMarks(token.Pos(1 << 60)); len(rest) > 0 {
		c.decls = append(c.decls, &tree.Decl{Label: "directives at the end", File: c.file, Node: &tree.Node{Kind: "directives at the end", Kids: rest}})
	}
}

// add converts one declaration that ends at end, with the directives that
// stand before and in it.
func (c *converter) add(end token.Pos, fill func(*tree.Decl)) {
	decl := &tree.Decl{File: c.file}
	c.decl = decl
	fill(decl)
	c.decl = nil
	if c.err != nil {
		return
	}
	decl.Node.Kids = append(decl.Node.Kids, c.src.takeMarks(end)...)
	c.decls = append(c.decls, decl)
}

func (c *converter) genDecl(d *ast.GenDecl) {
	switch d.Tok {
	case token.IMPORT:
		for _, n := range c.src.takeMarks(d.End()) {
			c.src.header = append(c.src.header, "among imports: "+n.Text)
		}
	case token.TYPE:
		for _, spec := range d.Specs {
			spec := spec.(*ast.TypeSpec)
			c.add(spec.End(), func(decl *tree.Decl) {
				decl.Label = "type " + spec.Name.Name
				decl.Node = c.typeSpec(spec, c.pkg.lookup(spec.Name.Name))
			})
		}
	case token.CONST:
		c.eachConst(d, func(spec *ast.ValueSpec, from *ast.ValueSpec, iota int) {
			c.add(spec.End(), func(decl *tree.Decl) {
				decl.Label = "const " + spec.Names[0].Name
				decl.Node = c.constSpec(spec, from, iota, func(n *ast.Ident) *tree.Node { return c.global(decl, n) })
			})
		})
	case token.VAR:
		for _, spec := range d.Specs {
			c.varDecls(spec.(*ast.ValueSpec))
		}
	}
}

// eachConst gives each spec of a group with the one whose expressions it
// repeats.
func (c *converter) eachConst(d *ast.GenDecl, each func(spec, from *ast.ValueSpec, iota int)) {
	var from *ast.ValueSpec
	for i, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		if from == nil || len(spec.Values) > 0 || spec.Type != nil {
			from = spec
		}
		each(spec, from, i)
	}
}

func (c *converter) constSpec(spec, from *ast.ValueSpec, iota int, name func(*ast.Ident) *tree.Node) *tree.Node {
	n := c.node(spec.Pos(), "constant declaration", "")
	var kids []*tree.Node
	if from.Type != nil {
		kids = append(kids, c.node(spec.Pos(), "of type", "", c.typ(from.Type)))
	}
	usesIota := false
	for _, v := range from.Values {
		e := c.expr(v)
		e.Walk(func(k *tree.Node) bool {
			usesIota = usesIota || k.Kind == "name" && k.Text == "iota"
			return true
		})
		kids = append(kids, e)
	}
	if usesIota {
		n.Text = "iota " + strconv.Itoa(iota)
	}
	for _, id := range spec.Names {
		n.Kids = append(n.Kids, name(id))
	}
	if from.Type != nil {
		c.note(n.Kids, kids[0].Kids[0], nil)
	} else {
		c.note(n.Kids, nil, kids)
	}
	n.Kids = append(n.Kids, kids...)
	return n
}

// global is the name of a package-level declaration where it is declared.
func (c *converter) global(decl *tree.Decl, id *ast.Ident) *tree.Node {
	if id.Name == "_" {
		return c.node(id.Pos(), "name", "_")
	}
	o := c.pkg.lookup(id.Name)
	if decl != nil && o != nil && !slices.Contains(decl.Objects, o) {
		decl.Objects = append(decl.Objects, o)
	}
	return &tree.Node{Kind: "name", Object: o, Line: c.src.line(id.Pos())}
}

// varDecls converts a var spec, one declaration for each variable where each
// has a value of its own.
func (c *converter) varDecls(spec *ast.ValueSpec) {
	if len(spec.Values) != 0 && len(spec.Values) != len(spec.Names) {
		c.add(spec.End(), func(decl *tree.Decl) { c.varDecl(decl, spec, spec.Names, spec.Values) })
		return
	}
	for i, name := range spec.Names {
		end := spec.Pos() // directives behind it go to the last
		if i == len(spec.Names)-1 {
			end = spec.End()
		}
		c.add(end, func(decl *tree.Decl) {
			var values []ast.Expr
			if len(spec.Values) > 0 {
				values = spec.Values[i : i+1]
			}
			c.varDecl(decl, spec, spec.Names[i:i+1], values)
			decl.Node.Line = c.src.line(name.Pos())
		})
	}
}

func (c *converter) varDecl(decl *tree.Decl, spec *ast.ValueSpec, names []*ast.Ident, values []ast.Expr) {
	decl.Label = "var " + names[0].Name
	n := c.node(spec.Pos(), "variable declaration", "")
	for _, id := range names {
		n.Kids = append(n.Kids, c.global(decl, id))
	}
	var typ *tree.Node
	if spec.Type != nil {
		typ = c.typ(spec.Type)
		n.Kids = append(n.Kids, c.node(spec.Pos(), "of type", "", typ))
	}
	var inits []*tree.Node
	for _, v := range values {
		inits = append(inits, c.expr(v))
	}
	n.Kids = append(n.Kids, c.node(spec.Pos(), "values", "", inits...))
	c.note(n.Kids[:len(names)], typ, inits)
	decl.Node, decl.Order = n, c.orderOf(inits)
}

// note keeps how the types of variables can be found.
func (c *converter) note(names []*tree.Node, typ *tree.Node, inits []*tree.Node) {
	for i, n := range names {
		assigned := n.Kind == "name" && n.Object != nil && n.Object.Reach == tree.Local
		if n.Object == nil || assigned || c.values[n.Object] != nil {
			continue
		}
		v := &value{typ: typ}
		switch len(inits) {
		case len(names):
			v.init = inits[i]
		case 1:
			v.init, v.index, v.of = inits[0], i, len(names)
		}
		c.values[n.Object] = v
	}
}

func (c *converter) typeInfo(o *tree.Object) *typeInfo {
	info := c.types[o]
	if info == nil {
		info = newTypeInfo(o)
		c.types[o] = info
	}
	return info
}

func newTypeInfo(o *tree.Object) *typeInfo {
	return &typeInfo{object: o, fields: map[string]*member{}, methods: map[string]*member{}}
}

// testKind is the prefix by which go test finds a function, or "".
func testKind(name string) string {
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}
