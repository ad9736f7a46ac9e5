package languages

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// scope is a stretch of text in which names are declared.
type scope struct {
	kind   scopeKind
	node   int
	parent *scope
	names  map[string][]*entry
}

type entry struct {
	object *object
	// from is the first byte at which the name is seen.
	from uint32
}

// object is a tree.Object and where it may be used at most.
type object struct {
	*tree.Object
	// leaf is where it is declared first.
	leaf int
	// region is the function or file around the declaration.
	region *scope
	in     *scope
	// spelled says that a text in the file could be used to find the name.
	spelled bool
	// unfit says why the name must not be taken, although it may be given up.
	unfit string
	// conditional says that the declaration may be left out when the program is
	// built, and that its name then means another one.
	conditional bool
	// member says that it belongs to a class, hidden that the language keeps it
	// from everything outside of the file.
	member, hidden bool
	// private members can be used in the file of their class alone.
	private bool
	// key gives what stands for a name among those of its class; nil where that
	// is the name.
	key func(name string) string
}

// around is the nearest scope of one of the kinds, the scope itself included.
func (sc *scope) around(kinds ...scopeKind) *scope {
	for ; sc.parent != nil; sc = sc.parent {
		for _, kind := range kinds {
			if sc.kind == kind {
				return sc
			}
		}
	}
	return sc
}

// region is the function or file that a name of this scope could be seen in,
// whatever the finer rules are.
func (sc *scope) region() *scope { return sc.around(function, module) }

// add declares a name and returns its object: a second declaration of a hoisted
// name is the same object.
func (s *side) add(in *scope, leaf int, kind string) *object {
	name := s.tree.Source(leaf)
	return s.addNamed(in, leaf, name, kind, s.tree.Nodes[leaf].Start)
}

func (s *side) addNamed(in *scope, leaf int, name, kind string, from uint32) *object {
	if known := in.names[name]; len(known) > 0 && !s.language.sequential {
		o := known[len(known)-1].object
		s.declared[leaf] = o
		return o
	}
	reach := tree.Local
	o := &object{Object: &tree.Object{Name: name, Kind: kind, Line: s.line(leaf), Reach: reach}, leaf: leaf, region: in.region(), in: in}
	if why := s.spellingPins(name); why != "" {
		o.Pinned = why
	}
	if !s.language.sequential {
		from = 0
	}
	in.names[name] = append(in.names[name], &entry{object: o, from: from})
	s.declared[leaf] = o
	return o
}

func (s *side) spellingPins(name string) string {
	if s.language.reserved[name] {
		return "the name has a meaning of its own"
	}
	if s.language.pinned != nil {
		return s.language.pinned(name)
	}
	return ""
}

// pin fixes an object's name; the first reason stays.
func (o *object) pin(why string) {
	if o != nil && o.Pinned == "" {
		o.Pinned = why
	}
}

// share says that other files can use the name.
func (o *object) share() {
	if o != nil && o.Reach == tree.Local {
		o.Reach = tree.Shared
		o.spelled = true
	}
}

// lookup finds what a name stands for at a place, or nil. A class between the
// name and its declaration could have, or inherit, a member of any name.
func (s *side) lookup(from *scope, name string, at uint32) *object {
	crossed := false
	for sc := from; sc != nil; sc = sc.parent {
		if sc.kind == class && sc != from && s.language.closed {
			continue
		}
		entries := sc.names[name]
		for i := len(entries) - 1; i >= 0; i-- {
			if entries[i].from > at {
				continue
			}
			if crossed {
				entries[i].object.pin("a class uses it that could inherit a member of that name")
			}
			return entries[i].object
		}
		crossed = crossed || sc.kind == class && !s.language.closed && (s.lacks == nil || !s.lacks(sc, name))
	}
	return nil
}
