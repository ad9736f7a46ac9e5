package syntax

import (
	"cmp"
	"fmt"
	"slices"

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

// renames judges the names that differ between sides that are otherwise the same. A name may change where it is
// declared in a region of a file, all of the region changed with it, and nothing in it had the new name: then it is the
// same program whatever the rules of scope are within the region.
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

// room is the scope in which a new name must be new: the outermost function around a local one.
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
				if text := side.src[t.start:t.end]; side.isLiteral(t) && (hasWord(text, n.old) || hasWord(text, n.new)) && side.looks(text) {
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
