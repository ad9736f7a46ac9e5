package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// code are the characters without which no text that bash evaluates once more runs anything.
const code = "$`["

// Sources of a text that are no variables.
const (
	anything = "*" // the output of a command, an argument, the names of files, literal text with what runs something
	wording  = "'" // other literal text that is no number
	count    = "#" // a command that prints a number, unless a function has its name
)

// values follow what variables can hold, as bash evaluates some texts a second time: arithmetic runs the substitutions
// in the text of a variable, as in x='a[$(id)]'; echo $((x)), and so do the subscripts that test -v, wait -p and their like
// take, and declare with the text of an array. Whether that concerns the line is known at its end.
type values struct {
	// from says of a variable what it gets its values from.
	from map[string][]string
	// held are sources whose text is evaluated if it holds code, used those that are evaluated as arithmetic, fixed
	// variables that name code if the line sets them; with why.
	held, used, fixed map[string]string
	// arrays are declared in the line; lists are what variables get whose value is read as a list if they are arrays.
	arrays map[string]bool
	lists  map[string][]string
}

func newValues() values {
	return values{map[string][]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]bool{}, map[string][]string{}}
}

// set says where a variable gets a value from.
func (v *values) set(name string, from ...string) { v.from[name] = append(v.from[name], from...) }

// hold judges a word that is evaluated if it holds code.
func (v *values) hold(a Arg, why string) {
	for _, source := range a.from {
		v.held[source] = why
	}
}

// reached are the sources themselves and the variables that can hold text of them. What the line does not set comes from
// the environment of the server.
func (v *values) reached(sources ...string) map[string]bool {
	into, found := map[string][]string{}, map[string]bool{}
	for name, from := range v.from {
		for _, source := range from {
			into[source] = append(into[source], name)
		}
	}
	for ; len(sources) > 0; sources = sources[1:] {
		if !found[sources[0]] {
			found[sources[0]] = true
			sources = append(sources, into[sources[0]]...)
		}
	}
	return found
}

func (r *reader) judge() {
	for name, from := range r.lists {
		if r.arrays[name] {
			r.hold(Arg{from: from}, "the text of the array "+name+" is evaluated")
		}
	}
	set := map[string]bool{}
	for name := range r.from {
		set[name] = true
	}
	if r.functions {
		r.set(count, anything)
	}
	for _, judged := range []struct {
		why map[string]string
		can map[string]bool
	}{{r.held, r.reached(anything)}, {r.fixed, set}, {r.used, r.reached(anything, wording)}} {
		for _, source := range slices.Sorted(maps.Keys(judged.why)) {
			if judged.can[source] {
				r.unjudged("%s", judged.why[source])
			}
		}
	}
}

func (r *reader) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Lit:
			r.evaluated(node.Value)
		case *syntax.SglQuoted:
			r.evaluated(node.Value)
		case *syntax.CmdSubst:
			for _, source := range sources(node) {
				r.used[source] = "the output of a command is evaluated as arithmetic, and can hold commands"
			}
			return false
		case *syntax.ParamExp:
			for _, source := range sources(node) {
				r.used[source] = evaluates
			}
			return false
		}
		return true
	})
}

const evaluates = "a variable is evaluated as arithmetic, and its text can hold commands"

var identifier = lazy.Regexp(`[A-Za-z_][A-Za-z0-9_]*`)

// evaluated is literal text that is evaluated as arithmetic: the names in it are.
func (r *reader) evaluated(text string) {
	if strings.ContainsAny(text, "$`\\") {
		r.unjudged("a number is quoted so that it can hold commands")
	}
	for _, name := range identifier().FindAllString(text, -1) {
		r.used[name] = evaluates
		if runs(name) {
			r.unjudged("%s stands in arithmetic, which can change what runs", name)
		}
	}
}

// expansion looks at what is evaluated in an expansion itself.
func (r *reader) expansion(p *syntax.ParamExp) {
	if p.Index != nil && !wholeArray(p.Index) {
		r.arithmetic(p.Index)
	}
	if p.Slice != nil {
		r.arithmetic(p.Slice.Offset)
		r.arithmetic(p.Slice.Length)
	}
	if p.Param == nil {
		return
	}
	if p.Excl && p.Names == 0 && (p.Index == nil || !wholeArray(p.Index)) {
		r.unjudged("${!%s} names a variable that is not known", clip(p.Param.Value))
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		if word := resolve(p.Exp.Word); !word.Exact || word.Text == "P" {
			r.unjudged("${%s@P} runs what the variable holds", clip(p.Param.Value))
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		r.assignName(p.Param.Value)
		r.set(p.Param.Value, anything)
	}
}

func wholeArray(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func (r *reader) binaryTest(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, x := range []syntax.TestExpr{t.X, t.Y} {
			if w, ok := x.(*syntax.Word); ok {
				r.arithmetic(w)
			}
		}
	}
}

func (r *reader) unaryTest(t *syntax.UnaryTest) {
	if t.Op != syntax.TsVarSet && t.Op != syntax.TsRefVar {
		return
	}
	if w, ok := t.X.(*syntax.Word); ok && (!resolve(w).Exact || strings.ContainsAny(resolve(w).Text, "[")) {
		r.unjudged("the name of a variable is not literal")
	}
}

func isNumber(a Arg) bool {
	return a.Exact && strings.Trim(a.Text, "0123456789") == ""
}

// counts knows commands in daily use that print nothing but a number, as long as the line has no function of the name.
func counts(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	stmt := c.Stmts[0]
	for {
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe {
			break
		}
		stmt = pipe.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || slices.ContainsFunc(stmt.Redirs, func(d *syntax.Redirect) bool { return d.Op != syntax.RdrIn || d.N != nil }) {
		return false
	}
	var words []string
	for _, w := range call.Args {
		a := resolve(w)
		if !a.Exact {
			return false
		}
		words = append(words, a.Text)
	}
	return slices.Contains([]string{"wc -l", "wc -c", "wc -w", "date +%s", "date +%s%N", "nproc", "id -u"}, strings.Join(words, " "))
}
