package syntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// kindBits are what is known of a kind of node or token.
type kindBits uint64

const (
	isComment     kindBits = 1 << iota // layout
	isJoinAfter                        // tokens behind which a line break is layout
	isJoinBefore                       // tokens before which it is
	isBreakAfter                       // tokens behind which it has meaning
	isBreakBefore                      // tokens before which it has, also in brackets
	isTight                            // tokens beside which a space has meaning
	isPrefix                           // tokens of which a space in front and none behind has meaning
	isMacro                            // in which each space has meaning
	isExact                            // with meaning in their white space
	isWhole                            // compared as one text
	isQuoted                           // in which ' and " are the same
	isFolded                           // in which line breaks and indentation are one space
	isTrailing                         // in which a comma before the end is layout
	isName                             // leaves that can name a variable
	isNeutralKind                      // leaves that name something else
	isPattern                          // between a definition and its names
	isOpaque                           // whose names are not resolved
	isList                             // whose parts may change places
	isFree                             // parts that may stand anywhere among them
	isStill                            // parts that only declare, when they are reached
	isWrap                             // around a part, which they leave what it is
	isLead                             // parts that belong to the next one
	isNoisy                            // what makes a part more than a declaration
	isExport                           // around what other files can use
	isModule                           // that make a file a module
	isGuard                            // around a declaration, that may look at its name and parameters
	isNameless                         // leads that declare no name
	isImport                           // that import names from the file that they name
	isTrail                            // parts that belong to the one before
	isStaying                          // around which parentheses stay
	isText                             // leaves that begin with a name if one that is $ stands before them
	isFenceKind                        // what nothing may pass that has it
	isHiding                           // parts behind which the next one is not resolved, unless they are calm
	isWildKind                         // what can use any name around it
	isLoud                             // noisy also in the body of a function
	isLower                            // leaves that may be written in capitals
	isBehind                           // tokens behind which a name means something else
	isChoice                           // of which not all may be there: nor may what they declare
	isDirective                        // leaves that the C preprocessor reads
	isAfter                            // a definition begins behind it
	isPunctuation                      // a token without letters
	isOpening                          // ( or [
	isBrace                            // { in all its forms
	isClosing
	isComma
)

// placeBits are what is known of a place: "parent.field" or "parent.field/child", by the parent's kind, the field ("" for
// none) and the kind of the node itself.
type placeBits uint16

const (
	isDropped   placeBits = 1 << iota // tokens without meaning
	isGroup                           // parentheses that only group
	isNeutral                         // a name that names something else than a variable
	isMember                          // a name of a member of this or self
	isOutside                         // parts of a scope that belong to the one around it
	isValue                           // parts of patterns that are none
	isEscape                          // names that say that a variable belongs to the file
	isKeyword                         // a name of a parameter of what is called
	isShow                            // tokens that have a node print its own text
	isUnwrapped                       // nodes of one part that stand for it
	isTag                             // a name of a variable if it begins with a capital
	isFence                           // what nothing may pass that has it
	isUnsure                          // what is not resolved, and its names neither
	isWild                            // what can use any name around it
	isPaired                          // neutral, unless nothing follows the sign behind it
	isEmpty                           // nodes without meaning where they have no named parts
)

// kindKeys and placeKeys are what a table calls them. A key of both takes kinds, too, where it takes places.
var (
	kindKeys = map[string]kindBits{
		"comment": isComment, "join-after": isJoinAfter, "join-before": isJoinBefore, "break-after": isBreakAfter, "break-before": isBreakBefore,
		"tight": isTight, "prefix": isPrefix, "macro": isMacro, "exact": isExact, "whole": isWhole,
		"quotes": isQuoted, "trailing": isTrailing, "name": isName, "pattern": isPattern, "opaque": isOpaque,
		"list": isList, "free": isFree, "still": isStill, "wrap": isWrap, "lead": isLead,
		"noisy": isNoisy, "export": isExport, "module": isModule, "guard": isGuard, "nameless": isNameless,
		"import": isImport, "trail": isTrail, "stays": isStaying, "text": isText, "hides": isHiding,
		"loud": isLoud, "lower": isLower, "behind": isBehind, "choice": isChoice, "directive": isDirective,
		"fold": isWhole | isFolded,
	}
	placeKeys = map[string]placeBits{
		"drop": isDropped, "group": isGroup, "neutral": isNeutral, "member": isMember, "outside": isOutside, "value": isValue,
		"escape": isEscape, "keyword": isKeyword, "show": isShow, "unwrap": isUnwrapped, "tag": isTag, "fence": isFence,
		"unsure": isUnsure, "wild": isWild, "paired": isPaired, "empty": isEmpty,
	}
	kindsOfPlaces = map[placeBits]kindBits{isNeutral: isNeutralKind, isFence: isFenceKind, isWild: isWildKind}
)

// rules are a table in the numbers of its grammar.
type rules struct {
	*table
	kinds       []kindBits
	scopeKinds  []scopeKind
	places      map[place]placeBits
	definitions map[place][]*definition
	shorts      map[uint16]shorts
}

// place is where a node stands; child is 0 where any kind is meant.
type place struct{ parent, field, child uint16 }

// These stand for the field of a part that has none in the grammar: that it is the only part of its parent, the first
// of several, the second, or one behind. A table says later for the last two.
const (
	onlyPart = 0xfffb + iota
	firstPart
	secondPart
	laterPart
)

type shorts struct{ pair, key, value, colon, keyField, valueField uint16 }

// newRules also tells which kinds and fields the grammar does not have.
func newRules(t *table, g *treesitter.Grammar) (r *rules, unknown []string) {
	r = &rules{table: t, kinds: make([]kindBits, len(g.Symbols)), scopeKinds: make([]scopeKind, len(g.Symbols)),
		places: map[place]placeBits{}, definitions: map[place][]*definition{}, shorts: map[uint16]shorts{}}
	c := &compiler{r: r, symbols: map[string][]uint16{}, fields: map[string]uint16{"": 0, "only": onlyPart, "first": firstPart, "second": secondPart, "later": laterPart}, grammar: g}
	for i, name := range g.Symbols {
		c.symbols[name] = append(c.symbols[name], uint16(i))
		r.kinds[i] |= bitsOf(name)
	}
	for i, name := range g.Fields {
		if name != "" {
			c.fields[name] = uint16(i)
		}
	}
	c.kinds()
	c.placed()
	for i := range t.defines {
		d := &t.defines[i]
		c.each(d.at, func(p place) { r.definitions[p] = append(r.definitions[p], d) })
		if d.after != "" && d.after != "." {
			c.mark(setOf(d.after), isAfter)
		}
	}
	for _, s := range t.shorts {
		for _, leaf := range c.symbol(s.leaf) {
			var made shorts
			made.keyField, made.key = c.fielded(s.key)
			made.valueField, made.value = c.fielded(s.value)
			if made.colon = c.symbol(":")[0]; s.pair != "-" {
				made.pair = c.symbol(s.pair)[0]
			}
			r.shorts[leaf] = made
		}
	}
	slices.Sort(c.unknown)
	return r, slices.Compact(c.unknown)
}

// bitsOf is what the text of a token says.
func bitsOf(name string) (bits kindBits) {
	switch name {
	case "(", "[", "%w(", "%i(":
		bits = isOpening
	case "{", "#{", "${":
		bits = isBrace
	case ")", "]", "}":
		bits = isClosing
	case ",":
		bits = isComma
	}
	if !strings.ContainsFunc(name, inWord) {
		bits |= isPunctuation
	}
	return bits
}

func inWord(r rune) bool {
	return r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

type compiler struct {
	r       *rules
	grammar *treesitter.Grammar
	symbols map[string][]uint16
	fields  map[string]uint16
	unknown []string
}

func (c *compiler) symbol(name string) []uint16 {
	if list := c.symbols[name]; len(list) > 0 {
		return list
	}
	c.unknown = append(c.unknown, name)
	return []uint16{0}
}

// fielded reads FIELD.KIND or KIND.
func (c *compiler) fielded(spelled string) (field, symbol uint16) {
	before, kind, found := strings.Cut(spelled, ".")
	if !found {
		return 0, c.symbol(spelled)[0]
	}
	if _, ok := c.fields[before]; !ok {
		c.unknown = append(c.unknown, spelled)
	}
	return c.fields[before], c.symbol(kind)[0]
}

func (c *compiler) mark(kinds set, bit kindBits) {
	for name := range kinds {
		for _, s := range c.symbol(name) {
			c.r.kinds[s] |= bit
		}
	}
}

func (c *compiler) kinds() {
	for bits, kinds := range c.r.table.kinds {
		c.mark(kinds, bits)
	}
	for name, kind := range c.r.table.scopes {
		for _, s := range c.symbol(name) {
			c.r.scopeKinds[s] = kind
		}
	}
}

func (c *compiler) placed() {
	for bit, all := range c.r.table.at {
		at := set{}
		for spelled := range all {
			if kind := kindsOfPlaces[bit]; kind != 0 && !strings.Contains(spelled, ".") {
				c.mark(setOf(spelled), kind)
			} else {
				at[spelled] = true
			}
		}
		c.each(at, func(p place) { c.r.places[p] |= bit })
	}
}

// each gives the numbers of places that are spelled parent.field/child.
func (c *compiler) each(at set, yield func(place)) {
	for spelled := range at {
		spelled, child, _ := strings.Cut(spelled, "/")
		dot := strings.LastIndex(spelled, ".")
		if dot < 0 {
			c.unknown = append(c.unknown, fmt.Sprintf("%s (no place)", spelled))
			continue
		}
		field, ok := c.fields[spelled[dot+1:]]
		if !ok {
			c.unknown = append(c.unknown, spelled)
			continue
		}
		children := []uint16{0}
		if child != "" {
			children = c.symbol(child)
		}
		for _, parent := range c.symbol(spelled[:dot]) {
			for _, kind := range children {
				yield(place{parent, field, kind})
				if field == laterPart {
					yield(place{parent, secondPart, kind})
				}
			}
		}
	}
}

func (r *rules) kind(symbol uint16) kindBits {
	if int(symbol) < len(r.kinds) {
		return r.kinds[symbol]
	}
	return 0
}

func (r *rules) scopeOf(symbol uint16) scopeKind {
	if int(symbol) < len(r.scopeKinds) {
		return r.scopeKinds[symbol]
	}
	return 0
}

// at is what the table says of a place; nth is the field, or which part it is.
func (r *rules) at(parent, field, child, nth uint16) placeBits {
	return r.places[place{parent, field, 0}] | r.places[place{parent, field, child}] | r.places[place{parent, nth, 0}] | r.places[place{parent, nth, child}]
}

// declares gives what is declared at a place, or nil.
func (r *rules) declares(parent, field, child, nth uint16) *definition {
	for _, p := range []place{{parent, field, child}, {parent, field, 0}, {parent, nth, child}, {parent, nth, 0}} {
		if list := r.definitions[p]; len(list) > 0 {
			return list[0]
		}
	}
	return nil
}
