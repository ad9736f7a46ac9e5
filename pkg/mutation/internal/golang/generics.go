package golang

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// arguments are those of an instantiated type.
func arguments(typ *tree.Node) []*tree.Node {
	if typ != nil && typ.Kind == "index" {
		return typ.Kids[1:]
	}
	return nil
}

// instantiated is what a declared type is declared as, with the arguments of
// one of its instances.
func (s *side) instantiated(info *typeInfo, on *tree.Node) *tree.Node {
	return s.substitute(info.expr, info.params, arguments(on))
}

// substitute puts types in the place of type parameters. What it cannot put
// keeps the parameter, whose members nobody knows.
func (s *side) substitute(typ *tree.Node, params []*tree.Object, args []*tree.Node) *tree.Node {
	if typ == nil || len(params) == 0 || len(params) != len(args) {
		return typ
	}
	if typ.Object != nil {
		if i := slices.Index(params, typ.Object); i >= 0 {
			return args[i]
		}
	}
	var kids []*tree.Node
	for i, k := range typ.Kids {
		t := s.substitute(k, params, args)
		if t != k && kids == nil {
			kids = slices.Clone(typ.Kids)
		}
		if kids != nil {
			kids[i] = t
		}
	}
	if kids == nil || typ.Kind == "struct" || typ.Kind == "interface" {
		return typ // whose members are those of the declaration
	}
	replaced := *typ
	replaced.Kids = kids
	return &replaced
}

// given is the type of a member, or of a result of it, where it is selected.
func (s *side) given(f found, typ *tree.Node) *tree.Node {
	params := f.member.params
	if !f.member.method {
		params = f.member.owner.params
	}
	return s.substitute(typ, params, arguments(f.on))
}
