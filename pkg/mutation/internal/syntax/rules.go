package syntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// kindBits say what a table has on a kind of node.
type kindBits uint64

const (
	isComment kindBits = 1 << iota
	isJoinAfter
	isJoinBefore
	isBreakAfter
	isBreakBefore
	isTight
	isPrefix
	isMacro
	isExact
	isWhole
	isQuoted
	isFolded
	isTrailing
	isName
	isNeutralKind
	isPattern
	isOpaque
	isList
	isFree
	isStill
	isWrap
	isLead
	isNoisy
	isExport
	isModule
	isPunctuation // a token without letters
	isOpening     // ( or [
	isBrace       // { in all its forms
	isClosing
	isComma
	isAfter // a definition begins behind it
	isGuard
	isNameless
	isImport
	isTrail
	isStaying
	isText
	isFenceKind
	isHiding
	isWildKind
	isLoud
	isLower
	isBehind
	isChoice
	isDirective
)

// placeBits say what a table has on a place.
type placeBits uint16

const (
	isDropped placeBits = 1 << iota
	isGroup
	isNeutral
	isMember
	isOutside
	isValue
	isEscape
	isKeyword
	isShow
	isUnwrapped
	isTag
	isFence
	isUnsure
	isWild
	isPaired
	isEmpty
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

// These stand for the field of a part that has none in the grammar: that it is
// the only part of its parent, the first of several, the second, or one behind.
// A table says later for the last two.
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
	t := c.r.table
	for _, one := range []struct {
		kinds set
		bit   kindBits
	}{
		{t.comments, isComment}, {t.joinAfter, isJoinAfter}, {t.joinBefore, isJoinBefore}, {t.breakAfter, isBreakAfter}, {t.breakBefore, isBreakBefore},
		{t.tight, isTight}, {t.prefix, isPrefix}, {t.macros, isMacro}, {t.exact, isExact}, {t.whole, isWhole}, {t.quotes, isQuoted},
		{t.folds, isWhole | isFolded}, {t.trailing, isTrailing}, {t.names, isName}, {t.patterns, isPattern}, {t.opaque, isOpaque}, {t.guards, isGuard}, {t.nameless, isNameless}, {t.imports, isImport}, {t.trails, isTrail}, {t.stays, isStaying}, {t.interpolated, isText}, {t.hides, isHiding}, {t.lists, isList},
		{t.free, isFree}, {t.still, isStill}, {t.wraps, isWrap}, {t.leads, isLead}, {t.noisy, isNoisy}, {t.exports, isExport}, {t.modules, isModule},
		{t.loud, isLoud}, {t.lower, isLower}, {t.behind, isBehind}, {t.choices, isChoice}, {t.directives, isDirective},
	} {
		c.mark(one.kinds, one.bit)
	}
	for name, kind := range t.scopes {
		for _, s := range c.symbol(name) {
			c.r.scopeKinds[s] = kind
		}
	}
}

func (c *compiler) placed() {
	t := c.r.table
	for _, one := range []struct {
		at  places
		bit placeBits
	}{{t.drop, isDropped}, {t.group, isGroup}, {t.neutral, isNeutral}, {t.members, isMember}, {t.outside, isOutside}, {t.values, isValue}, {t.escapes, isEscape}, {t.keywords, isKeyword}, {t.shows, isShow},
		{t.unwrap, isUnwrapped}, {t.tags, isTag}, {t.fences, isFence}, {t.unsure, isUnsure}, {t.wild, isWild}, {t.paired, isPaired}, {t.empty, isEmpty}} {
		at := places{}
		for spelled := range one.at {
			if bit := map[placeBits]kindBits{isNeutral: isNeutralKind, isFence: isFenceKind, isWild: isWildKind}[one.bit]; bit != 0 && !strings.Contains(spelled, ".") {
				c.mark(setOf(spelled), bit)
			} else {
				at[spelled] = true
			}
		}
		c.each(at, func(p place) { c.r.places[p] |= one.bit })
	}
}

// each gives the numbers of places that are spelled parent.field/child.
func (c *compiler) each(at places, yield func(place)) {
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
