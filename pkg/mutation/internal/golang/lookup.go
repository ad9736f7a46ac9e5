package golang

import (
	"go/token"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// place says how surely it is known whose the member of a selector is.
type place int

const (
	// unknown: it can be the member of any type.
	unknown place = iota
	// doubtful: it can be one of the types that are listed, or one that
	// another file gives to these.
	doubtful
	// another: it is declared in another file, for one of the listed types.
	another
	// elsewhere: it belongs to nothing of this package.
	elsewhere
	// resolved: it is the member found.
	resolved
)

// found is what a lookup came to.
type found struct {
	place  place
	member *member
	// on is the type that declares the member, as it is instantiated there.
	on *tree.Node
	// among are the types that the member can belong to.
	among []*typeInfo
}

// lookup finds the member that a selector on a value of a type means.
func (s *side) lookup(typ *tree.Node, name string) found {
	if typ == nil {
		return found{}
	}
	if s.membersElsewhere(typ) {
		return found{place: elsewhere}
	}
	on := s.instance(typ)
	if on == nil {
		return found{}
	}
	info := s.declared(on)
	if info == nil {
		return found{}
	}
	if m, at := s.own(info, on, name); m != nil {
		return found{place: resolved, member: m, on: at, among: []*typeInfo{info}}
	}
	return s.promoted(info, on, name)
}

// instance is the declared type behind a type's expression, through one
// pointer and through aliases, with its arguments; or the literal of a type.
func (s *side) instance(typ *tree.Node) *tree.Node {
	if typ != nil && typ.Kind == "pointer" {
		typ = typ.Kids[0]
	}
	for range maxHops {
		info := s.declared(typ)
		if info == nil || !info.alias {
			return typ
		}
		typ = s.instantiated(info, typ)
		if typ != nil && typ.Kind == "pointer" {
			typ = typ.Kids[0]
		}
	}
	return nil
}

// own is the member that a type has of itself: its methods that are declared
// here, and the fields of what it is declared as.
func (s *side) own(info *typeInfo, on *tree.Node, name string) (*member, *tree.Node) {
	if m := info.methods[name]; m != nil {
		return m, on
	}
	for range maxHops {
		if m := info.fields[name]; m != nil {
			return m, on
		}
		// Fields come from what the type is declared as, methods do not.
		on = s.instantiated(info, on)
		if info = s.declared(on); info == nil {
			return nil, nil
		}
	}
	return nil, nil
}

// promoted finds a member of embedded types, the shallowest first. Types can
// have methods in files that are not at hand, which come first where they are
// shallower: so what is found is certain only if the type has none such, or if
// the selector is used as no method can be.
func (s *side) promoted(info *typeInfo, on *tree.Node, name string) found {
	parts, strangers := s.parts(info)
	result := found{place: another, among: parts}
	if strangers {
		result.place = unknown
	}
	level, seen := []*tree.Node{on}, map[*typeInfo]bool{info: true}
	hidden := s.isOpen(info) && !s.asField[use{info, name}]
	for range maxHops {
		var next []*tree.Node
		for _, t := range level {
			next = append(next, s.embedsOf(t)...)
		}
		level = nil
		var member *member
		var at *tree.Node
		matches, open := 0, false
		for _, e := range next {
			t := s.instance(e)
			inner := s.declared(t)
			switch {
			case s.membersElsewhere(e):
				open = open || token.IsExported(name)
			case inner == nil || inner.expr == nil:
				open = true
			case !seen[inner]:
				seen[inner] = true
				if m, where := s.own(inner, t, name); m != nil {
					member, at = m, where
					matches++
				}
				open = open || s.isOpen(inner) && !s.asField[use{info, name}]
				level = append(level, t)
			}
		}
		switch {
		case matches > 1 || matches == 1 && hidden:
			result.place = min(result.place, doubtful)
			return result
		case matches == 1:
			return found{place: resolved, member: member, on: at, among: parts}
		case len(level) == 0:
			return result
		}
		hidden = hidden || open
	}
	return found{}
}

// isOpen tells whether a type could have methods that are not at hand.
func (s *side) isOpen(info *typeInfo) bool {
	if info.unnamed {
		return false
	}
	if info.object == nil {
		return true
	}
	literal := s.literalOf(info)
	return info.object.Kind == "type" && (literal == nil || literal.Kind != "interface")
}

// literalOf is the literal of a type that a declared type is in the end; nil
// if another file or package says it.
func (s *side) literalOf(info *typeInfo) *tree.Node {
	for range maxHops {
		if info == nil || info.expr == nil {
			return nil
		}
		inner := s.declared(info.expr)
		if inner == nil {
			return info.expr
		}
		info = inner
	}
	return nil
}

// embedsOf are the types embedded in a struct or interface, with the
// arguments of the type that embeds them.
func (s *side) embedsOf(on *tree.Node) (list []*tree.Node) {
	for range maxHops {
		info := s.declared(on)
		if info == nil {
			return list
		}
		for _, e := range info.embeds {
			list = append(list, s.substitute(e, info.params, arguments(on)))
		}
		on = s.instantiated(info, on)
	}
	return list
}

// parts are a type and all that it is made of whose members become its own;
// strangers tells whether types of other files of the package can be among
// them.
func (s *side) parts(info *typeInfo) (list []*typeInfo, strangers bool) {
	if p, ok := s.partsOf[info]; ok {
		return p.list, p.strangers
	}
	seen := map[*typeInfo]bool{}
	foreigners := false
	var add func(t *typeInfo)
	follow := func(e *tree.Node) {
		t := s.instance(e)
		switch inner := s.declared(t); {
		case inner != nil:
			add(inner)
		case t != nil && t.Kind == "name" && t.Object == nil && predeclaredTypes[t.Text], isLiteralType(t):
		case s.membersElsewhere(e):
			foreigners = true
		default:
			strangers = true
		}
	}
	add = func(t *typeInfo) {
		if seen[t] {
			return
		}
		seen[t] = true
		list = append(list, t)
		if t.expr == nil {
			strangers = true
			return
		}
		if t.expr.Kind == "name" || t.expr.Kind == "index" || t.expr.Kind == "selector" || t.alias {
			follow(t.expr)
		}
		for _, e := range t.embeds {
			follow(e)
		}
	}
	add(info)
	s.partsOf[info] = parts{list, strangers, foreigners}
	return list, strangers
}

// isLiteralType tells what has no members but those that stand in it.
func isLiteralType(t *tree.Node) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case "struct", "interface", "pointer", "slice type", "array type", "map type", "channel type", "function type":
		return true
	}
	return false
}

// parts is what a type is made of.
type parts struct {
	list                  []*typeInfo
	strangers, foreigners bool
}

// use is a member's name on a type.
type use struct {
	on   *typeInfo
	name string
}
