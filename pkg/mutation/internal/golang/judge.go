// Package golang judges changes of Go source.
//
// It promises that what it calls proven or proven-local has the same
// declarations on both sides, with the same syntax, up to a one-to-one renaming
// of names that they declare, the layout, comments that no tool obeys,
// parentheses, the spelling of strings, and the order of declarations and
// imports that do nothing when the program starts. Names are resolved by the
// scope rules of the language, from the syntax alone: other files are not read,
// so fields and methods can be renamed only where the files at hand tell the
// type. It reads no imported package and checks no types: whether the program
// compiles is not its business.
package golang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

var _ verdict.Judge = Judge

// maxDecls bounds how many declarations a package may have on one side.
const maxDecls = 20_000

// Judge is a verdict.Judge for .go files. Files of one package are compared
// together.
func Judge(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
	units := map[string]*unit{}
	for _, f := range files {
		if v := enter(units, f, limits); v != nil {
			return *v
		}
	}
	total := verdict.Verdict{Evidence: verdict.Proven}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		v := units[name].judge(ctx, limits)
		if v.Evidence == verdict.Unproven {
			return v
		}
		if v.Evidence.Outranks(total.Evidence) {
			total.Evidence = v.Evidence
		}
		total.Renames = append(total.Renames, v.Renames...)
		total.Moves = append(total.Moves, v.Moves...)
		total.Steps = append(total.Steps, v.Steps...)
	}
	return total
}

// unit is one package in one directory.
type unit struct {
	files []pair
}

// pair is a file on both sides; either may be missing.
type pair struct {
	file          verdict.File
	before, after *source
}

func (p pair) name() string { return p.file.Path }

// enter parses both sides of a file and puts it to its package.
func enter(units map[string]*unit, f verdict.File, limits verdict.Limits) *verdict.Verdict {
	from := cmp.Or(f.From, f.Path)
	if path.Dir(from) != path.Dir(f.Path) {
		v := verdict.Unprovenf(f.Path, 0, "moved to another directory, which is another package")
		return &v
	}
	p := pair{file: f}
	var err error
	if f.Before != nil {
		if p.before, err = parse(from, f.Before, limits.Depth); err != nil {
			v := verdict.Unprovenf(f.Path, 0, "before the change it does not parse: %v", err)
			return &v
		}
	}
	if f.After != nil {
		if p.after, err = parse(f.Path, f.After, limits.Depth); err != nil {
			v := verdict.Unprovenf(f.Path, 0, "it does not parse: %v", err)
			return &v
		}
	}
	if p.before == nil && p.after == nil {
		return nil
	}
	if v := p.checkFrame(); v != nil {
		return v
	}
	name := cmp.Or(p.after, p.before).ast.Name.Name
	key := path.Dir(f.Path) + " " + name
	if units[key] == nil {
		units[key] = &unit{}
	}
	units[key].files = append(units[key].files, p)
	return nil
}

// checkFrame compares what stands around a file's declarations.
func (p pair) checkFrame() *verdict.Verdict {
	b, a := p.before, p.after
	var v verdict.Verdict
	switch {
	case b == nil || a == nil:
		return nil
	case b.ast.Name.Name != a.ast.Name.Name:
		v = verdict.Unprovenf(p.name(), a.line(a.ast.Name.Pos()), "package %s became package %s", b.ast.Name.Name, a.ast.Name.Name)
	case b.nameLimits != a.nameLimits:
		v = verdict.Unprovenf(p.name(), 0, "its name says in which builds it takes part, and changed from %s", b.path)
	default:
		return nil
	}
	return &v
}

func (u *unit) judge(ctx context.Context, limits verdict.Limits) verdict.Verdict {
	slices.SortFunc(u.files, func(x, y pair) int { return strings.Compare(x.name(), y.name()) })
	before, v := u.side(ctx, limits, func(p pair) *source { return p.before }, "before the change")
	if v != nil {
		return *v
	}
	after, v := u.side(ctx, limits, func(p pair) *source { return p.after }, "now")
	if v != nil {
		return *v
	}
	if v := u.checkFiles(); v != nil {
		return *v
	}
	c := &comparison{unit: u, before: before, after: after}
	return c.run(ctx)
}

// side builds one side. Files are numbered alike on both.
func (u *unit) side(ctx context.Context, limits verdict.Limits, pick func(pair) *source, when string) (*side, *verdict.Verdict) {
	s := newSide(ctx, limits.Depth)
	for i, p := range u.files {
		if f := pick(p); f != nil {
			f.index = i
			s.files = append(s.files, f)
		}
	}
	err := s.build()
	if err == nil && len(s.decls) > maxDecls {
		err = fmt.Errorf("more than %d declarations are not compared", maxDecls)
	}
	if err != nil {
		v := verdict.Unprovenf(u.files[0].name(), 0, "%s: %v", when, timed(err))
		return nil, &v
	}
	slices.SortStableFunc(s.decls, func(x, y *tree.Decl) int { return cmp.Compare(x.File, y.File) })
	return s, nil
}

func timed(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errors.New("the comparison took too long and was given up")
	}
	return err
}

// checkFiles compares the imports and directives of the files. Where
// declarations may have gone from one file to another, all files must be built
// under the same conditions and import the same.
func (u *unit) checkFiles() *verdict.Verdict {
	for _, p := range u.files {
		b, a := p.before, p.after
		if b == nil || a == nil {
			return u.checkTogether(p)
		}
		if !slices.Equal(b.header, a.header) {
			v := verdict.Unprovenf(p.name(), 1, "build constraints or directives at the top of the file changed")
			return &v
		}
	}
	for _, p := range u.files {
		if !slices.Equal(p.before.imports, p.after.imports) {
			if v := u.checkTogether(p); v != nil {
				return v
			}
		}
	}
	return nil
}

// checkTogether compares files that were split, joined or exchanged
// declarations.
func (u *unit) checkTogether(odd pair) *verdict.Verdict {
	if len(u.files) == 1 {
		var v verdict.Verdict
		switch {
		case odd.before == nil:
			v = verdict.Unprovenf(odd.name(), 0, "the file is new")
		case odd.after == nil:
			v = verdict.Unprovenf(odd.name(), 0, "the file was deleted")
		default:
			v = verdict.Unprovenf(odd.name(), odd.after.line(odd.after.ast.Name.Pos()), "the imports changed: %s", importChange(odd))
		}
		return &v
	}
	var first *source
	union := [2]map[string]bool{{}, {}}
	for _, p := range u.files {
		for i, f := range []*source{p.before, p.after} {
			if f == nil {
				continue
			}
			if first == nil {
				first = f
			}
			if !slices.Equal(f.header, first.header) || f.nameLimits != first.nameLimits || f.cgo {
				v := verdict.Unprovenf(f.path, 1, "declarations or imports went between files that are built under different conditions")
				return &v
			}
			for _, imported := range f.imports {
				union[i][imported] = true
			}
		}
	}
	if !maps.Equal(union[0], union[1]) {
		v := verdict.Unprovenf(odd.name(), 0, "the imports of the package changed")
		return &v
	}
	return nil
}

func importChange(p pair) string {
	firstLine := func(imported string) string {
		line, _, _ := strings.Cut(strings.TrimSpace(imported), "\n")
		return line
	}
	for _, imported := range p.after.imports {
		if !slices.Contains(p.before.imports, imported) {
			return firstLine(imported) + " was added"
		}
	}
	for _, imported := range p.before.imports {
		if !slices.Contains(p.after.imports, imported) {
			return firstLine(imported) + " was removed"
		}
	}
	return "one stands more often"
}
