package golang

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// comparison is that of one package.
type comparison struct {
	unit          *unit
	before, after *side
	pairing       *tree.Pairing
	// steps are what was done beside renaming and moving.
	steps   []string
	helpers []*helper
}

func (c *comparison) run(ctx context.Context) verdict.Verdict {
	pairs := c.inPlace()
	if pairs == nil {
		var v *verdict.Verdict
		if pairs, v = c.byShape(ctx); v != nil {
			if pairs = c.bySubstitution(ctx); pairs == nil {
				return *v
			}
		}
	}
	for _, p := range pairs {
		if p.Before.File != p.After.File {
			if why := c.movable(p); why != "" {
				return c.unproven(p.After, "%s went to another file, where %s", p.After.Label, why)
			}
		}
	}
	if late := tree.Disorder(c.before.decls, c.after.decls, pairs); late != nil {
		return c.unproven(late, "%s stands elsewhere, and has an effect when the program starts or is met by one", late.Label)
	}
	if v := c.renamedFiles(); v != nil {
		return *v
	}
	if why, at := newRules(c.before, c.after).check(c.pairing); why != "" {
		return verdict.Unprovenf(c.fileOf(at), at.Line, "%s", why)
	}
	return c.proven(pairs)
}

// inPlace compares the declarations as they stand, which is enough for most
// refactors; nil if they are not the same in this order.
func (c *comparison) inPlace() []tree.Pair {
	if len(c.before.decls) != len(c.after.decls) {
		return nil
	}
	pairs := make([]tree.Pair, len(c.before.decls))
	c.pairing = tree.NewPairing()
	for i, b := range c.before.decls {
		pairs[i] = tree.Pair{Before: b, After: c.after.decls[i]}
		if c.pairing.Compare(b.Node, pairs[i].After.Node) != nil {
			return nil
		}
	}
	return pairs
}

// byShape finds the declarations wherever they stand.
func (c *comparison) byShape(ctx context.Context) ([]tree.Pair, *verdict.Verdict) {
	pairs, gone, added := tree.Match(ctx, c.before.decls, c.after.decls)
	var v verdict.Verdict
	if err := ctx.Err(); err != nil {
		v = c.unproven(nil, "%v", timed(err))
		return nil, &v
	}
	if len(gone) > 0 || len(added) > 0 {
		v = c.explain(gone, added)
		return nil, &v
	}
	c.pairing = tree.NewPairing()
	for _, p := range pairs {
		if d := c.pairing.Compare(p.Before.Node, p.After.Node); d != nil {
			v = c.different(p.After, d)
			return nil, &v
		}
	}
	return pairs, nil
}

// bySubstitution compares the declarations with calls replaced by the
// expressions that the functions stand for, where functions came or went.
func (c *comparison) bySubstitution(ctx context.Context) []tree.Pair {
	before, gone := c.before.inlined(c.after)
	after, come := c.after.inlined(c.before)
	if len(gone) == 0 && len(come) == 0 {
		return nil
	}
	c.before.decls, c.after.decls = before, after
	c.steps, c.helpers = append(steps("inlined", gone), steps("extracted", come)...), append(gone, come...)
	pairs, v := c.byShape(ctx)
	if v != nil {
		return nil
	}
	return pairs
}

func (c *comparison) proven(pairs []tree.Pair) verdict.Verdict {
	v := verdict.Verdict{Evidence: verdict.Proven, Steps: c.steps}
	for b, a := range c.pairing.Each {
		if b.Name == a.Name {
			continue
		}
		v.Renames = append(v.Renames, verdict.Rename{From: b.Name, To: a.Name, Kind: b.Kind, Line: a.Line})
	}
	slices.SortStableFunc(v.Renames, func(x, y verdict.Rename) int { return cmp.Compare(x.Line, y.Line) })
	c.widen(&v)
	for _, p := range tree.Moved(pairs) {
		v.Moves = append(v.Moves, verdict.Move{Declaration: p.After.Label, FromLine: p.Before.Line(), ToLine: p.After.Line()})
	}
	return v
}

// fileOf is where an object is declared now; a guess for locals of several
// files.
func (c *comparison) fileOf(o *tree.Object) string {
	for _, d := range c.after.decls {
		if slices.Contains(d.Objects, o) {
			return c.unit.files[d.File].name()
		}
	}
	return c.unit.files[0].name()
}

// renamedFiles: files of a package are initialised in the order of their
// names, also with regard to files that are not at hand.
func (c *comparison) renamedFiles() *verdict.Verdict {
	for i, p := range c.unit.files {
		if !p.file.Moved() && !p.file.Created() && !p.file.Deleted() {
			continue
		}
		for _, d := range slices.Concat(c.before.decls, c.after.decls) {
			if d.File == i && d.Order != tree.Free {
				v := verdict.Unprovenf(p.name(), d.Line(), "%s has an effect when the program starts, and its turn depends on the file's name", d.Label)
				return &v
			}
		}
	}
	return nil
}

// movable says why a declaration does not mean the same in another file: the
// names that it uses and that no file here declares must be imported alike.
func (c *comparison) movable(p tree.Pair) (why string) {
	from, to := c.unit.files[p.Before.File].before, c.unit.files[p.After.File].after
	switch {
	case p.Before.Order != tree.Free:
		return "its turn at the start of the program is another"
	case !slices.Equal(from.header, to.header) || from.nameLimits != to.nameLimits || from.cgo || to.cgo:
		return "the build has other conditions"
	}
	same := slices.Equal(from.imports, to.imports)
	p.After.Node.Walk(func(n *tree.Node) bool {
		base := n
		if n.Kind == "selector" {
			base = n.Kids[0]
		}
		if !same && base != nil && base.Kind == "name" && base.Object == nil && why == "" {
			b, a := from.imported(base.Text), to.imported(base.Text)
			if len(b) > 1 || !slices.Equal(b, a) || n.Kind == "selector" && len(b) == 0 {
				why = fmt.Sprintf("%q may stand for something else", base.Text)
			}
		}
		return why == ""
	})
	return why
}

// explain says what a reviewer should look at where declarations have no
// counterpart.
func (c *comparison) explain(gone, added []*tree.Decl) verdict.Verdict {
	var user *tree.Decl
	for _, a := range added {
		i := slices.IndexFunc(gone, func(b *tree.Decl) bool { return a.Label == b.Label && a.File == b.File })
		if i < 0 {
			continue
		}
		if d := tree.NewPairing().Compare(gone[i].Node, a.Node); d != nil {
			return c.different(a, d)
		}
		user = cmp.Or(user, a)
	}
	if len(gone) == 1 && len(added) == 1 {
		if d := tree.NewPairing().Compare(gone[0].Node, added[0].Node); d != nil {
			return c.different(added[0], d)
		}
	}
	switch {
	case user != nil:
		return c.unproven(user, "%s uses something that changed", user.Label)
	case len(added) > 0:
		return c.unproven(added[0], "%s is new or changed", added[0].Label)
	}
	return c.unproven(gone[0], "%s was removed or changed (its line is that before the change)", gone[0].Label)
}

func (c *comparison) different(in *tree.Decl, d *tree.Difference) verdict.Verdict {
	line := in.Line()
	if d.After != nil && d.After.Line > 0 {
		line = d.After.Line
	}
	return verdict.Unprovenf(c.unit.files[in.File].name(), line, "in %s %s", in.Label, d.Why)
}

func (c *comparison) unproven(at *tree.Decl, format string, args ...any) verdict.Verdict {
	if at == nil {
		return verdict.Unprovenf(c.unit.files[0].name(), 0, format, args...)
	}
	return verdict.Unprovenf(c.unit.files[at.File].name(), at.Line(), format, args...)
}

// imported are the imports by which a name could be declared in a file.
func (f *source) imported(name string) (list []string) {
	for _, i := range f.imports {
		alias, quoted, _ := strings.Cut(i, " ")
		if alias == name || alias == "." || alias == "" && couldBe(strings.Trim(quoted, `"`), name) {
			list = append(list, i)
		}
	}
	return list
}

// couldBe tells whether a package at a path could have the name. A package is
// called as its directory as a rule, but for versions and prefixes.
func couldBe(importPath, name string) bool {
	for part := range strings.SplitSeq(importPath, "/") {
		if strings.Contains(strings.NewReplacer("-", "", ".", "", "_", "").Replace(part), strings.ReplaceAll(name, "_", "")) {
			return true
		}
	}
	return false
}
