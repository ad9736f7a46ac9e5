package syntax

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// naming is one name that became another in one file.
type naming struct {
	*comparison
	old, new string
	changed  map[int]int // tokens before, to those after
	back     map[int]bool
	// shared is the declaration that other files can use, and foreign are the
	// changed tokens that no declaration of this file covers.
	shared  *def
	foreign []int
	// text says where a text has a name that other files can use.
	text string
	// outward: only its uses say who knows the name.
	outward bool
}

// renames judges the names that differ between sides that are otherwise the
// same. A name may change where it is declared in a region of a file, all of
// the region changed with it, and nothing in it had the new name: then it is
// the same program whatever the rules of scope are within the region.
func renames(files []*comparison, v *verdict.Verdict) (path string, err error) {
	var all []*naming
	for _, c := range files {
		for _, n := range c.namings() {
			if err := n.judge(v); err != nil {
				return c.after.path, err
			}
			all = append(all, n)
		}
	}
	for _, n := range all {
		if len(n.foreign) > 0 {
			if err := n.imported(all); err != nil {
				return n.after.path, err
			}
		}
	}
	for _, n := range all {
		if n.outward && !slices.ContainsFunc(all, n.usedIn) {
			v.Widen(fmt.Sprintf("nothing in these files uses %s: what does may know it by its name", clip(n.new)), n.old, n.new)
		}
		if n.shared != nil {
			if path, err := n.forgotten(files, all, v); err != nil {
				return path, err
			}
		}
	}
	slices.SortStableFunc(v.Renames, func(x, y verdict.Rename) int { return cmp.Compare(x.Line, y.Line) })
	return "", nil
}

// namings are the names that changed in a file.
func (c *comparison) namings() (list []*naming) {
	byName := map[[2]string]*naming{}
	for _, ch := range c.changes {
		key := [2]string{c.before.text(&c.before.tokens[ch.before]), c.after.text(&c.after.tokens[ch.after])}
		n := byName[key]
		if n == nil {
			n = &naming{comparison: c, old: key[0], new: key[1], changed: map[int]int{}, back: map[int]bool{}}
			byName[key] = n
			list = append(list, n)
		}
		n.changed[ch.before], n.back[ch.after] = ch.after, true
	}
	return list
}

func (n *naming) fail(at int, format string, args ...any) error {
	return &fault{n.after.lineAt(n.after.tokens[at].start), fmt.Sprintf("%q became %q: ", clip(n.old), clip(n.new)) + fmt.Sprintf(format, args...)}
}

func (n *naming) judge(v *verdict.Verdict) error {
	first := len(n.after.tokens)
	for _, j := range n.changed {
		first = min(first, j)
	}
	if n.before.asides || n.after.asides {
		return n.fail(first, "the parser does not understand all of the file")
	}
	if why := cmp.Or(n.before.spelling(n.old, n.new), n.after.spelling(n.old, n.new)); why != "" {
		return n.fail(first, "%s", why)
	}
	if why := cmp.Or(n.before.anyFinds(), n.after.anyFinds()); why != "" {
		return n.fail(first, "%s", why)
	}
	var regions []*def
	for i, d := range n.before.defs {
		if _, ok := n.changed[d.token]; ok && !d.escaped && d.name == n.old {
			regions = append(regions, &n.before.defs[i])
		}
	}
	for i, j := range n.changed {
		if !slices.ContainsFunc(regions, func(d *def) bool { return n.before.covers(d, i) }) {
			n.foreign = append(n.foreign, i)
		}
		if n.before.inherits && slices.ContainsFunc(regions, func(d *def) bool { return n.before.covers(d, i) && n.before.inClass(n.before.tokens[i].scope, d.scope) }) {
			return n.fail(j, "in a class it could be a member of its base")
		}
	}
	slices.Sort(n.foreign)
	for _, d := range regions {
		if err := n.region(d); err != nil {
			return err
		}
		if err := n.known(v, d); err != nil {
			return err
		}
	}
	return nil
}

// covers tells whether a name at a token is what was declared.
func (s *side) covers(d *def, i int) bool {
	t := &s.tokens[i]
	if s.closed && d.region != "class" {
		for sc := t.scope; sc > 0 && sc != d.scope; sc = s.scopes[sc].parent {
			if s.scopes[sc].kind != blockScope {
				return false
			}
		}
	}
	return (d.token == i || d.from >= 0 && d.from <= i || s.hoists && d.scope == 0) && s.within(t.scope, d.scope) && (t.flags&member == 0 || s.scopes[d.scope].kind == classScope)
}

func (s *side) within(sc, region int32) bool {
	for ; sc >= 0; sc = s.scopes[sc].parent {
		if sc == region {
			return true
		}
	}
	return false
}

// inClass tells whether a scope is in a class that is in a region.
func (s *side) inClass(sc, region int32) bool {
	for ; sc >= 0 && sc != region; sc = s.scopes[sc].parent {
		if s.scopes[sc].kind == classScope {
			return true
		}
	}
	return false
}

// room is the scope in which a new name must be new: the outermost function
// around a local one.
func (s *side) room(d *def) int32 {
	room := d.scope
	if s.lexical {
		return room
	}
	for sc := d.scope; sc > 0; sc = s.scopes[sc].parent {
		if s.scopes[sc].kind == functionScope || s.scopes[sc].kind == classScope && d.scope == sc {
			room = sc
		}
	}
	return room
}

// region looks at all names where a declaration is known.
func (n *naming) region(d *def) error {
	partner := n.afterScope(d)
	if why := cmp.Or(n.heedMacros(n.before, d.scope), n.heedMacros(n.after, partner)); why != "" {
		return n.fail(n.changed[d.token], "%s", why)
	}
	for _, side := range []struct {
		*side
		region, room int32
		gone, fresh  string
		when         string
	}{
		{n.before, d.scope, n.before.room(d), n.old, n.new, "before"},
		{n.after, partner, n.after.room(&def{scope: partner}), n.new, n.old, "after"},
	} {
		isMember := side.scopes[side.region].kind == classScope
		for i := range side.tokens {
			t := &side.tokens[i]
			if t.flags&wild != 0 && (isMember || side.within(t.scope, side.region)) {
				return n.fail(n.changed[d.token], "%s in line %d can use any name", side.describe(i), side.lineAt(t.start))
			}
			if t.flags&(opens|closes) != 0 || t.flags&neutral != 0 && !isMember && !(d.named && t.flags&keyword != 0) {
				continue
			}
			// A member may be meant wherever its name stands.
			inRegion := isMember || t.flags&keyword != 0 || side.within(t.scope, side.region)
			if !inRegion && !side.within(t.scope, side.room) {
				if text := side.src[t.start:t.end]; side.looks(text) && side.isLiteral(t) && (hasWord(text, n.old) || hasWord(text, n.new)) {
					return n.fail(n.changed[d.token], "the text in line %d could look for it in the text of the function", side.lineAt(t.start))
				}
				continue
			}
			if n.has(side.side, i) {
				if t.flags&(named|member) == 0 {
					return n.fail(n.changed[d.token], "a macro has it in line %d", side.lineAt(t.start))
				}
				continue
			}
			why := side.disturbs(t, side.gone, side.fresh, inRegion || d.lone, side.when)
			if kind := side.scopes[side.region].kind; why != "" && side.isText(t) {
				switch {
				case kind != functionScope && kind != blockScope:
					n.text = why // who looks for names by their spelling may stand elsewhere
					continue
				case !side.looks(side.src[t.start:t.end]):
					continue // nothing finds a local variable by a text
				}
			}
			if why != "" {
				return n.fail(n.changed[d.token], "%s", why)
			}
		}
	}
	return nil
}

// isText tells literals from other tokens that are not taken apart.
func (s *side) isText(t *token) bool { return s.texts && s.isLiteral(t) }

func (s *side) isLiteral(t *token) bool {
	if int(t.symbol) >= len(s.tree.Grammar.Symbols) {
		return false
	}
	kind := s.tree.Grammar.Symbols[t.symbol]
	return strings.Contains(kind, "string") || strings.Contains(kind, "literal") || strings.Contains(kind, "regex") || kind == "jsx_text"
}

// disturbs says why a token could mean one of two names; gone only counts in
// the region of the declaration.
func (s *side) disturbs(t *token, gone, fresh string, inRegion bool, when string) string {
	text := s.src[t.start:t.end]
	if t.flags&keyword != 0 {
		text = append([]byte(s.sigil), text...)
	}
	isName := t.flags&(named|neutral|member) != 0
	if isName {
		text = bytes.Trim(bytes.TrimPrefix(text, []byte("r#")), "`")
	}
	if isName {
		if string(text) == fresh || inRegion && string(text) == gone {
			return fmt.Sprintf("%q in line %d %s may be another one", clip(string(text)), s.lineAt(t.start), when)
		}
		if inRegion && bytes.IndexByte(text, '\\') >= 0 {
			return fmt.Sprintf("a name in line %d is written with an escape", s.lineAt(t.start))
		}
		return ""
	}
	if hasWord(text, fresh) || inRegion && hasWord(text, gone) {
		return fmt.Sprintf("the text in line %d has the name", s.lineAt(t.start))
	}
	return ""
}

// hasWord finds a name in a text that is not taken apart.
func hasWord(text []byte, name string) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(name))
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !inWord(rune(text[i-1])) || text[i-1] > 127) && (end == len(text) || !inWord(rune(text[end])) || text[end] > 127) {
			return true
		}
		from = i + 1
	}
}

// afterScope is the scope of the same declaration on the other side.
func (n *naming) afterScope(d *def) int32 {
	at := n.changed[d.token]
	for _, o := range n.after.defs {
		if o.token == at {
			return o.scope
		}
	}
	return 0
}

// spelling says why a name may not become another by how they are spelled.
func (s *side) spelling(names ...string) string {
	for _, name := range names {
		switch {
		case s.reserved[name]:
			return fmt.Sprintf("%q has a meaning of its own", clip(name))
		case s.macros[name]:
			return fmt.Sprintf("a macro has %q in it", clip(name))
		case s.pinned != nil && s.pinned.MatchString(name):
			return fmt.Sprintf("%q has a meaning by its spelling", clip(name))
		}
		for _, r := range name {
			if r > 127 || r == '\\' {
				return "letters beyond ASCII can be written in several ways"
			}
		}
	}
	return ""
}

// looks tells whether a program could look for a text in that of a function.
func (s *side) looks(text []byte) bool {
	return s.source != nil && (bytes.ContainsAny(text, "({=") || s.source.Match(s.file()))
}

// anyFinds says why no name of a file may change, or "".
func (s *side) anyFinds() string {
	if s.source != nil && hasWord(s.file(), "toString") {
		return "a program can read the text of its functions, and the file asks for one"
	}
	if s.whole != nil {
		for name := range s.dynamic {
			if hasWord(s.whole, name) {
				return fmt.Sprintf("%q in the file can find names by their spelling", name)
			}
		}
		if s.table.fixed != nil && s.table.fixed.Match(s.whole) {
			return "the file could find it by its spelling"
		}
	}
	if s.table.fixed != nil {
		if at := s.table.fixed.FindIndex(s.src); at != nil {
			return fmt.Sprintf("line %d could find it by its spelling", s.lineAt(uint32(at[0])))
		}
	}
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.flags&(named|neutral|member) != 0 && s.dynamic[string(s.src[t.start:t.end])] {
			return fmt.Sprintf("%q in line %d can find names by their spelling", clip(s.text(t)), s.lineAt(t.start))
		}
	}
	return ""
}

// known notes who else can know a name.
func (n *naming) known(v *verdict.Verdict, d *def) error {
	at := n.changed[d.token]
	kind := n.before.scopes[d.scope].kind
	if d.guarded && (d.named || n.before.scopes[d.scope].kind != functionScope || d.kind == "parameter") {
		return n.fail(at, "what stands around it may look at the name")
	}
	if d.chosen {
		return n.fail(at, "it may not be declared")
	}
	if (kind == fileScope || kind == classScope) && (n.before.found[n.old] || n.before.found[n.new]) {
		return n.fail(at, "it can be found without being declared here")
	}
	if d.pinned {
		return n.fail(at, "a %s keeps its name", d.kind)
	}
	for _, e := range n.before.defs {
		if e.escaped && e.name == n.old && kind != fileScope && kind != classScope {
			return n.fail(at, "it may be a variable of the file")
		}
	}
	if kind == fileScope || kind == classScope {
		if why := cmp.Or(n.before.reads(n.old, d), n.after.reads(n.new, d)); why != "" {
			return n.fail(at, "%s", why)
		}
	}
	if n.text != "" {
		v.Widen(n.text, n.old, n.new)
	}
	if kind == fileScope || kind == classScope || d.named {
		n.shared = d
	}
	switch {
	case kind == classScope:
		v.Widen("members can be found by their names", n.old, n.new)
	case kind == fileScope && n.before.isStatic(d) && n.after.isStatic(&def{token: at}):
		v.Enclose(n.before.path, n.old, n.new)
	case kind == fileScope && n.before.private && !(n.before.module && n.after.module):
		v.Widen("all scripts of a page share their names", n.old, n.new)
	case kind == fileScope && (!n.before.private || d.exported):
		n.outward = n.before.called
		v.Widen(n.before.bound, n.old, n.new)
	case d.named:
		v.Widen("callers can name a parameter, also by a text", n.old, n.new)
	}
	if h := n.before.headers; h != nil && h.missing != "" {
		v.Widen(fmt.Sprintf("a macro of %q, which was not found, could use the name", clip(h.missing)), n.old, n.new)
	}
	if d.shown {
		v.Widen("programs can print the name", n.old, n.new)
	}
	kindName := d.kind
	if kindName == "variable" && kind != fileScope && kind != classScope {
		kindName = "local variable"
	}
	r := verdict.Rename{From: n.old, To: n.new, Kind: kindName, Line: n.after.lineAt(n.after.tokens[at].start)}
	if !slices.ContainsFunc(v.Renames, func(o verdict.Rename) bool { return o.From == r.From && o.To == r.To && o.Kind == r.Kind }) {
		v.Renames = append(v.Renames, r)
	}
	return nil
}

// isSet tells whether a token is a member that is given a value.
func (s *side) isSet(i int) bool {
	leaf := func(i, step int) string {
		for i += step; i > 0 && i < len(s.tokens) && s.tokens[i].flags&(opens|closes) != 0; i += step {
		}
		return s.text(&s.tokens[max(min(i, len(s.tokens)-1), 0)])
	}
	return leaf(i, -1) == "." && leaf(i, 1) == "="
}

// reads says what in the file can find out what a function or a class is
// called, or "".
func (s *side) reads(string, *def) string {
	for i := range s.tokens {
		t := &s.tokens[i]
		declared := func(d def) bool {
			return d.token == i || t.flags&named != 0 && d.name == s.text(t) && d.scope != 0 && s.covers(&d, i)
		}
		if t.flags&(opens|closes) == 0 && t.end-t.start < quoted && s.readers[string(s.src[t.start:t.end])] && !slices.ContainsFunc(s.defs, declared) && !s.isSet(i) {
			return fmt.Sprintf("%q in line %d can find what it is called", clip(s.text(t)), s.lineAt(t.start))
		}
	}
	return ""
}
