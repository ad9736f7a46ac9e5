// Package golang judges changes of Go source.
//
// It promises that what it calls proven or proven-local has the same
// declarations on both sides, with the same syntax, up to a one-to-one renaming
// of names that they declare, the layout, comments that no tool obeys,
// parentheses, the spelling of strings, and the order of declarations and
// imports that do nothing when the program starts. Names are resolved by the
// scope rules of the language, from the syntax alone: fields and methods can be
// renamed only where the files at hand tell the type, and where nothing that they
// tell could look for the name, hide it or be hidden by it. At hand are those of
// the call and, where these do not suffice, others of their packages; that there
// are more is never ruled out. Packages of one call are compared with each other where go.mod
// ties an import to its directory. It reads no imported package and checks no
// types: whether the program compiles is not its business.
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

// maxDecls bounds how many declarations a package may have on one side.
const maxDecls = 20_000

// Judge compares .go files. Those of one package are compared together, and
// packages of one module with each other, where around has the go.mod files.
func Judge(around verdict.Around) verdict.Judge {
	return func(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
		v := together(ctx, files, nil, around, limits)
		if v.Evidence == verdict.Unproven && onlyNames(files) {
			return among(ctx, v, files, around, limits)
		}
		return v
	}
}

// together compares the files of a call; still are others, which stay as they
// are.
func together(ctx context.Context, files []verdict.File, still []neighbour, around verdict.Around, limits verdict.Limits) verdict.Verdict {
	units := map[string]*unit{}
	for _, f := range files {
		if v := enter(units, f, limits); v != nil {
			return *v
		}
	}
	for _, n := range still {
		n.enter(units)
	}
	return newJoint(units, around.Read).judge(ctx, limits)
}

// unit is one package in one directory.
type unit struct {
	files         []pair
	before, after *side
	comparison    *comparison
}

// name is what the package clause says, the same on both sides.
func (u *unit) name() string { return cmp.Or(u.files[0].after, u.files[0].before).ast.Name.Name }

func (u *unit) dir() string { return path.Dir(u.files[0].name()) }

// pair is a file on both sides; either may be missing.
type pair struct {
	file          verdict.File
	before, after *source
	// still: the file is no part of the call.
	still bool
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
	key := p.unitKey()
	if units[key] == nil {
		units[key] = &unit{}
	}
	units[key].files = append(units[key].files, p)
	return nil
}

func (p pair) unitKey() string {
	return path.Dir(p.file.Path) + " " + cmp.Or(p.after, p.before).ast.Name.Name
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

// build makes both sides; a verdict if they cannot be compared.
func (u *unit) build(ctx context.Context, limits verdict.Limits) (v *verdict.Verdict) {
	slices.SortFunc(u.files, func(x, y pair) int { return strings.Compare(x.name(), y.name()) })
	if u.before, v = u.side(ctx, limits, func(p pair) *source { return p.before }, "before the change"); v != nil {
		return v
	}
	if u.after, v = u.side(ctx, limits, func(p pair) *source { return p.after }, "now"); v != nil {
		return v
	}
	return u.checkFiles()
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
	changed := slices.DeleteFunc(slices.Clone(u.files), func(p pair) bool { return p.still })
	for _, p := range changed {
		b, a := p.before, p.after
		if b == nil || a == nil {
			return checkTogether(changed, p)
		}
		if !slices.Equal(b.header, a.header) {
			v := verdict.Unprovenf(p.name(), 1, "build constraints or directives at the top of the file changed")
			return &v
		}
	}
	for _, p := range changed {
		if !slices.Equal(p.before.imports, p.after.imports) {
			if v := checkTogether(changed, p); v != nil {
				return v
			}
		}
	}
	return nil
}

// checkTogether compares files that were split, joined or exchanged
// declarations.
func checkTogether(files []pair, odd pair) *verdict.Verdict {
	if len(files) == 1 {
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
	for _, p := range files {
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
