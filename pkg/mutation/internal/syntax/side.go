package syntax

import (
	"bytes"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// tokenFlags say what a token is, and what the white space in front of it means.
type tokenFlags uint16

const (
	opens    tokenFlags = 1 << iota // a node that has parts
	closes                          // its end
	broken                          // behind a line break that has meaning
	spaced                          // behind a space that has meaning
	prefixed                        // a space in front, and none behind

	indented // Python: a block began in front of it
	named    // the name of a variable
	neutral  // a name that means no variable
	member   // the name of a member of this
	keyword  // the name of a parameter of what is called
)

// compared are the flags in which the two sides must agree.
const compared = opens | closes | broken | spaced | prefixed | indented | named | neutral | member | keyword

// token is a leaf of the tree, or the begin or end of a node that has parts.
type token struct {
	symbol, field uint16
	flags         tokenFlags
	depth         uint16 // Python: how many blocks end behind it
	scope         int32
	start, end    uint32
	text          string // where it is not what stands in the file
}

// scope is a stretch of tokens in which names are declared.
type scope struct {
	kind   scopeKind
	parent int32
}

// def is a declared name.
type def struct {
	*definition
	name  string
	token int
	scope int32
	from  int // the first token that it is known to; -1 while its node is open
	// exported names are known outside of the file.
	exported, escaped, guarded, chosen bool
}

// list is a node whose parts may change places.
type list struct {
	open, close int // its tokens
	items       []item
}

type item struct {
	node        int
	first, next int // its tokens
}

// next is the first token that is in no part yet.
func (l *list) next(open int) int {
	if len(l.items) == 0 {
		return open + 1
	}
	return l.items[len(l.items)-1].next
}

// add makes a part of a node and of all tokens since the last one. What leads
// the next one waits, and what trails belongs to the last.
func (l *list) add(node, open, next int, bits kindBits) {
	switch {
	case bits&(isLead|isComment) != 0:
	case bits&isTrail != 0 && len(l.items) > 0:
		l.items[len(l.items)-1].next = next
	default:
		l.items = append(l.items, item{node, l.next(open), next})
	}
}

// side is one version of a file.
type side struct {
	*rules
	path   string
	tree   *treesitter.Tree
	src    []byte
	tokens []token
	scopes []scope
	defs   []def
	lists  map[int]*list
	module bool
	// whole is the file of which src is a stretch, behind base lines; nil if it is all.
	whole   []byte
	base    int
	macros  set      // names that a macro of the file has, or uses
	headers *headers // nil where they were not asked for
	asides  bool     // parts of it were not understood, and are compared as they are written
	call    *call
}

// source is a file, or a stretch of one.
type source struct {
	path    string
	tree    *treesitter.Tree
	whole   []byte // the file, if the tree is that of a stretch
	start   uint32 // where the stretch begins
	headers *headers
	call    *call
}

// newSide flattens a tree. The error says where a file cannot be compared.
func newSide(r *rules, from source, depth int) (*side, error) {
	t := from.tree
	s := &side{rules: r, path: from.path, tree: t, src: t.Text, whole: from.whole, headers: from.headers, call: from.call, lists: map[int]*list{}, scopes: []scope{{fileScope, -1}}}
	s.base = bytes.Count(from.whole[:from.start], []byte("\n"))
	b := &builder{side: s, fault: -1, limit: depth, guard: -1, choice: -1, all: r.keepAll != nil && r.keepAll.Match(t.Text)}
	b.tokens = make([]token, 0, len(t.Nodes))
	if b.fault = b.faultIn(0); b.fault < 0 || r.apart && b.fault > 0 {
		b.fault = -1
		b.node(0, 0, t.Nodes[0].Field, nil)
	}
	switch {
	case b.fault >= 0:
		return nil, &fault{b.lineAt(t.Nodes[b.fault].Start), "the parser does not understand this line"}
	case b.deep > b.limit:
		return nil, &fault{0, tooDeep}
	}
	if r.macroCalls != nil {
		b.preprocess()
	}
	if r.lines == linesIndent {
		if err := b.indent(); err != nil {
			return nil, err
		}
	}
	return b.side, nil
}

// file is the text of all of the file.
func (s *side) file() []byte {
	if s.whole != nil {
		return s.whole
	}
	return s.src
}

// fault is why a file cannot be compared.
type fault struct {
	line int
	why  string
}

func (f *fault) Error() string { return f.why }

const tooDeep = "it is nested too deeply"

// text of a token as it is compared.
func (s *side) text(t *token) string {
	if t.text != "" {
		return t.text
	}
	return string(s.src[t.start:t.end])
}

func (s *side) lineAt(offset uint32) int {
	return 1 + s.base + bytes.Count(s.src[:min(int(offset), len(s.src))], []byte("\n"))
}
