package syntax

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	gotoken "go/token"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// goGrammar has the kinds of nodes of Go, which are the types of go/ast, "comment",
// and the texts of its tokens, and the names of the fields of go/ast.
var goGrammar = sync.OnceValue(func() *treesitter.Grammar {
	g := &treesitter.Grammar{Symbols: []string{"end", "comment", "literal", "ShortVarDecl", "RangeAssign", "MethodDecl", "ExternDecl", "Member"}, Fields: []string{""}}
	for t := gotoken.ADD; t <= gotoken.TILDE; t++ {
		if text := t.String(); text != "" && !slices.Contains(g.Symbols, text) {
			g.Symbols = append(g.Symbols, text)
		}
	}
	for _, n := range goNodes {
		t := reflect.TypeOf(n).Elem()
		g.Symbols = append(g.Symbols, t.Name())
		for i := range t.NumField() {
			if f := t.Field(i).Name; !slices.Contains(g.Fields, f) {
				g.Fields = append(g.Fields, f)
			}
		}
	}
	return g
})

var goNodes = []ast.Node{&ast.ArrayType{}, &ast.AssignStmt{}, &ast.BasicLit{}, &ast.BinaryExpr{}, &ast.BlockStmt{}, &ast.BranchStmt{}, &ast.CallExpr{},
	&ast.CaseClause{}, &ast.ChanType{}, &ast.CommClause{}, &ast.CompositeLit{}, &ast.DeclStmt{}, &ast.DeferStmt{}, &ast.Ellipsis{}, &ast.EmptyStmt{},
	&ast.ExprStmt{}, &ast.Field{}, &ast.FieldList{}, &ast.File{}, &ast.ForStmt{}, &ast.FuncDecl{}, &ast.FuncLit{}, &ast.FuncType{}, &ast.GenDecl{},
	&ast.GoStmt{}, &ast.Ident{}, &ast.IfStmt{}, &ast.ImportSpec{}, &ast.IncDecStmt{}, &ast.IndexExpr{}, &ast.IndexListExpr{}, &ast.InterfaceType{},
	&ast.KeyValueExpr{}, &ast.LabeledStmt{}, &ast.MapType{}, &ast.ParenExpr{}, &ast.RangeStmt{}, &ast.ReturnStmt{}, &ast.SelectStmt{},
	&ast.SelectorExpr{}, &ast.SendStmt{}, &ast.SliceExpr{}, &ast.StarExpr{}, &ast.StructType{}, &ast.SwitchStmt{}, &ast.TypeAssertExpr{},
	&ast.TypeSpec{}, &ast.TypeSwitchStmt{}, &ast.UnaryExpr{}, &ast.ValueSpec{}}

// goTree makes of Go's own syntax tree one of the kind that all others have, so that a table can speak of it.
func goTree(text []byte) (*treesitter.Tree, error) {
	set := gotoken.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
			return nil, &fault{list[0].Pos.Line, "the parser does not understand this line"}
		}
		return nil, errors.New("the parser does not understand it")
	}
	if isDeep(file) {
		return nil, &fault{0, tooDeep}
	}
	g := &goFlattener{tree: &treesitter.Tree{Text: text, Grammar: goGrammar()}, symbols: map[string]uint16{}, fields: map[string]uint16{}}
	for i, name := range goGrammar().Symbols {
		g.symbols[name] = uint16(i)
	}
	for i, name := range goGrammar().Fields {
		g.fields[name] = uint16(i)
	}
	g.base = set.File(file.FileStart).Base()
	g.scan(text)
	g.add(goPart{node: file, start: 0, end: uint32(len(text))})
	return g.tree, nil
}

type goFlattener struct {
	tree    *treesitter.Tree
	symbols map[string]uint16
	fields  map[string]uint16
	base    int
	tokens  []treesitter.Node // leaves, in order
	next    int
}

// goDepth bounds the work for one text: go/ast asks all of a node's parts where it ends.
const goDepth = 4000

func isDeep(file *ast.File) bool {
	depth, deepest := 0, 0
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			depth--
			return false
		}
		depth++
		deepest = max(deepest, depth)
		return true
	})
	return deepest > goDepth
}

// goPart is a node of go/ast under the name of its field.
type goPart struct {
	node       ast.Node
	field      string
	start, end uint32
	member     bool // of a struct or an interface
}

// scan notes all tokens but the semicolons that line breaks are.
func (g *goFlattener) scan(text []byte) {
	set := gotoken.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == gotoken.EOF {
			return
		}
		start := uint32(file.Offset(pos))
		kind, length := tok.String(), len(tok.String())
		switch {
		case tok == gotoken.SEMICOLON && lit != ";":
			continue
		case tok == gotoken.COMMENT:
			kind, length = "comment", len(lit)
			if strings.HasPrefix(lit, "/*") { // the scanner takes carriage returns out
				length = strings.Index(string(text[start:]), "*/") + 2
			} else if end := strings.IndexByte(string(text[start:]), '\n'); end >= 0 {
				length = len(strings.TrimRight(string(text[start:int(start)+end]), "\r"))
			} else {
				length = len(text) - int(start)
			}
		case tok.IsLiteral():
			kind, length = "literal", len(lit)
			if tok == gotoken.IDENT {
				kind = "Ident"
			} else if lit[0] == '`' {
				length = strings.IndexByte(string(text[start+1:]), '`') + 2
			}
		}
		g.tokens = append(g.tokens, treesitter.Node{Symbol: g.symbols[kind], Start: start, End: start + uint32(length)})
	}
}

// add adds a node with its parts and with the tokens between them.
func (g *goFlattener) add(p goPart) {
	at := len(g.tree.Nodes)
	name := goKind(p)
	g.tree.Nodes = append(g.tree.Nodes, treesitter.Node{Symbol: g.symbols[name], Field: g.fields[p.field], Flags: treesitter.Named, Start: p.start, End: p.end})
	if _, leaf := p.node.(*ast.Ident); leaf {
		g.next++
	} else {
		for _, part := range g.parts(p.node) {
			part.member = p.field == "Fields" || p.field == "Methods"
			g.leaves(part.start)
			g.add(part)
		}
		g.leaves(p.end)
	}
	g.tree.Nodes[at].Next = uint32(len(g.tree.Nodes))
}

// goKind is the type of a node, or one of our own where a type is two things.
func goKind(p goPart) string {
	switch n := p.node.(type) {
	case *ast.FuncDecl:
		switch {
		case n.Recv != nil:
			return "MethodDecl"
		case n.Body == nil:
			return "ExternDecl"
		}
	case *ast.Field:
		if p.member {
			return "Member"
		}
	case *ast.AssignStmt:
		if n.Tok == gotoken.DEFINE {
			return "ShortVarDecl"
		}
	case *ast.RangeStmt:
		if n.Tok == gotoken.ASSIGN {
			return "RangeAssign"
		}
	}
	return reflect.TypeOf(p.node).Elem().Name()
}

// leaves adds the tokens up to an offset.
func (g *goFlattener) leaves(to uint32) {
	for g.next < len(g.tokens) && g.tokens[g.next].Start < to {
		leaf := g.tokens[g.next]
		leaf.Next = uint32(len(g.tree.Nodes) + 1)
		g.tree.Nodes = append(g.tree.Nodes, leaf)
		g.next++
	}
}

// parts are the nodes in a node, in order. A function's type, which begins
// before its name, is left out for what is in it.
func (g *goFlattener) parts(n ast.Node) (parts []goPart) {
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch field.Name {
		case "Doc", "Comment", "Comments", "Obj", "Scope", "Imports", "Unresolved":
			continue
		}
		one := func(value reflect.Value) {
			child, ok := value.Interface().(ast.Node)
			if !ok || value.IsNil() {
				return
			}
			if t, ok := child.(*ast.FuncType); ok && (v.Type().Name() == "FuncDecl" || v.Type().Name() == "FuncLit") {
				parts = append(parts, g.parts(t)...)
				return
			}
			start, end := child.Pos(), child.End()
			if !start.IsValid() || end <= start {
				return
			}
			parts = append(parts, goPart{node: child, field: field.Name, start: uint32(int(start) - g.base), end: uint32(int(end) - g.base)})
		}
		switch value := v.Field(i); value.Kind() {
		case reflect.Slice:
			for j := range value.Len() {
				one(value.Index(j))
			}
		case reflect.Interface, reflect.Pointer:
			one(value)
		}
	}
	slices.SortStableFunc(parts, func(x, y goPart) int { return cmp.Compare(x.start, y.start) })
	return parts
}
