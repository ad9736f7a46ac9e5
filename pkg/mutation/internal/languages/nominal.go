package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// typed is what the file tells of the type of an expression.
type typed struct {
	// class is the node of a class of the file, or one of the constants below.
	class int
	// arrays is how many indexes lead to the class.
	arrays int
}

const (
	// anyType may be a class of the file or not.
	anyType = -1
	// otherType is none of the file.
	otherType = -2
)

// nominal has the classes of a file in a language in which most variables have
// a type that is written down.
type nominal struct {
	*side
	byName map[string][]int
	// vague are names that stand for types that they do not tell.
	vague set
	// classes are the nodes of classes, open those that are made from what the
	// file does not declare, bases what others are made from.
	classes map[int]bool
	open    map[int]bool
	bases   map[int][]int
	// faces are open classes that seem to be made from interfaces alone.
	faces map[int]bool
	// has are the names of the members that a class declares; those of methods
	// end in ().
	has map[int]set
	// own are the members that can be renamed, where the scopes of the file do not
	// have them.
	own map[int]*scope
	// homes are the places that declare an object.
	homes map[*object][]int
	// declaredType is the type of what a leaf declares, expression that of an
	// expression, for those that the language has.
	declaredType func(leaf int) typed
	expression   func(n int) typed
	depth        int
}

func newNominal(s *side) *nominal {
	return &nominal{side: s, byName: map[string][]int{}, vague: set{}, classes: map[int]bool{}, open: map[int]bool{}, bases: map[int][]int{}, has: map[int]set{},
		homes: map[*object][]int{}, own: map[int]*scope{}, faces: map[int]bool{}}
}

// enter adds a class, under a name if it has one.
func (t *nominal) enter(class int, name string) {
	t.classes[class], t.has[class] = true, set{}
	if name != "" {
		t.byName[name] = append(t.byName[name], class)
	}
}

// derive says that a class is made from a type that is named there.
func (t *nominal) derive(class int, name string, at int) {
	base := t.called(name, at)
	if base.class < 0 || base.class == class {
		t.open[class] = true
		return
	}
	t.bases[class] = append(t.bases[class], base.class)
}

// shadowed tells whether a class declares a variable that has the name of a
// type.
func (t *nominal) shadowed(name string) bool {
	for _, has := range t.has {
		if has[name] {
			return true
		}
	}
	return false
}

// pinShared keeps the names of members of which others can see one of the name
// as well, such as a method beside a field.
func (t *nominal) pinShared() {
	for class, sc := range t.own {
		for name, entries := range sc.names {
			if t.has[class][name] {
				entries[0].object.pin("others can see a member of that name")
			}
		}
	}
}

// settleHomes notes where objects are declared, before uses of members are
// known.
func (t *nominal) settleHomes() {
	for leaf, o := range t.declared {
		t.homes[o] = append(t.homes[o], leaf)
	}
}

// called is the type that a name means at a place.
func (t *nominal) called(name string, at int) typed {
	found := t.byName[name]
	switch {
	case t.vague[name], len(found) > 1:
		return typed{class: anyType}
	case len(found) == 0:
		return typed{class: otherType}
	}
	home := t.parent(found[0])
	for p := at; p >= 0; p = t.parent(p) {
		if p == home || p == found[0] {
			return typed{class: found[0]}
		}
		// A class that is made from another may have its own of that name.
		if p != at && t.classes[p] && t.inherits(p) {
			return typed{class: anyType}
		}
	}
	return typed{class: anyType}
}

// inherits tells whether a class has members that the file does not show.
func (t *nominal) inherits(class int) bool {
	return t.some(class, func(c int) bool { return t.open[c] })
}

// some tells whether something is so for a class or one that it is made from.
func (t *nominal) some(class int, is func(int) bool) bool {
	seen, next := map[int]bool{}, []int{class}
	for len(next) > 0 {
		c := next[0]
		if next = next[1:]; seen[c] {
			continue
		}
		if seen[c] = true; is(c) {
			return true
		}
		next = append(next, t.bases[c]...)
	}
	return false
}

// lacks tells whether a class surely has no member of a name.
func (t *nominal) lacks(class int, name string) bool {
	return !t.some(class, func(c int) bool { return t.open[c] || t.has[c][name] })
}

// typeOf is the type of an expression.
func (t *nominal) typeOf(n int) typed {
	if n < 0 || t.depth > 20 {
		return typed{class: anyType}
	}
	t.depth++
	defer func() { t.depth-- }()
	return t.expression(n)
}

// typeOfObject is the type of a variable, or of what a method returns.
func (t *nominal) typeOfObject(o *object) typed {
	if o == nil || len(t.homes[o]) != 1 || t.depth > 20 {
		return typed{class: anyType}
	}
	t.depth++
	defer func() { t.depth-- }()
	return t.declaredType(t.homes[o][0])
}

// element is the type of what an index leads to.
func (x typed) element() typed {
	if x.arrays == 0 {
		return typed{class: anyType}
	}
	return typed{x.class, x.arrays - 1}
}

// speaks tells whether a file has one of some words in it, in lower case and
// as a part of others, outside of comments.
func (s *side) speaks(parts ...string) bool {
	for n := 0; n < len(s.tree.Nodes); n++ {
		if s.language.comments[s.kind(n)] {
			n = int(s.tree.Nodes[n].Next) - 1
			continue
		}
		if int(s.tree.Nodes[n].Next) != n+1 {
			continue
		}
		text := strings.ToLower(s.tree.Source(n))
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
	}
	return false
}

// member makes a leaf declare a member of a class; all of one name are one.
func (t *nominal) member(class, leaf int, kind string) *object {
	sc := t.own[class]
	if sc == nil {
		sc = &scope{kind: block, node: class, parent: t.scopes[0], names: map[string][]*entry{}}
		t.own[class] = sc
	}
	name := t.tree.Source(leaf)
	if known := t.find(class, name); known != nil {
		if t.declared[leaf] = known; known.Kind != kind {
			known.pin("it is both a " + kind + " and a " + known.Kind)
		}
		return known
	}
	o := &object{Object: &tree.Object{Name: name, Kind: kind, Line: t.line(leaf), Reach: tree.Member}, region: t.scopes[0], in: sc, member: true}
	o.Pinned = t.spellingPins(name)
	sc.names[name] = []*entry{{object: o}}
	t.declared[leaf] = o
	return o
}

// find is the renamable member that a class itself declares under a name.
func (t *nominal) find(class int, name string) *object {
	if sc := t.own[class]; class >= 0 && sc != nil && len(sc.names[name]) > 0 {
		return sc.names[name][0].object
	}
	return nil
}

// localIn tells whether the scope of a node has a variable of a name at a place.
func (t *nominal) localIn(node int, name string, at uint32) bool {
	sc := t.scopes[node]
	if sc == nil {
		return false
	}
	for _, e := range sc.names[name] {
		if e.from <= at {
			return true
		}
	}
	return false
}
