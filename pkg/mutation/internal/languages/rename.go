package languages

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// change is one object under its two names.
type change struct{ before, after *object }

// renames judges the names that differ between two trees that are otherwise
// the same.
func renames(path string, before, after *side, pairing *tree.Pairing) verdict.Verdict {
	v := verdict.Verdict{Evidence: verdict.Proven}
	before.pairing = pairing
	before.others, after.others = map[*tree.Object]string{}, map[*tree.Object]string{}
	for b, a := range pairing.Each {
		before.others[b], after.others[a] = a.Name, b.Name
	}
	for b, a := range pairing.Each {
		if b.Name == a.Name {
			continue
		}
		c := change{before.objectOf(b), after.objectOf(a)}
		why := obstacle(before, after, c)
		if why == "" {
			why = before.taken(c)
		}
		if why != "" {
			return verdict.Unprovenf(path, a.Line, "%s %q became %q: %s", b.Kind, b.Name, a.Name, why)
		}
		switch {
		case c.before.hidden && c.after.hidden:
		case b.Reach == tree.Member || a.Reach == tree.Member:
			v.Widen(before.language.memberBound(), b.Name, a.Name)
		case b.Reach != tree.Local || a.Reach != tree.Local:
			v.Widen("", b.Name, a.Name)
		}
		if before.language.grammar == treesitter.C && b.Reach == tree.Local && c.before.in.parent == nil {
			v.Enclose(path, b.Name, a.Name)
		}
		v.Renames = append(v.Renames, verdict.Rename{From: b.Name, To: a.Name, Kind: b.Kind, Line: a.Line})
	}
	slices.SortStableFunc(v.Renames, func(x, y verdict.Rename) int { return cmp.Compare(x.Line, y.Line) })
	return v
}

func (s *side) objectOf(o *tree.Object) *object {
	i := slices.IndexFunc(s.resolved, func(r resolvedLeaf) bool { return r.object.Object == o })
	return s.resolved[i].object
}

// obstacle says why a renaming may not be without effect, or "".
func obstacle(before, after *side, c change) string {
	old, new := c.before.Name, c.after.Name
	if c.before.Pinned != "" {
		return c.before.Pinned
	}
	if why := cmp.Or(c.after.Pinned, c.after.unfit); why != "" {
		return why
	}
	for _, at := range []struct {
		*side
		*object
	}{{before, c.before}, {after, c.after}} {
		if why := at.disturbs(at.object, old, new); why != "" {
			return why
		}
	}
	return ""
}

// taken says that others know the new name as something else: it would not be
// missed, but mean another thing.
func (s *side) taken(c change) string {
	if c.before.Reach == tree.Local && c.after.Reach == tree.Local {
		return ""
	}
	known := c.before.in.names[c.after.Name]
	if c.before.key != nil {
		known = c.before.in.names[c.before.key(c.after.Name)]
	}
	for _, e := range known {
		if e.object != c.before && e.object.Reach != tree.Local {
			return fmt.Sprintf("to other files it is the %s of line %d", e.object.Kind, e.object.Line)
		}
	}
	return ""
}

// disturbs looks in the region of an object for what could mean either name
// and is not resolved. It goes beyond what scopes ask for: it is there for the
// case that they were read wrongly.
func (s *side) disturbs(o *object, old, new string) string {
	if o.member {
		return s.memberDisturbed(o, old, new)
	}
	for _, f := range s.free {
		switch {
		case !s.within(o.region, f.at):
		case f.text == old || f.text == new:
			return fmt.Sprintf("%q in line %d may be another one", f.text, s.lineAt(f.at))
		case s.finds(f, o):
			return fmt.Sprintf("%q in line %d can find names by their spelling", f.text, s.lineAt(f.at))
		}
	}
	for _, f := range s.opaque {
		if (f.anywhere || s.within(o.region, f.at)) && mentions(f.text, old, new) {
			return fmt.Sprintf("the text in line %d may use the name", s.lineAt(f.at))
		}
	}
	if o.spelled {
		for _, f := range s.quoted {
			if mentions(f.text, old, old) {
				return fmt.Sprintf("the text in line %d is the name", s.lineAt(f.at))
			}
		}
	}
	if s.language.strict {
		return s.crowded(o, old, new)
	}
	return ""
}

// finds tells whether a free name is a function that could find the object.
func (s *side) finds(f freeText, o *object) bool {
	switch s.language.dynamic[f.text] {
	case anywhere:
		return true
	case ownRegion:
		return f.region == o.region
	case topOnly:
		return o.in.parent == nil
	}
	return false
}

func mentions(text, old, new string) bool {
	return slices.ContainsFunc(words(text), func(word string) bool { return word == old || word == new })
}

// apart tells whether two scopes have no text in common, so that a name in one
// cannot be the other's.
func (s *side) apart(a, b *scope) bool {
	x, y := s.tree.Nodes[a.node], s.tree.Nodes[b.node]
	return a.parent != nil && b.parent != nil && (x.End <= y.Start || y.End <= x.Start)
}

// crowded looks for another object of either name in the region, but for those
// that are renamed the same way, and those of scopes beside its own.
func (s *side) crowded(o *object, old, new string) string {
	for _, r := range s.resolved {
		other := r.object
		if other == o || r.qualified || !s.within(o.region, r.at) || other.Name != old && other.Name != new || s.apart(o.in, other.in) {
			continue
		}
		if partner := s.others[other.Object]; other.Name == o.Name && (partner == old || partner == new) && partner != o.Name {
			continue
		}
		if s.language.settled && !o.conditional && !other.conditional {
			continue
		}
		return fmt.Sprintf("%q in line %d is another one", other.Name, s.lineAt(r.at))
	}
	return ""
}
