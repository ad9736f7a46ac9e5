package languages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// family is the classes of a file that are made from one another. They share
// one set of members: what one of them declares another may use or override.
type family struct {
	scope *scope
	// fixed says why no member may be renamed, fields why none that holds a
	// value.
	fixed, fields string
}

// families are those of a file, by the nodes of their classes.
type families struct {
	side   *side
	of     map[int]*family
	parent map[int]int
	// open says why others may have the members of a class that are not private.
	open map[int]string
	// homes are the places that declare an object, as they were before there
	// were members.
	homes map[*object][]int
}

// newFamilies makes one family of each set of classes that bases ties together.
func newFamilies(s *side, classes []int, base func(f *families, class int) (own int, why string)) *families {
	f := &families{side: s, of: map[int]*family{}, parent: map[int]int{}, homes: map[*object][]int{}, open: map[int]string{}}
	for leaf, o := range s.declared {
		f.homes[o] = append(f.homes[o], leaf)
	}
	why := map[int]string{}
	for _, class := range classes {
		f.parent[class] = class
	}
	for _, class := range classes {
		own, fixed := base(f, class)
		why[class] = fixed
		if own >= 0 {
			f.parent[f.root(class)] = f.root(own)
		}
	}
	for _, class := range classes {
		root := f.root(class)
		if f.of[root] == nil {
			f.of[root] = &family{scope: &scope{kind: block, node: root, parent: s.scopes[0], names: map[string][]*entry{}}}
		}
		f.of[class] = f.of[root]
		if f.of[class].fixed == "" {
			f.of[class].fixed = why[class]
		}
	}
	return f
}

func (f *families) root(class int) int {
	for f.parent[class] != class {
		class = f.parent[class]
	}
	return class
}

// openOf says why others may have members of a class's family, or "".
func (f *families) openOf(class int) string {
	for member, why := range f.open {
		if f.root(member) == f.root(class) {
			return why
		}
	}
	return ""
}

// declare makes a leaf the name of a member, which is one for the whole family.
func (f *families) declare(class, leaf int, name, kind string) *object {
	return f.declareAs(class, leaf, name, strings.TrimPrefix(name, "static "), kind)
}

// declareAs is declare for a name that is another among those of its class.
func (f *families) declareAs(class, leaf int, name, bare, kind string) *object {
	fam := f.of[class]
	if known := fam.scope.names[name]; len(known) > 0 {
		f.side.declared[leaf] = known[0].object
		if kind != known[0].object.Kind {
			known[0].object.pin("it is both a " + kind + " and a " + known[0].object.Kind)
		}
		return known[0].object
	}
	o := &object{Object: &tree.Object{Name: bare, Kind: kind, Line: f.side.line(leaf), Reach: tree.Member}, region: f.side.scopes[0], in: fam.scope, member: true}
	o.Pinned = f.side.spellingPins(bare)
	fam.scope.names[name] = []*entry{{object: o}}
	f.side.declared[leaf] = o
	return o
}

// use makes a leaf a use of a member, if the family declares it.
func (f *families) use(class, leaf int, name string) bool {
	fam := f.of[class]
	if fam == nil {
		return false
	}
	known := fam.scope.names[name]
	if len(known) == 0 {
		return false
	}
	f.side.declared[leaf] = known[0].object
	return true
}

// settle pins the members that may not be renamed.
func (f *families) settle() {
	for _, fam := range f.of {
		for _, entries := range fam.scope.names {
			o := entries[0].object
			if fam.fixed != "" {
				o.pin(fam.fixed)
			}
			if fam.fields != "" && o.Kind == "field" {
				o.pin(fam.fields)
			}
		}
	}
}

// memberDisturbed looks for what may mean a member of either name and is not
// known to be of its class.
func (s *side) memberDisturbed(o *object, old, new string) string {
	if s.unsafeFor != "" {
		return "the file has " + s.unsafeFor
	}
	for _, f := range s.free {
		switch {
		case s.alike(f.text, old) || s.alike(f.text, new):
			return fmt.Sprintf("%q in line %d may be another one", f.text, s.lineAt(f.at))
		case s.language.dynamic[f.text] == anywhere:
			return fmt.Sprintf("%q in line %d can find names by their spelling", f.text, s.lineAt(f.at))
		}
	}
	for _, f := range s.loose {
		if s.alike(f.text, old) || s.alike(f.text, new) {
			return fmt.Sprintf("%q in line %d may be of something else", f.text, s.lineAt(f.at))
		}
	}
	for _, f := range s.opaque {
		if s.mentionsMember(f.text, old, new) {
			return fmt.Sprintf("the text in line %d may use the name", s.lineAt(f.at))
		}
	}
	for _, f := range s.said {
		if s.mentionsMember(f.text, old, new) {
			return fmt.Sprintf("the text in line %d has the name", s.lineAt(f.at))
		}
	}
	return ""
}

// alike tells whether two names are one to the language.
func (s *side) alike(a, b string) bool {
	return a == b || s.language.folds && strings.EqualFold(a, b)
}

func (s *side) mentionsMember(text, old, new string) bool {
	bare := func(name string) string {
		return strings.TrimRight(strings.TrimPrefix(name, s.language.sigil), "?!")
	}
	return slices.ContainsFunc(words(text), func(word string) bool {
		return s.alike(bare(word), bare(old)) || s.alike(bare(word), bare(new))
	})
}

// say notes a text in which names may be looked for: one word, a path, a
// template.
func (s *side) say(n int) {
	text := s.tree.Source(n)
	if strings.ContainsAny(text, space) && !strings.ContainsAny(text, "{<>%$") {
		return
	}
	s.said = append(s.said, freeText{text: text, at: s.tree.Nodes[n].Start})
}

// loosen notes a name that may be that of a member of anything.
func (s *side) loosen(n int) {
	s.loose = append(s.loose, freeText{text: strings.Trim(s.tree.Source(n), `"'`), at: s.tree.Nodes[n].Start})
}

// memberBound says why a renamed member is not proven for good.
func (l *language) memberBound() string {
	switch l.grammar {
	case treesitter.Rust:
		return "other files can use a member, and what is derived can print it"
	case treesitter.C, treesitter.CPlusPlus:
		return "macros of headers can use a member"
	}
	return "a member can be found by its name while the program runs"
}
