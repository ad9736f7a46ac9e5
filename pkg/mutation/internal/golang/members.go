package golang

import (
	"go/token"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// literalKind says what the keys of a composite literal are.
type literalKind int

const (
	unknownLiteral   literalKind = iota
	structLiteral                // names of fields
	elementLiteral               // expressions
	anonymousLiteral             // names of fields of a struct without a name
)

// resolveMembers finds the field or method that a selector or a key names,
// where the types in these files tell. All others keep their spelling, and are
// remembered as fixed.
func (s *side) resolveMembers() {
	s.joinAliases()
	s.markEmbedded()
	for _, n := range s.selectors {
		m := n.Kids[1]
		if found := s.find(s.typeOf(n.Kids[0]), m.Text); found != nil {
			m.Object, m.Text = found.object, ""
		} else {
			s.fixed[m.Text] = true
		}
	}
	for _, l := range s.literals {
		s.resolveKeys(l)
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

func (s *side) markEmbedded() {
	for _, info := range s.types {
		for _, e := range info.embeds {
			if inner := s.named(e); inner != nil {
				inner.embedded = true
			}
		}
	}
}

func (s *side) resolveKeys(l *literal) {
	typ := s.literalType(l)
	for _, key := range l.keys {
		switch kind, info := s.kindOf(typ, 0); kind {
		case structLiteral:
			if m := info.fields[key.Text]; m != nil {
				key.Kind, key.Object, key.Text, key.Kids = "field key", m.object, "", nil
				continue
			}
			s.fixed[key.Text] = true
		case elementLiteral:
			key.Text = ""
		case anonymousLiteral:
			key.Kind, key.Kids = "field key", nil
			s.fixed[key.Text] = true
		default:
			// A field of another package's type has an upper-case name; this
			// one can only be an expression.
			if typ != nil && typ.Kind == "selector" && !token.IsExported(key.Text) {
				key.Text = ""
				continue
			}
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
		return anonymousLiteral, nil
	}
	info := s.declared(typ)
	if info == nil || info.expr == nil {
		return unknownLiteral, nil
	}
	if info.expr.Kind == "struct" && !info.alias {
		return structLiteral, info
	}
	return s.kindOf(info.expr, hops+1)
}

// maxHops bounds how far declarations of types are followed.
const maxHops = 20

// declared is the type that a type's expression names, if these files declare
// it or methods of it; nil for all others.
func (s *side) declared(typ *tree.Node) *typeInfo {
	if typ == nil {
		return nil
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
	if info == nil || info.expr == nil || hops > maxHops {
		return typ
	}
	return s.underlying(info.expr, hops+1)
}

// find is the member that a selector on a value of a type means; nil if that
// is not certain. What embedded types give is never certain: a method of the
// outer type may be declared in another file, and comes first.
func (s *side) find(typ *tree.Node, name string) *member {
	info := s.named(typ)
	if info == nil {
		return nil
	}
	if m := info.methods[name]; m != nil {
		return m
	}
	for range maxHops {
		if m := info.fields[name]; m != nil {
			return m
		}
		// Fields come from what the type is declared as, methods do not.
		if info = s.declared(info.expr); info == nil {
			return nil
		}
	}
	return nil
}
