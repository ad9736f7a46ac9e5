package mutation_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// extraction is an expression of a real function made a function of its own.
type extraction struct {
	before, after []byte
	// helper and call are where the new function and its call stand after.
	helper, call [2]int
}

const helperName = "zqExtracted"

// TestExtractGo: extracting an expression into a function, and inlining it
// again, is recognised where the order of effects stays; and nothing is that
// only looks like it.
func TestExtractGo(t *testing.T) {
	rounds, mutants := 3, 4
	switch {
	case long():
		rounds, mutants = 6, 6
	case testing.Short():
		rounds, mutants = 2, 3
	}
	extracted, inlined, tried, same := &rate{}, &rate{}, 0, 0
	misses := map[string]int{}
	for _, importPath := range goPackages() {
		p := loadProgram(t, importPath)
		c, err := p.check(nil)
		if err != nil || len(c.errs) > 0 {
			continue
		}
		r := rand.New(rand.NewPCG(5, 6))
		for _, name := range p.names {
			for range rounds {
				x := extract(r, c, name, p.contents[name])
				if x == nil {
					continue
				}
				v := judgeOne(t, name, x.before, x.after)
				extracted.add(isRefactor(v))
				if !isRefactor(v) {
					misses[general(v.Reason)]++
					if long() {
						t.Logf("%s/%s: %s\n%s\n%s", p.path, name, v.Reason, x.line(x.after, x.call), x.line(x.after, x.helper))
					}
				}
				inlined.add(isRefactor(judgeOne(t, name, x.after, x.before)))
				for range mutants {
					mutant, what := x.mutate(r)
					v := judgeOne(t, name, x.before, mutant)
					tried++
					if !isRefactor(v) {
						continue
					}
					if same++; withoutHelper(mutant) != withoutHelper(x.before) {
						t.Errorf("%s/%s: %s: it is %s (%s)\n%s\n%s", p.path, name, what, v.Evidence, v.Reason, x.line(mutant, x.call), x.line(mutant, x.helper))
					}
				}
			}
		}
	}
	t.Logf("go: extracted: %s; inlined: %s; %d mutants, %d of them the same", extracted, inlined, tried, same)
	for _, miss := range slices.Sorted(mapsKeys(misses)) {
		t.Logf("go: not recognised %d times: %s", misses[miss], miss)
	}
	if !extracted.atLeast(90) || !inlined.atLeast(90) {
		t.Errorf("extracted %s, inlined %s: the bar is 90 %%", extracted, inlined)
	}
}

// extract takes an expression out of a file; nil if there is none that can be.
func extract(r *rand.Rand, c *checked, file string, content []byte) *extraction {
	type candidate struct {
		expr ast.Expr
		vars []*types.Var
	}
	var candidates []candidate
	for _, d := range c.files[file].Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		for _, e := range wholeExpressions(fn.Body) {
			if vars, ok := c.extractable(fn, e); ok {
				candidates = append(candidates, candidate{e, vars})
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	chosen := candidates[r.IntN(len(candidates))]
	from, to := c.fset.PositionFor(chosen.expr.Pos(), false).Offset, c.fset.PositionFor(chosen.expr.End(), false).Offset
	var params, args []string
	for i, v := range chosen.vars {
		params, args = append(params, fmt.Sprintf("zqp%d %s", i, v.Type())), append(args, v.Name())
	}
	body := c.renamed(chosen.expr, content, chosen.vars)
	call := fmt.Sprintf("%s(%s)", helperName, strings.Join(args, ", "))
	helper := fmt.Sprintf("\n\nfunc %s(%s) %s { return %s }\n", helperName, strings.Join(params, ", "), c.info.TypeOf(chosen.expr), body)
	after := slices.Concat(content[:from], []byte(call), content[to:])
	x := &extraction{before: content, call: [2]int{from, from + len(call)}, helper: [2]int{len(after) + 2, len(after) + len(helper) - 1}}
	x.after = append(after, helper...)
	return x
}

// wholeExpressions are those that a statement evaluates and nothing else.
func wholeExpressions(body *ast.BlockStmt) (list []ast.Expr) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 1 {
				list = append(list, n.Results[0])
			}
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 && len(n.Rhs) == 1 && id.Name != "_" {
				list = append(list, n.Rhs[0])
			}
		case *ast.IfStmt:
			list = append(list, n.Cond)
		}
		return true
	})
	return list
}

// extractable tells whether an expression means the same in a function whose
// parameters are the locals that it uses.
func (c *checked) extractable(fn *ast.FuncDecl, e ast.Expr) (vars []*types.Var, ok bool) {
	tv := c.info.Types[e]
	if tv.Value != nil || !isPlainType(tv.Type) {
		return nil, false
	}
	if _, isName := ast.Unparen(e).(*ast.Ident); isName {
		return nil, false
	}
	ok = true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.CompositeLit, *ast.StarExpr:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.AND && n.Op != token.ARROW
		case *ast.Ident:
			o := c.info.Uses[n]
			if o == nil || o.Parent() == types.Universe || o.Parent() == c.pkg.Scope() || o.Parent() == nil {
				return true // nil: a field or method
			}
			if _, isPackage := o.(*types.PkgName); isPackage {
				return true
			}
			v, isVar := o.(*types.Var)
			if !isVar || !isPlainType(v.Type()) || c.escapes(fn, v) {
				ok = false
			} else if !slices.Contains(vars, v) {
				vars = append(vars, v)
			}
		}
		return ok
	})
	return vars, ok && len(vars) > 0
}

func isPlainType(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&(types.IsBoolean|types.IsInteger|types.IsString) != 0 && b.Info()&types.IsUntyped == 0
}

// escapes tells whether somebody but a function's own statements can change a
// variable: a function literal has it, or its address is taken.
func (c *checked) escapes(fn *ast.FuncDecl, v *types.Var) (found bool) {
	uses := func(n ast.Node) (used bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			used = used || ok && (c.info.Uses[id] == v || c.info.Defs[id] == v)
			return !used
		})
		return used
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = found || uses(n)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && uses(n.X)
		case *ast.Field:
			found = found || isResult(fn, n) && uses(n)
		}
		return !found
	})
	return found
}

// isResult: deferred functions see what a named result is.
func isResult(fn *ast.FuncDecl, f *ast.Field) bool {
	return fn.Type.Results != nil && slices.Contains(fn.Type.Results.List, f)
}

// renamed is an expression with the parameters' names for the variables.
func (c *checked) renamed(e ast.Expr, content []byte, vars []*types.Var) string {
	var b strings.Builder
	at := c.fset.PositionFor(e.Pos(), false).Offset
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if v, isVar := c.info.Uses[id].(*types.Var); isVar && slices.Contains(vars, v) {
			from := c.fset.PositionFor(id.Pos(), false).Offset
			b.Write(content[at:from])
			fmt.Fprintf(&b, "zqp%d", slices.Index(vars, v))
			at = from + len(id.Name)
		}
		return true
	})
	b.Write(content[at:c.fset.PositionFor(e.End(), false).Offset])
	return b.String()
}

// mutate changes a token of the call or of the new function.
func (x *extraction) mutate(r *rand.Rand) (after []byte, what string) {
	all := lexemes(x.after)
	in := func(l lexeme, span [2]int) bool { return l.from >= span[0] && l.to <= span[1] && !l.afterBreak }
	var tokens []lexeme
	for _, l := range all {
		if in(l, x.helper) || in(l, x.call) {
			tokens = append(tokens, l)
		}
	}
	t := tokens[r.IntN(len(tokens))]
	if t.token == token.IDENT && r.IntN(2) == 0 { // a name of the same place
		other := tokens[r.IntN(len(tokens))]
		if other.token == token.IDENT {
			return slices.Concat(x.after[:t.from], []byte(other.text), x.after[t.to:]), t.text + " to " + other.text
		}
	}
	return mutate(r, x.after, tokens)
}

// line is the place of a span, for people.
func (x *extraction) line(content []byte, span [2]int) string {
	return string(content[max(0, span[0]-20):min(len(content), span[1]+20)])
}

// withoutHelper is a file's syntax with the calls of the new function replaced
// by what it returns: what a change must come to to be the same.
func withoutHelper(content []byte) string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", content, parser.SkipObjectResolution)
	if err != nil {
		return "it does not parse: " + string(content)
	}
	var helper *ast.FuncDecl
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv == nil && fn.Name.Name == helperName {
			helper = fn
		}
		return helper == d
	})
	f.Comments = nil
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			replaceCalls(helper, n.Results)
		case *ast.AssignStmt:
			replaceCalls(helper, n.Rhs)
		case *ast.IfStmt:
			cond := []ast.Expr{n.Cond}
			replaceCalls(helper, cond)
			n.Cond = cond[0]
		}
		return true
	})
	var text bytes.Buffer
	if err := printer.Fprint(&text, token.NewFileSet(), f); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(text.String())), " ")
}

func replaceCalls(helper *ast.FuncDecl, exprs []ast.Expr) {
	for i, e := range exprs {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok || helper == nil {
			continue
		}
		id, ok := call.Fun.(*ast.Ident)
		if !ok || id.Name != helperName || len(helper.Body.List) != 1 {
			continue
		}
		ret, ok := helper.Body.List[0].(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 1 {
			continue
		}
		args := map[string]string{}
		n := 0
		for _, p := range helper.Type.Params.List {
			for _, param := range p.Names {
				if n < len(call.Args) {
					if arg, ok := call.Args[n].(*ast.Ident); ok {
						args[param.Name] = arg.Name
					}
				}
				n++
			}
		}
		ast.Inspect(ret.Results[0], func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && args[id.Name] != "" {
				id.Name = args[id.Name]
			}
			return true
		})
		exprs[i] = ret.Results[0]
	}
}
