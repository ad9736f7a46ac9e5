package shell

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// code are the characters without which no text that bash evaluates once more runs anything.
const code = "$`["

// numbers follows what variables can hold, as bash evaluates some texts a second time: arithmetic runs the substitutions
// in the text of a variable, as in x='a[$(id)]'; echo $((x)), and so do the subscripts that test -v, wait -p and their like
// take, and declare with the text of an array. Whether that concerns the line is known at its end.
type numbers struct {
	// used are variables that are evaluated as arithmetic, tainted those that can hold something else than a number.
	used, tainted map[string]bool
	counted       bool // a program was trusted to print a number
	// from says of a variable what it gets its values from; anything for what can hold code.
	from map[string][]string
	// held are variables whose text is evaluated if it holds code, with why; fixed those that name code if the line sets them.
	held, fixed map[string]string
	// arrays are declared in the line; lists are assignments to variables whose value is read as a list if they are arrays.
	arrays map[string]bool
	lists  map[string]Arg
}

func newNumbers() numbers {
	return numbers{used: map[string]bool{}, tainted: map[string]bool{}, from: map[string][]string{},
		held: map[string]string{}, fixed: map[string]string{}, arrays: map[string]bool{}, lists: map[string]Arg{}}
}

// taint says that a variable gets a value that is not known.
func (r *reader) taint(name string) {
	r.tainted[name] = true
	r.from[name] = append(r.from[name], anything)
}

// set says what a variable gets as its value.
func (r *reader) set(name string, value Arg) {
	r.from[name] = append(r.from[name], value.from...)
	if strings.ContainsAny(value.Text, code) {
		r.from[name] = append(r.from[name], anything)
	}
}

// hold judges a word that is evaluated if it holds code.
func (r *reader) hold(a Arg, why string) {
	for _, name := range a.from {
		if name == anything {
			r.unjudged("%s", why)
			return
		}
		r.held[name] = why
	}
}

// wild reports whether a variable can hold code. What the line does not set comes from the environment of the server.
func (r *reader) wild(name string, seen map[string]bool) bool {
	if name == anything {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(r.from[name], func(next string) bool { return r.wild(next, seen) })
}

func (r *reader) judge() {
	for name, value := range r.lists {
		if r.arrays[name] {
			r.list(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.held)) {
		if r.wild(name, map[string]bool{}) {
			r.unjudged("%s", r.held[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.fixed)) {
		if _, set := r.from[name]; set || r.tainted[name] {
			r.unjudged("%s", r.fixed[name])
		}
	}
	if r.counted && r.functions {
		r.unjudged("the output of a command is evaluated as arithmetic, and functions can make it anything")
	}
	for name := range r.used {
		if r.tainted[name] {
			r.unjudged("a variable is evaluated as arithmetic, and its text can hold commands")
			return
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
			if !r.counts(node) {
				r.unjudged("the output of a command is evaluated as arithmetic, and can hold commands")
			}
			return false
		case *syntax.ParamExp:
			r.parameter(node)
		}
		return true
	})
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// text is literal text that is evaluated as arithmetic: the names in it are.
func (r *reader) evaluated(text string) {
	if strings.ContainsAny(text, "$`\\") {
		r.unjudged("a number is quoted so that it can hold commands")
	}
	for _, name := range identifier.FindAllString(text, -1) {
		r.used[name] = true
		if runs(name) {
			r.unjudged("%s stands in arithmetic, which can change what runs", name)
		}
	}
}

// parameter is an expansion inside of arithmetic.
func (r *reader) parameter(p *syntax.ParamExp) {
	switch {
	case p.Param == nil || p.Length:
	case Among("# ? $ !", p.Param.Value):
	case syntax.ValidName(p.Param.Value):
		r.used[p.Param.Value] = true
		if p.Exp != nil || p.Repl != nil || p.Excl {
			r.unjudged("a variable is evaluated as arithmetic, and its text can hold commands")
		}
	default:
		r.unjudged("an argument is evaluated as arithmetic, and its text can hold commands")
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
		r.taint(p.Param.Value)
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

// isArithmetic reports whether a value can only be a number.
func (r *reader) isArithmetic(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length || p.Short && p.Param != nil && (Among("# ? $ ! EPOCHSECONDS", p.Param.Value) || isInteger(p.Param.Value))
	case *syntax.CmdSubst:
		return r.counts(p)
	}
	return false
}

// counts knows commands in daily use that print nothing but a number, as long as the line has no function of the name.
func (r *reader) counts(c *syntax.CmdSubst) bool {
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
	switch strings.Join(words, " ") {
	case "wc -l", "wc -c", "wc -w", "date +%s", "date +%s%N", "nproc", "id -u":
		r.counted = true
		return true
	}
	return false
}
