package languages

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// Token is a leaf of a tree, for tests that change texts.
type Token struct {
	Start, End int
	// RegionStart and RegionEnd bound the function or file around a declaration.
	RegionStart, RegionEnd int
	Kind                   string
	Named                  bool
	// Exact says that the space before the token has meaning.
	Exact bool
	// Name says that the token can be a reference where it stands, Declares that
	// it declares something whose name may change, Comment that it is one.
	Name, Declares, Pinned, Comment bool
	// Member says that it declares or uses a member that may be renamed.
	Member bool
}

// understood is a text with what it declares; nil if the parser does not
// understand it.
func understood(name string, text []byte) *side {
	l := tables()[treesitter.Language(name)]
	t, err := parsers.Parse(context.Background(), l.grammar, text)
	if err != nil {
		return nil
	}
	if _, faulty := t.Fault(); faulty {
		return nil
	}
	s := newSide(l, t)
	s.declareAll()
	return s
}

// spaced are kinds of nodes that a test which changes layout leaves alone.
var spaced = setOf("string_array", "symbol_array", "heredoc_body", "uninterpreted")

// Tokens are the leaves of a text; nil if the parser does not understand it.
func Tokens(name string, text []byte) []Token {
	s := understood(name, text)
	if s == nil {
		return nil
	}
	l, t := s.language, s.tree
	var tokens []Token
	for n := 0; n < len(t.Nodes); n++ {
		kind, comment := s.kind(n), l.comments[s.kind(n)]
		if !comment && int(t.Nodes[n].Next) != n+1 && !l.whole[kind] && !l.names[kind] {
			continue
		}
		token := Token{Start: int(t.Nodes[n].Start), End: int(t.Nodes[n].End), Kind: kind, Named: s.named(n), Comment: comment, Exact: s.parent(n) >= 0 && (l.exact[s.parentKind(n)] || spaced[s.parentKind(n)]) || spaced[kind]}
		if l.names[kind] && token.Named {
			o := s.declared[n]
			token.Name = o != nil || !l.fixed(s, n)
			// A name that an import has without another is the other file's.
			theirs := o != nil && (&file{}).importsName(s, n)
			token.Declares = o != nil && o.Pinned == "" && !theirs
			if o != nil {
				region := t.Nodes[o.region.node]
				token.RegionStart, token.RegionEnd = int(region.Start), int(region.End)
			}
			token.Member = o != nil && o.member && o.Pinned == ""
			token.Pinned = o != nil && o.Pinned != "" || theirs
		}
		if token.End > token.Start {
			tokens = append(tokens, token)
		}
		n = int(t.Nodes[n].Next) - 1
	}
	return tokens
}

// Parse reads a text, and does nothing with it.
func Parse(name string, text []byte) {
	_, _ = parsers.Parse(context.Background(), tables()[treesitter.Language(name)].grammar, text)
}

// TopNames are the names that a program declares for other files.
func TopNames(name string, program map[string]string) map[string]bool {
	l := tables()[treesitter.Language(name)]
	rules, found := topRulesOf(l), map[string]bool{}
	for _, text := range program {
		t, err := parsers.Parse(context.Background(), l.grammar, []byte(text))
		if err != nil {
			continue
		}
		s := newSide(l, t)
		s.declareAll()
		for n := range t.Nodes {
			if s.isLeaf(n) && s.named(n) {
				if kind, _ := rules.declares(s, n); kind != "" {
					found[s.tree.Source(n)] = true
				}
			}
		}
	}
	return found
}
