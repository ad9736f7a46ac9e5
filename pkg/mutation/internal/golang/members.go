package golang

import (
	"go/token"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// literalKind says what the keys of a composite literal are.
type literalKind int

const (
	unknownLiteral literalKind = iota
	structLiteral              // names of fields
	elementLiteral             // expressions
)

// resolveMembers finds the field or method that a selector or a key names,
// where the types in these files tell. All others keep their spelling, and it
// is remembered whose they could be.
func (s *side) resolveMembers() {
	s.joinAliases()
	s.findFieldUses()
	for _, n := range s.selectors {
		m := n.Kids[1]
		switch f := s.memberOf(n, 0); f.place {
		case resolved:
			m.Object, m.Text = f.member.object, ""
		case unknown:
			s.fixed[m.Text] = true
		case doubtful:
			s.remember(f.among, m.Text, possible)
		case another:
			s.remember(f.among, m.Text, present)
		}
	}
	for _, l := range s.literals {
		s.resolveKeys(l)
	}
}

func (s *side) remember(among []*typeInfo, name string, c certainty) {
	for _, t := range among {
		s.unseen[use{t, name}] = max(s.unseen[use{t, name}], c)
	}
}

// joinAliases gives the methods that were declared through an alias to the
// type that it stands for.
func (s *side) joinAliases() {
	for _, info := range s.types {
		if !info.alias {
			continue
		}
		target := s.named(info.expr)
		for name, m := range info.methods {
			if target == nil || target.methods[name] != nil {
				m.object.Pinned = "the type of its receiver is an alias"
				continue
			}
			target.methods[name], m.owner = m, target
		}
	}
}

func (s *side) resolveKeys(l *literal) {
	typ := s.literalType(l)
	kind, info := s.kindOf(typ, 0)
	for _, key := range l.keys {
		switch {
		case kind == structLiteral && info.fields[key.Text] != nil:
			key.Kind, key.Object, key.Text, key.Kids = "field key", info.fields[key.Text].object, "", nil
		case kind == elementLiteral:
			key.Text = ""
		case kind == unknownLiteral && s.membersElsewhere(typ):
			// A field of another package's type has an upper-case name; this
			// one can only be an expression.
			if !token.IsExported(key.Text) {
				key.Text = ""
			}
		default:
			// A field, or an expression: the name keeps its spelling and what
			// it stands for.
			s.fixed[key.Text] = true
		}
	}
}

// literalType is the type of a composite literal, also where it is left out;
// nil if it is not known.
func (s *side) literalType(l *literal) *tree.Node {
	if l.typ != nil {
		return l.typ
	}
	if l.outer == nil {
		return nil
	}
	outer := s.underlying(s.literalType(l.outer), 0)
	if outer == nil {
		return nil
	}
	var typ *tree.Node
	switch outer.Kind {
	case "slice type":
		typ = outer.Kids[0]
	case "array type":
		typ = outer.Kids[1]
	case "map type":
		typ = outer.Kids[1]
		if l.outer.asKey {
			typ = outer.Kids[0]
		}
	}
	if typ != nil && typ.Kind == "pointer" {
		typ = typ.Kids[0]
	}
	return typ
}

// kindOf tells how the keys of a literal of a type are read, with the struct
// that declares them.
func (s *side) kindOf(typ *tree.Node, hops int) (literalKind, *typeInfo) {
	if typ == nil || hops > maxHops {
		return unknownLiteral, nil
	}
	switch typ.Kind {
	case "slice type", "array type", "map type":
		return elementLiteral, nil
	case "struct":
		if info := s.unnamed[typ]; info != nil {
			return structLiteral, info
		}
		return unknownLiteral, nil
	}
	info := s.declared(typ)
	if info == nil || info.expr == nil {
		return unknownLiteral, nil
	}
	if info.expr.Kind == "struct" && s.unnamed[info.expr] == nil {
		return structLiteral, info
	}
	return s.kindOf(info.expr, hops+1)
}

// maxHops bounds how far declarations of types are followed.
const maxHops = 20

// declared is the type that a type's expression names or is, if these files
// declare it or methods of it; nil for all others.
func (s *side) declared(typ *tree.Node) *typeInfo {
	if typ == nil {
		return nil
	}
	if typ.Kind == "struct" || typ.Kind == "interface" {
		return s.unnamed[typ]
	}
	if typ.Kind == "index" { // of a generic type
		typ = typ.Kids[0]
	}
	if typ == nil || typ.Kind != "name" {
		return nil
	}
	if typ.Object == nil {
		return s.elsewhere[typ.Text]
	}
	return s.types[typ.Object]
}

// named is the declared type behind a type's expression, through one pointer
// and through aliases.
func (s *side) named(typ *tree.Node) *typeInfo {
	if typ != nil && typ.Kind == "pointer" {
		typ = typ.Kids[0]
	}
	for range maxHops {
		info := s.declared(typ)
		if info == nil || !info.alias {
			return info
		}
		typ = info.expr
		if typ != nil && typ.Kind == "pointer" {
			typ = typ.Kids[0]
		}
	}
	return nil
}

// underlying follows names of types to what they are declared as.
func (s *side) underlying(typ *tree.Node, hops int) *tree.Node {
	info := s.declared(typ)
	if info == nil || info.expr == nil || info.expr == typ || hops > maxHops {
		return typ
	}
	return s.underlying(s.instantiated(info, typ), hops+1)
}
