package mutation_test

import (
	"go/types"
	"reflect"
	"slices"
)

// kin says which fields and methods of a program must keep one name, and which
// have a name that somebody else looks for: what a renaming is that changes
// nothing, by the type checker and not by the judge under test.
type kin struct {
	parent map[types.Object]types.Object
	sought map[types.Object]bool
	// standard are those of methods that an interface of the standard library
	// has that everybody can have.
	standard map[types.Object]bool
	all      []types.Object
}

// soughtAlone are methods that the standard library looks for by interfaces
// without a name.
var soughtAlone = map[string]bool{
	"Is func(target error) bool": true, "Unwrap func() error": true, "Unwrap func() []error": true, "As func(target any) bool": true,
	"Timeout func() bool": true, "Temporary func() bool": true, "IsBoolFlag func() bool": true,
}

func (c *checked) kin() *kin {
	if c.relations == nil {
		k := &kin{parent: map[types.Object]types.Object{}, sought: map[types.Object]bool{}, standard: map[types.Object]bool{}}
		k.relate(c)
		c.relations = k
	}
	return c.relations
}

// of are the members that have one name with a member; pure tells whether
// nobody else looks for it.
func (k *kin) of(o types.Object) (group []types.Object, pure bool) {
	root := k.root(o)
	group = append(group, o)
	for _, m := range k.all {
		if m != o && k.root(m) == root {
			group = append(group, m)
		}
	}
	for _, m := range group {
		if k.sought[m] {
			return nil, false
		}
	}
	return group, true
}

func (k *kin) root(o types.Object) types.Object {
	for k.parent[o] != nil && k.parent[o] != o {
		o = k.parent[o]
	}
	return o
}

func (k *kin) join(x, y types.Object) { k.parent[k.root(x)] = k.root(y) }

func (k *kin) relate(c *checked) {
	var named []types.Type
	var literals []*types.Struct
	interfaces := map[*types.Interface]bool{}
	for _, o := range c.info.Defs {
		switch o := o.(type) {
		case *types.TypeName:
			if o.Type() != nil {
				named = append(named, o.Type())
			}
		case *types.Var:
			if o.IsField() {
				k.all = append(k.all, o)
			}
		case *types.Func:
			if o.Signature().Recv() != nil {
				k.all = append(k.all, o)
				k.sought[o] = soughtAlone[o.Name()+" "+types.TypeString(o.Type(), nil)]
			}
		}
	}
	for _, tv := range c.info.Types {
		switch t := tv.Type.(type) {
		case *types.Struct:
			literals = append(literals, t)
		case *types.Named, *types.Interface:
			if i, ok := t.Underlying().(*types.Interface); ok && i.IsMethodSet() && i.NumMethods() > 0 {
				interfaces[i] = true
			}
		}
	}
	others := foreignTypes(c.pkg)
	for _, t := range named {
		for i := range interfaces {
			k.satisfies(c.pkg, t, i, false)
		}
		for _, other := range others {
			if i, ok := other.Underlying().(*types.Interface); ok && i.IsMethodSet() && i.NumMethods() > 0 {
				k.satisfies(c.pkg, t, i, true)
			}
		}
		k.tagged(t)
	}
	for i := range interfaces {
		for _, other := range others {
			if _, isInterface := other.Underlying().(*types.Interface); !isInterface {
				k.provides(other, i)
			}
		}
	}
	k.sameLiterals(slices.DeleteFunc(literals, func(s *types.Struct) bool {
		return slices.ContainsFunc(named, func(t types.Type) bool { return t.Underlying() == s })
	}))
}

// satisfies relates the methods by which a type has an interface.
func (k *kin) satisfies(pkg *types.Package, t types.Type, i *types.Interface, foreign bool) {
	if !types.Implements(t, i) && !types.Implements(types.NewPointer(t), i) {
		return
	}
	for m := range i.Methods() {
		o, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name())
		if f, ok := o.(*types.Func); ok {
			if foreign {
				k.sought[f.Origin()] = true
				k.standard[f.Origin()] = k.standard[f.Origin()] || f.Exported()
			} else if f.Origin() != m.Origin() {
				k.join(f.Origin(), m.Origin())
			}
			k.sought[m.Origin()] = k.sought[m.Origin()] || f.Pkg() != pkg
		}
	}
}

// provides: a type of another package has an interface of this one.
func (k *kin) provides(t types.Type, i *types.Interface) {
	if types.Implements(t, i) || types.Implements(types.NewPointer(t), i) {
		for m := range i.Methods() {
			k.sought[m.Origin()] = true
		}
	}
}

// tagged: where one field has a tag, the others' names are looked at, too.
func (k *kin) tagged(t types.Type) {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	tags := false
	for i := range s.NumFields() {
		tags = tags || reflect.StructTag(s.Tag(i)) != ""
	}
	for i := range s.NumFields() {
		if tags && s.Field(i).Exported() {
			k.sought[s.Field(i).Origin()] = true
		}
	}
}

// sameLiterals relates the fields of struct types that are one type because
// they look the same.
func (k *kin) sameLiterals(literals []*types.Struct) {
	for i, x := range literals {
		for _, y := range literals[:i] {
			if x == y || !types.Identical(x, y) {
				continue
			}
			for f := range x.NumFields() {
				if x.Field(f).Origin() != y.Field(f).Origin() {
					k.join(x.Field(f).Origin(), y.Field(f).Origin())
				}
			}
		}
	}
}

// foreignTypes are the types that the packages have that a package imports,
// directly or not, and that of errors.
func foreignTypes(pkg *types.Package) (list []types.Type) {
	list = append(list, types.Universe.Lookup("error").Type())
	seen := map[*types.Package]bool{pkg: true}
	var visit func(*types.Package)
	visit = func(p *types.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, name := range p.Scope().Names() {
			if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() {
				list = append(list, t.Type())
			}
		}
		for _, i := range p.Imports() {
			visit(i)
		}
	}
	for _, i := range pkg.Imports() {
		visit(i)
	}
	more := []string{"fmt", "io", "encoding", "sort", "flag", "io/fs", "container/heap"}
	if long() {
		more = append(more, "encoding/gob", "encoding/json", "encoding/xml", "context", "hash", "net/http")
	}
	for _, path := range more {
		if p, err := imports.Import(path); err == nil {
			visit(p)
		}
	}
	return list
}
