package golang

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// widen notes in a verdict what other files could use of what was renamed, came
// or went.
func (c *comparison) widen(v *verdict.Verdict) {
	for b, a := range c.pairing.Each {
		if b.Name != a.Name && shared(b) {
			v.Widen(c.bound(b, a), b.Name, a.Name)
		}
	}
	for _, h := range c.helpers {
		v.Widen("", h.object.Name)
	}
	if v.Bound == "" && len(v.Outward) > 0 {
		v.Bound = c.unit.quotes(v.Outward)
	}
}

// bound says why other files could depend on a name without spelling it: the
// names of types and fields are printed, and programs look for exported
// members by theirs; "" if they could not.
func (c *comparison) bound(b, a *tree.Object) string {
	switch {
	case b.Reach == tree.Shared && (b.Kind == "function" || b.Kind == "constant" || b.Kind == "variable"):
		return ""
	case b.Kind == "type" && c.before.isAlias(b) && c.after.isAlias(a):
		return ""
	case isMethod(b) && !token.IsExported(b.Name) && !token.IsExported(a.Name):
		return ""
	case isMethod(b):
		return fmt.Sprintf("packages can look for a method %s at run time", a.Name)
	}
	return fmt.Sprintf("a program can print the %s's name, or look for it, at run time", b.Kind)
}

func (s *side) isAlias(o *tree.Object) bool {
	info := s.types[o]
	return info != nil && info.alias
}

// quotes gives a place where a text has one of the names as a word: a program
// may look for it by that.
func (u *unit) quotes(names []string) (where string) {
	for _, p := range u.files {
		for _, f := range []*source{p.after, p.before} {
			if f == nil {
				continue
			}
			if line, name := f.quotes(names); line > 0 {
				return fmt.Sprintf("%s: a text has the word %s", verdict.At(f.path, line), name)
			}
		}
	}
	return ""
}

func (f *source) quotes(names []string) (line int, name string) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if _, imports := n.(*ast.ImportSpec); imports || line > 0 {
			return false
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		for _, word := range strings.FieldsFunc(unquote(lit.Value), func(r rune) bool { return !isNamePart(r) }) {
			if slices.Contains(names, word) {
				line, name = f.line(lit.Pos()), word
			}
		}
		return true
	})
	return line, name
}
