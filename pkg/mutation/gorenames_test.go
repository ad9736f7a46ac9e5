package mutation_test

import (
	"bytes"
	"go/ast"
	"go/types"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// renameKind is what a generated rename is about.
type renameKind string

const (
	renameLocals  renameKind = "rename locals"
	renameGlobals renameKind = "rename package-level names"
	renameMembers renameKind = "rename fields and methods"
	// renameEverywhere renames one field or method in all files of its package,
	// which are judged together.
	renameEverywhere renameKind = "rename a field or method in all files"
	// renameAny renames one name of a file in all files, whatever it is: the
	// kinds have the share that they have in the code.
	renameAny renameKind = "rename any one name"
)

// rename renames objects of one file as the type checker knows them, to names
// that do not occur; all of the file or a few. nil if there is none.
func rename(r *rand.Rand, c *checked, file string, content []byte, kind renameKind) []byte {
	groups := renameGroups(c, file, kind)
	if len(groups) == 0 {
		return nil
	}
	count := len(groups)
	if r.IntN(2) == 0 {
		count = 1 + r.IntN(min(3, count))
	}
	names := map[types.Object]string{}
	for n, i := range r.Perm(len(groups))[:count] {
		for _, o := range groups[i] {
			names[o] = freshName(o.Name(), n)
		}
	}
	return applyNames(c, file, content, names)
}

// renameGroups are the objects of a file that can be renamed without any
// change of meaning, those together that must keep one name.
func renameGroups(c *checked, file string, kind renameKind) (groups [][]types.Object) {
	_, meant := c.bindings(file)
	seen := map[types.Object]bool{}
	for _, o := range meant {
		if o == nil || seen[o] || !renameable(c, o, file, kind) {
			continue
		}
		group := []types.Object{o}
		if kind == renameMembers || kind == renameEverywhere {
			var pure bool
			if group, pure = c.kin().of(o); !pure {
				continue
			}
		}
		outside := slices.ContainsFunc(group, func(m types.Object) bool { return c.fset.Position(m.Pos()).Filename != file })
		for _, m := range group {
			seen[m] = true
		}
		if !outside || kind == renameEverywhere {
			groups = append(groups, group)
		}
	}
	return groups
}

// renameInAll renames one name of a file in all files of the package.
func renameInAll(r *rand.Rand, c *checked, p *program, file string, kind renameKind) (files []mutation.File) {
	groups := renameGroups(c, file, renameEverywhere)
	if kind == renameAny {
		groups = slices.Concat(groups, renameGroups(c, file, renameLocals), renameGroups(c, file, renameGlobals))
	}
	if len(groups) == 0 {
		return nil
	}
	names := map[types.Object]string{}
	for _, o := range groups[r.IntN(len(groups))] {
		names[o] = freshName(o.Name(), 0)
	}
	for _, name := range p.names {
		if after := applyNames(c, name, p.contents[name], names); !bytes.Equal(after, p.contents[name]) {
			files = append(files, mutation.File{Path: name, Before: p.contents[name], After: after})
		}
	}
	return files
}

func freshName(old string, n int) string {
	if ast.IsExported(old) {
		return "Zq" + strconv.Itoa(n) + "x"
	}
	return "zq" + strconv.Itoa(n) + "x"
}

func applyNames(c *checked, file string, content []byte, names map[types.Object]string) []byte {
	type edit struct {
		from, to int
		text     string
	}
	var edits []edit
	_, meant := c.bindings(file)
	i := 0
	ast.Inspect(c.files[file], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if name, ok := names[meant[i]]; ok && meant[i] != nil {
				from := c.fset.PositionFor(id.Pos(), false).Offset
				edits = append(edits, edit{from, from + len(id.Name), name})
			}
			i++
		}
		return true
	})
	slices.SortFunc(edits, func(x, y edit) int { return x.from - y.from })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.Write(content[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(content[at:])
	return []byte(b.String())
}

func renameable(c *checked, o types.Object, file string, kind renameKind) bool {
	if o.Pkg() != c.pkg || o.Name() == "_" || o.Name() == "init" || o.Name() == "main" || c.fset.Position(o.Pos()).Filename != file {
		return false
	}
	for _, implicit := range c.info.Implicits {
		if o == implicit {
			return false // of a type switch: one name, several objects
		}
	}
	switch o := o.(type) {
	case *types.PkgName:
		return false
	case *types.Var:
		if o.IsField() {
			return (kind == renameMembers || kind == renameEverywhere) && !o.Embedded()
		}
	case *types.Func:
		if o.Signature().Recv() != nil {
			return kind == renameMembers || kind == renameEverywhere
		}
	case *types.TypeName:
		if isEmbedded(c, o) {
			return false // its name is a field's, too
		}
	}
	if o.Parent() == c.pkg.Scope() {
		return kind == renameGlobals
	}
	return kind == renameLocals
}

func isEmbedded(c *checked, name *types.TypeName) bool {
	for _, o := range c.info.Defs {
		if v, ok := o.(*types.Var); ok && v.Embedded() && v.Name() == name.Name() {
			return true
		}
	}
	return false
}
