package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign reads an assignment, before a command or alone.
func (r *reader) assign(a *syntax.Assign, s scope) {
	if a.Index != nil {
		r.inside(a.Index, s)
		r.numbers.arithmetic(a.Index, r)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				r.inside(e.Index, s)
				r.numbers.arithmetic(e.Index, r)
			}
			r.word(e.Value, s)
		}
	}
	value := r.word(a.Value, s)
	if a.Name == nil {
		return
	}
	if a.Naked {
		return
	}
	if a.Array != nil || !isNumber(value) && !isArithmetic(a.Value) {
		r.numbers.taint(a.Name.Value)
	}
	r.variable(a.Name.Value, value, s)
}

// variable judges a variable that gets a value.
func (r *reader) variable(name string, value Arg, s scope) {
	switch {
	case runs(name):
		r.unjudged("%s is set, which changes what runs", name)
	case isCommandLine(name):
		// The value is a command line for a shell.
		if !value.Exact {
			r.unjudged("%s is set to a command that is not literal", name)
			return
		}
		r.afterwards(func() { r.apart(func() { r.text(value.Text, POSIX, s) }) })
	case strings.HasPrefix(name, "GIT_") && !harmlessGit(name, value):
		r.unjudged("%s is set, which changes what git runs or writes", name)
	}
}

// assignName judges a variable that gets a value which is not read.
func (r *reader) assignName(name string) {
	if runs(name) || isCommandLine(name) || strings.HasPrefix(name, "GIT_") {
		r.unjudged("%s is set, which changes what runs", name)
	}
}

// runs knows the variables that decide what a name stands for, or that hold code for shells and loaders.
func runs(name string) bool {
	switch name {
	case "PATH", "BASH_ENV", "ENV", "IFS", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "PS0", "CDPATH", "SHELL", "BASH_ALIASES", "BASH_CMDS",
		"EXECIGNORE", "BASH_LOADABLES_PATH", "POSIXLY_CORRECT", "HOME", "XDG_CONFIG_HOME", "PATHEXT", "COMSPEC":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "GCONV_")
}

// isCommandLine knows the variables whose value other programs give to a shell.
func isCommandLine(name string) bool {
	return slices.Contains([]string{"PAGER", "EDITOR", "VISUAL", "BROWSER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "SSH_ASKPASS", "SUDO_ASKPASS", "SUDO_EDITOR",
		"GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "RSYNC_RSH", "CVS_RSH"}, name)
}

// harmlessGit knows what may be said to git without changing what it runs or where it writes.
func harmlessGit(name string, value Arg) bool {
	if strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_") {
		return true
	}
	switch name {
	case "GIT_TERMINAL_PROMPT", "GIT_MERGE_AUTOEDIT", "GIT_OPTIONAL_LOCKS", "GIT_ADVICE", "GIT_LITERAL_PATHSPECS", "GIT_PAGER_IN_USE", "GIT_LFS_SKIP_SMUDGE", "GIT_FLUSH":
		return true
	}
	return strings.HasPrefix(name, "GIT_TRACE") && value.Exact && slices.Contains([]string{"", "0", "1", "2", "true", "false"}, value.Text)
}

// declClause reads export, declare and their like where they stand as keywords.
func (r *reader) declClause(c *syntax.DeclClause, s scope) {
	words := []Arg{{Text: c.Variant.Value, Exact: true}}
	for _, a := range c.Args {
		r.assign(a, s)
		switch {
		case a.Name == nil:
			words = append(words, resolve(a.Value))
		case a.Naked:
			words = append(words, Arg{Text: a.Name.Value, Exact: true})
		default:
			words = append(words, Arg{Text: a.Name.Value + "="})
		}
	}
	r.program(words, s.in)
	r.declared(c.Variant.Value, words[1:])
}

// numbers follows which variables are evaluated as arithmetic, and which can hold anything: bash runs the substitutions
// that stand in the text of a variable when that is evaluated, as in x='a[$(id)]'; echo $((x)).
type numbers struct {
	used, tainted map[string]bool
	everything    bool // any variable can hold anything
}

func (n *numbers) taint(name string) { n.tainted[name] = true }

func (n *numbers) judge(r *reader) {
	for name := range n.used {
		if n.tainted[name] || n.everything {
			r.unjudged("a variable is evaluated as arithmetic, and its text can hold commands")
			return
		}
	}
}

func (n *numbers) arithmetic(x syntax.ArithmExpr, r *reader) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(node.Value, "$`\\") {
				r.unjudged("a number is quoted so that it can hold commands")
			}
			if syntax.ValidName(node.Value) {
				n.used[node.Value] = true
			}
		case *syntax.SglQuoted:
			if strings.ContainsAny(node.Value, "$`\\") {
				r.unjudged("a number is quoted so that it can hold commands")
			}
		case *syntax.CmdSubst:
			r.unjudged("the output of a command is evaluated as arithmetic, and can hold commands")
			return false
		case *syntax.ParamExp:
			n.parameter(node, r)
		}
		return true
	})
}

// parameter is an expansion inside of arithmetic.
func (n *numbers) parameter(p *syntax.ParamExp, r *reader) {
	switch {
	case p.Param == nil || p.Length:
	case slices.Contains([]string{"#", "?", "$", "!"}, p.Param.Value):
	case syntax.ValidName(p.Param.Value):
		n.used[p.Param.Value] = true
		if p.Exp != nil || p.Repl != nil || p.Excl {
			r.unjudged("a variable is evaluated as arithmetic, and its text can hold commands")
		}
	default:
		r.unjudged("an argument is evaluated as arithmetic, and its text can hold commands")
	}
}

// expansion looks at what is evaluated in an expansion itself.
func (n *numbers) expansion(p *syntax.ParamExp, r *reader) {
	if p.Index != nil && !wholeArray(p.Index) {
		n.arithmetic(p.Index, r)
	}
	if p.Slice != nil {
		n.arithmetic(p.Slice.Offset, r)
		n.arithmetic(p.Slice.Length, r)
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
		n.taint(p.Param.Value)
	}
}

func wholeArray(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func (n *numbers) binaryTest(t *syntax.BinaryTest, r *reader) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, x := range []syntax.TestExpr{t.X, t.Y} {
			if w, ok := x.(*syntax.Word); ok {
				n.arithmetic(w, r)
			}
		}
	}
}

func (n *numbers) unaryTest(t *syntax.UnaryTest, r *reader) {
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
func isArithmetic(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length || p.Short && p.Param != nil && (p.Param.Value == "#" || p.Param.Value == "?" || p.Param.Value == "$")
	}
	return false
}
