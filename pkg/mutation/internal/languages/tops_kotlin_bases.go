package languages

import (
	"fmt"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// kotlinBareTypes are types that give names which are reserved, or none, to those
// that are made from them.
var kotlinBareTypes = setOf(strings.Fields(`Any Exception RuntimeException Error Throwable IllegalArgumentException IllegalStateException
	UnsupportedOperationException Runnable AutoCloseable Annotation`)...)

// kotlinFaces are interfaces that have no types, and extensions only in lower
// case.
var kotlinFaces = setOf(strings.Fields(`Comparable Comparator Iterable Iterator CharSequence Closeable Callable Collection List Set Map Sequence`)...)

// kotlinKnownBases tells whether all that the classes around a leaf are made
// from is known: a base gives its members and types to them, by any name.
func (t *tops) kotlinKnownBases(f *file, s *side, leaf int, d top) bool {
	for class := s.above(leaf, kotlinClassNodes); class >= 0; class = s.above(class, kotlinClassNodes) {
		if !t.kotlinPlainHead(f, s, class, d, 0) {
			return false
		}
	}
	return true
}

func (t *tops) kotlinPlainHead(f *file, s *side, class int, d top, hops int) bool {
	if own := s.nominal.companion(class); own >= 0 && !t.kotlinPlainHead(f, s, own, d, hops) {
		return false // its members are seen in the class
	}
	list := s.first(class, "delegation_specifiers")
	if list < 0 {
		return true
	}
	for specifier := range s.tree.Children(list) {
		if s.kind(specifier) != "delegation_specifier" {
			continue
		}
		base := specifier + 1
		if kind := s.kind(base); kind == "constructor_invocation" || kind == "explicit_delegation" {
			base++
		}
		if s.kind(base) != "user_type" || hops > maxPassed || !t.kotlinPlainType(f, s, base, d, hops) {
			return false
		}
	}
	return true
}

// kotlinPlainType tells whether a type is declared in the files of the call, or
// gives no names.
func (t *tops) kotlinPlainType(f *file, s *side, typ int, d top, hops int) bool {
	name := s.tree.Source(typ + 1)
	for c := range s.tree.Children(typ) {
		if k := s.kind(c); k != "type_arguments" && c != typ+1 {
			return false
		}
	}
	found := false
	for _, other := range t.files {
		side := other.before
		if s == f.after {
			side = other.after
		}
		for n := range side.tree.Nodes {
			leaf := side.child(n, "name")
			if kind := side.kind(n); kind == "type_alias" && side.tree.Source(max(side.child(n, "type"), 0)) == name {
				return false
			} else if kind != "class_declaration" && kind != "object_declaration" || leaf < 0 || side.tree.Source(leaf) != name {
				continue
			}
			nested := side.parent(n) != 0
			if found || nested && other != f || !nested && !s.kotlinSees(top{name: name, space: side.kotlinPackage()}) || !t.kotlinPlainHead(other, side, n, d, hops+1) {
				return false
			}
			found = true
		}
	}
	isType := d.kind != "function" && d.kind != "property" && isUpper(rune(d.name[0]))
	return found || (kotlinBareTypes[name] || isType && kotlinFaces[name]) && s.kotlinSees(top{name: name, space: s.kotlinPackage()})
}

// maxNeighbours bounds how many files beside those of a call are read.
const maxNeighbours = 300

// kotlinAround says which file of the package, beside those of the call, has one
// of two names: it could declare a function that fits a call better, or use what
// is renamed.
func kotlinAround(t *tops, names ...string) string {
	if t.list == nil || t.read == nil {
		return ""
	}
	own, looked, reads := set{}, set{}, 0
	for _, f := range t.files {
		own[f.path], own[t.moved[f]] = true, true
	}
	for _, f := range t.files {
		dir := path.Dir(f.path)
		if looked[dir] {
			continue
		}
		looked[dir] = true
		list, err := t.list(dir)
		if err != nil {
			return fmt.Sprintf("the other files of %s were not looked at", dir)
		}
		for _, name := range list {
			at := path.Join(dir, path.Base(name))
			if own[at] || !strings.HasSuffix(at, ".kt") {
				continue
			}
			if reads++; reads > maxNeighbours {
				return fmt.Sprintf("%s has more files than are looked at", dir)
			}
			text, err := t.read(at)
			if err != nil && !verdict.IsMissing(err) {
				return fmt.Sprintf("%s was not looked at", at)
			}
			for _, word := range names {
				if hasWord(string(text), word) {
					return fmt.Sprintf("%s, which did not change, has the name %s", at, word)
				}
			}
		}
	}
	return ""
}
