package languages

import (
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// set is a set of node kinds, tokens or names.
type set map[string]bool

func setOf(names ...string) set {
	s := make(set, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// language is what the comparison knows about one grammar. What a table does
// not mention is compared as it is written.
type language struct {
	grammar treesitter.Language
	// comments are the kinds of comments; kept says which have meaning.
	comments set
	kept     func(s *side, node int, text string) bool
	// note gives what alone has meaning in a comment; "" where all of it has.
	note func(text string) string
	// whole nodes are compared as one text: literals.
	whole set
	// spelling gives a whole node's text with its freedoms of spelling taken
	// out; nil if there are none.
	spelling func(s *side, node int, text string) string
	// exact nodes have meaning in the white space between their parts.
	exact set
	// joined nodes go on in the next line after a backslash, and have no other
	// line breaks between their parts.
	joined set
	// opaque nodes are compared as one text that may hold names.
	opaque func(s *side, node int) bool
	// optional says whether a token is without meaning where it stands.
	optional func(s *side, node int) bool
	// inner is the node that stands for this one (redundant parentheses), or -1.
	inner func(s *side, node int) int
	// same has kinds of nodes that are others in parentheses.
	same map[string]string
	// rewrite builds a node in another form; nil leaves it to the general one.
	rewrite func(b *builder, node int, field string) *tree.Node
	// newlines are the kinds of nodes in which a line break after the first
	// token has meaning; lines says that it has in every node.
	newlines set
	lines    bool
	// goesAfter and goesBefore are tokens after and before which a line break
	// has no meaning all the same.
	goesAfter, goesBefore set
	// splices is set where a backslash at the end of a line is layout.
	splices bool
	// foldsLineEnds is set where a CR LF in a literal is a LF.
	foldsLineEnds bool

	// holds says that declarations in a node may change places; order what that
	// means for one of its parts, which has attributes in front of it (leads)
	// or a sign behind it (trails).
	holds  func(s *side, node int) bool
	order  func(s *side, node int, leads []int) ordering
	leads  func(s *side, node int) bool
	trails func(s *side, node int) bool
	// inlining is nil where a function is never put in place of its calls.
	inlining *inlining

	// names are the kinds of leaves that can be references.
	names set
	// fixed says that a leaf of these kinds is no reference where it stands.
	fixed func(s *side, node int) bool
	// scopes are the kinds of nodes that open one.
	scopes map[string]scopeKind
	// outside says that a node is resolved outside of the innermost scope.
	outside func(s *side, node int) bool
	// declare is called for each node, parents first, with the scope around it.
	declare func(s *side, node int, in *scope)
	// finish is called when all is declared.
	finish func(s *side)
	// sequential languages see a name from its declaration on.
	sequential bool
	// closed languages hide what a class declares from the functions in it.
	closed bool
	// strict languages have names that this package cannot resolve: a name must
	// be new to the whole function, and the old one gone from it.
	strict bool
	// settled languages are strict ones whose locals are resolved exactly, but
	// for those that are conditional: two of one name in a function are told
	// apart.
	settled bool
	// reserved names cannot be taken or given up.
	reserved set
	// dynamic are names that can reach a variable by its spelling.
	dynamic map[string]reach
	// folds is set where names of members that differ in capitals can be the
	// same; sigil is what may stand before one.
	folds bool
	sigil string
	// pinned says why a name of a certain spelling must not change.
	pinned func(name string) string
}

// scopeKind says what a scope is for.
type scopeKind int

const (
	block scopeKind = iota + 1
	function
	class
	module
)

// reach says which names a function can find by their spelling.
type reach int

const (
	// anywhere is all names that can be seen there.
	anywhere reach = iota + 1
	// ownRegion is the names of the function around it.
	ownRegion
	// topOnly is the names of the file.
	topOnly
)
