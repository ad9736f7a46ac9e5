package golang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// side is one package before or after a change, as far as its files are known:
// trees of its declarations, and what is known of types without looking into
// other files.
type side struct {
	ctx   context.Context
	depth int // the deepest nesting allowed

	pkg   *scope
	files []*source
	decls []*tree.Decl

	types map[*tree.Object]*typeInfo
	// elsewhere are the types of the package that other files declare, and
	// these give methods to.
	elsewhere map[string]*typeInfo
	// unnamed are the literals of structs and interfaces.
	unnamed   map[*tree.Node]*typeInfo
	values    map[*tree.Object]*value
	functions map[*tree.Object][]*tree.Node // what they give
	selectors []*tree.Node
	literals  []*literal
	// fixed are the member names that stand somewhere without it being known
	// whose they are.
	fixed map[string]bool
	// unseen are the members that types of these files have, or could have, in
	// files that are not at hand.
	unseen map[use]certainty
	// asField are the members that are used as only fields can be.
	asField map[use]bool
	// packages are the names that surely stand for an imported package, with
	// its path.
	packages map[*tree.Node]string
	// symbols are the uses of a type switch's symbol, with their types.
	symbols map[*tree.Node]*tree.Node

	slab       []tree.Node
	typeOfNode map[*tree.Node]*tree.Node
	partsOf    map[*typeInfo]parts
	count      int
	err        error
}

// typeInfo is what is known of a declared type.
type typeInfo struct {
	object *tree.Object
	expr   *tree.Node
	alias  bool
	// fields are those of a struct or the methods of an interface.
	fields  map[string]*member
	methods map[string]*member
	embeds  []*tree.Node
	// params are the type parameters.
	params []*tree.Object
	// unnamed: it is a literal.
	unnamed bool
	tags    bool // of fields
}

// certainty says whether a type has a member that is not at hand.
type certainty int

const (
	absent certainty = iota
	present
	possible
)

// member is a field or a method.
type member struct {
	object *tree.Object
	owner  *typeInfo
	method bool
	typ    *tree.Node // of a field
	tag    string
	// params are the names that the method's receiver gives to the type's
	// parameters.
	params    []*tree.Object
	signature *tree.Node
	// results are the types of what a method gives.
	results []*tree.Node
}

// value is how the type of a variable can be found.
type value struct {
	typ, init *tree.Node
	// over: the variable runs over init; index says as what.
	over bool
	// index is which of the values of init the variable has, of several.
	index, of int
}

// literal is a composite literal, whose keys mean different things for
// different types.
type literal struct {
	typ   *tree.Node // nil where it is left out
	outer *literal
	asKey bool // the key of a map literal
	keys  []*tree.Node
}

var (
	errDeep = errors.New("the syntax is nested too deeply to be compared")
)

func newSide(ctx context.Context, depth int) *side {
	return &side{
		ctx: ctx, depth: depth, pkg: &scope{}, types: map[*tree.Object]*typeInfo{}, elsewhere: map[string]*typeInfo{}, values: map[*tree.Object]*value{},
		unnamed: map[*tree.Node]*typeInfo{}, functions: map[*tree.Object][]*tree.Node{}, fixed: map[string]bool{}, unseen: map[use]certainty{},
		asField: map[use]bool{}, packages: map[*tree.Node]string{}, symbols: map[*tree.Node]*tree.Node{},
		typeOfNode: map[*tree.Node]*tree.Node{}, partsOf: map[*typeInfo]parts{},
	}
}

// build makes the trees of all files.
func (s *side) build() error {
	for _, f := range s.files {
		if err := s.declareFile(f); err != nil {
			return err
		}
	}
	for _, f := range s.files {
		c := &converter{side: s, src: f, file: f.index, scope: s.pkg.open(), symbol: map[*tree.Object]*tree.Node{}}
		c.imports()
		c.declarations()
		s.findPackages(f)
	}
	if s.err != nil {
		return s.err
	}
	s.resolveMembers()
	return s.err
}

// declareFile enters the names of a file's declarations into the package's
// block. A name may be declared once in a file; in several files it may stand
// for one thing of which a build has only one.
func (s *side) declareFile(f *source) error {
	own := map[string]int{}
	enter := func(name *ast.Ident, kind string) error {
		if name.Name == "_" || kind == "function" && name.Name == "init" {
			return nil
		}
		line := f.line(name.Pos())
		if first, twice := own[name.Name]; twice {
			return fmt.Errorf("%q is declared in line %d and again in line %d", name.Name, first, line)
		}
		own[name.Name] = line
		if known := s.pkg.lookup(name.Name); known != nil {
			known.Pinned = "it is declared in several files"
			if known.Kind != kind {
				return fmt.Errorf("%q is declared in several files as different things", name.Name)
			}
			return nil
		}
		s.pkg.declare(&tree.Object{Name: name.Name, Kind: kind, Line: line, Reach: tree.Shared})
		return nil
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				if err := enter(d.Name, "function"); err != nil {
					return err
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if err := enterSpec(d.Tok, spec, enter); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func enterSpec(tok token.Token, spec ast.Spec, enter func(*ast.Ident, string) error) error {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return enter(spec.Name, "type")
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if err := enter(name, valueKind(tok)); err != nil {
				return err
			}
		}
	}
	return nil
}

func valueKind(tok token.Token) string {
	if tok == token.CONST {
		return "constant"
	}
	return "variable"
}

// allTypes are those of which something is known, as they stand in the files.
func (s *side) allTypes() []*typeInfo {
	list := slices.Concat(slices.Collect(maps.Values(s.types)), slices.Collect(maps.Values(s.elsewhere)), slices.Collect(maps.Values(s.unnamed)))
	slices.SortFunc(list, func(x, y *typeInfo) int {
		xLine, xName := x.stands()
		yLine, yName := y.stands()
		return cmp.Or(cmp.Compare(xLine, yLine), cmp.Compare(xName, yName))
	})
	return list
}

func (info *typeInfo) stands() (line int, name string) {
	switch {
	case info.object != nil:
		return info.object.Line, info.object.Name
	case info.expr != nil:
		return info.expr.Line, ""
	}
	return 0, ""
}

// tag keeps what stands behind a field.
func (info *typeInfo) tag(name, tag string) {
	if info == nil || tag == "" {
		return
	}
	info.tags = true
	if m := info.fields[name]; m != nil {
		m.tag = tag
	}
}

// unquote gives the value of a string literal, so that a raw and an
// interpreted one can be the same.
func unquote(literal string) string {
	if v, err := strconv.Unquote(literal); err == nil {
		return v
	}
	return literal
}
