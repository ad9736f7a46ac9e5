package languages

import (
	"sort"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// side is one of the two programs.
type side struct {
	language *language
	tree     *treesitter.Tree
	parents  []int32
	lines    []int

	scopes   map[int]*scope
	declared map[int]*object
	// free are the names that the program uses and does not declare, opaque the
	// texts that may hold names, and quoted the literals that could be one.
	free, opaque, quoted []freeText
	// loose are names of members of what is not known, said texts in which
	// names of members may be looked for.
	loose, said []freeText
	// keys are the members that a leaf names which is a variable as well.
	keys map[int]*object
	// lists are the parts of the nodes in which declarations may change places.
	lists map[*tree.Node][]*item
	// origin has the leaves of which names were made, where it is asked for, and
	// set the objects that change.
	origin map[*tree.Node]int
	set    map[*object]bool
	// folded are the functions that were put in place of their calls.
	folded []*helper
	// facts are what is known of variables that are given to them.
	facts map[fact]bool
	// promises are the first declarations of a C file's functions, tops the
	// places that declare a name of the file; nil until they are asked for.
	promises map[string]int
	tops     map[string]leaves
	// inMacros are the names in the macros of a C++ file; nil until then.
	inMacros set
	// resolved are the leaves that stand for an object.
	resolved []resolvedLeaf
	// links are the leaves that name what another file of the call declares, and
	// imported what these are.
	links    map[int]*tree.Object
	imported map[*tree.Object]link
	// given are the names that others can import; see gives.
	given map[string]*tree.Object
	// pairing relates the objects of both sides, once they were compared.
	pairing *tree.Pairing
	// others has the name on the other side of each object.
	others map[*tree.Object]string
	// unsafeFor says why no name of the file may change.
	unsafeFor string
	// lacks tells whether a class surely has no member of a name; nil if that is
	// never known.
	lacks func(sc *scope, name string) bool
	// nominal has the classes of a file of Kotlin.
	nominal *nominal
	// shorts are the members that stand as $name in a text of Kotlin.
	shorts map[int]*object
	// elsewhere are Python's global and nonlocal names, matches its match
	// statements.
	elsewhere, matches []int
	// defined are the macros of a C file, or the words with which a Rust file may
	// give a macro's name to another; globs the blocks of a Rust file that take
	// all names of a module.
	defined set
	globs   map[int]bool
}

type freeText struct {
	text string
	at   uint32
	// region is the function or file around it.
	region *scope
	// anywhere is set for text that is put elsewhere: the body of a macro.
	anywhere bool
}

type resolvedLeaf struct {
	object *object
	at     uint32
	// qualified names can be nothing but members.
	qualified bool
}

// newSide reads no names yet: that is for declareAll, on a text without faults.
func newSide(l *language, t *treesitter.Tree) *side {
	s := &side{language: l, tree: t, scopes: map[int]*scope{}, declared: map[int]*object{}, lists: map[*tree.Node][]*item{}}
	s.parents = make([]int32, len(t.Nodes))
	s.parents[0] = -1
	for n := range t.Nodes {
		for child := range t.Children(n) {
			s.parents[child] = int32(n)
		}
	}
	s.lines = append(s.lines, 0)
	for i, c := range t.Text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// depth is how deeply the tree is nested.
func (s *side) depth() int {
	depths, deepest := make([]int32, len(s.parents)), int32(0)
	for n := 1; n < len(depths); n++ {
		depths[n] = depths[s.parents[n]] + 1
		deepest = max(deepest, depths[n])
	}
	return int(deepest)
}

func (s *side) line(node int) int { return s.lineAt(s.tree.Nodes[node].Start) }

func (s *side) lineAt(offset uint32) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > int(offset) })
}

// declareAll opens the scopes and lets the language declare its names, parents
// first.
func (s *side) declareAll() {
	root := &scope{kind: module, node: 0, names: map[string][]*entry{}}
	s.scopes[0] = root
	around := make([]*scope, len(s.tree.Nodes))
	around[0] = root
	for n := 1; n < len(s.tree.Nodes); n++ {
		in := around[s.parents[n]]
		s.language.declare(s, n, in)
		if kind, ok := s.language.scopes[s.kind(n)]; ok && s.named(n) {
			in = &scope{kind: kind, node: n, parent: in, names: map[string][]*entry{}}
			s.scopes[n] = in
		}
		around[n] = in
	}
	if s.language.finish != nil {
		s.language.finish(s)
	}
}

func (s *side) kind(n int) string {
	if n < 0 {
		return ""
	}
	return s.tree.Kind(n)
}

func (s *side) named(n int) bool { return s.tree.Nodes[n].Flags&treesitter.Named != 0 }

func (s *side) parent(n int) int { return int(s.parents[n]) }

func (s *side) parentKind(n int) string { return s.kind(s.parent(n)) }

func (s *side) field(n int) string { return s.tree.FieldName(n) }

// place is "kind.field" of a node in its parent.
func (s *side) place(n int) string { return s.parentKind(n) + "." + s.field(n) }

// child is the first child under a field, or -1, as it is for no node.
func (s *side) child(n int, field string) int {
	if n < 0 {
		return -1
	}
	for c := range s.tree.Children(n) {
		if s.field(c) == field {
			return c
		}
	}
	return -1
}

// has says whether a node has a child of a kind.
func (s *side) has(n int, kind string) bool { return s.first(n, kind) >= 0 }

// hasKind tells whether there is a node of a kind anywhere.
func (s *side) hasKind(kind string) bool {
	for n := range s.tree.Nodes {
		if s.kind(n) == kind {
			return true
		}
	}
	return false
}

// first is the first child of a kind, or -1, as it is for no node.
func (s *side) first(n int, kind string) int {
	if n < 0 {
		return -1
	}
	for c := range s.tree.Children(n) {
		if s.kind(c) == kind {
			return c
		}
	}
	return -1
}

// above is the nearest node above n of one of the kinds, or -1.
func (s *side) above(n int, kinds set) int {
	for n = s.parent(n); n >= 0 && !kinds[s.kind(n)]; n = s.parent(n) {
	}
	return n
}

// siblings are the nodes beside n that are no comments; -1 where there is none.
func (s *side) siblings(n int) (before, after int) {
	before, after = -1, -1
	passed := false
	for c := range s.tree.Children(s.parent(n)) {
		switch {
		case s.language.comments[s.kind(c)]:
		case c == n:
			passed = true
		case !passed:
			before = c
		default:
			return before, c
		}
	}
	return before, after
}

// within tells whether a place is in a scope's text.
func (s *side) within(sc *scope, at uint32) bool {
	n := s.tree.Nodes[sc.node]
	return sc.parent == nil || n.Start <= at && at < n.End
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && r != '$' && !isLetter(r)
	})
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127
}
