package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin judges the builtins that change what later words mean, or that evaluate their arguments.
func (r *reader) builtin(name string, args []Arg, s scope) {
	letter := map[string]string{"hash": "p", "mapfile": "C", "readarray": "C", "jobs": "x"}[name]
	if slices.ContainsFunc(args, func(a Arg) bool {
		return letter != "" && (!a.Exact || a.Begins("-") && strings.Contains(a.Text, letter))
	}) {
		r.unjudged("%s has options that change or run what the line does not show", name)
	}
	switch name {
	case "alias":
		if slices.ContainsFunc(args, func(a Arg) bool { return !a.Exact || strings.Contains(a.Text, "=") }) {
			r.unjudged("an alias is defined, which changes what later words mean")
		}
	case "shopt":
		const options = "expand_aliases lastpipe extglob assoc_expand_once execfail cdable_vars cdspell"
		if slices.ContainsFunc(args, func(a Arg) bool { return !a.Exact || Among(options, a.Text) }) {
			r.unjudged("%s changes how the line is read", name)
		}
	case "set":
		r.setOptions(args)
	case "enable", "compgen", "complete", "bind", "fc":
		if len(args) > 0 {
			r.unjudged("%s can change or run what the line does not show", name)
		}
	case "let":
		r.unjudged("let is called so that its arithmetic is not read")
	case "export", "declare", "typeset", "local", "readonly":
		r.declared(name, args, s)
	case "read", "mapfile", "readarray", "getopts", "unset":
		r.variables(name, args, true)
	case "wait":
		r.wait(args)
	case "printf":
		r.printf(args)
	case "test", "[":
		r.test(args)
	}
}

// variables judges the names that a builtin gives a value to.
func (r *reader) variables(name string, args []Arg, strict bool) {
	for _, a := range args {
		switch {
		case !a.Exact && !strict:
		case !a.Exact:
			r.unjudged("%s sets a variable whose name is not literal", name)
		case strings.Contains(a.Text, "["):
			r.unjudged("%s evaluates %s", name, clip(a.Text))
		case syntax.ValidName(a.Text):
			r.assignName(a.Text)
			r.set(a.Text, anything)
			r.arrays[a.Text] = r.arrays[a.Text] || name != "unset" && name != "getopts"
		}
	}
	if Among("read mapfile readarray", name) {
		r.set("REPLY", anything)
		r.set("MAPFILE", anything)
	}
}

// declared judges declare and its like: the names, and attributes that have values evaluated.
func (r *reader) declared(name string, args []Arg, s scope) {
	array := false
	for _, a := range args {
		variable, value, assigned := strings.Cut(a.Text, "=")
		variable = strings.TrimSuffix(variable, "+")
		switch {
		case a.Begins("-") && !a.Exact:
			r.unjudged("an option of %s is not literal", name)
		case a.Begins("-"):
			array = array || strings.ContainsAny(a.Text, "aA")
			if strings.Contains(a.Text, "i") || strings.Contains(a.Text, "n") && name != "export" && name != "readonly" {
				r.unjudged("%s %s has values evaluated", name, clip(a.Text))
			}
		case strings.ContainsAny(variable, "[$`"):
			r.unjudged("%s evaluates %s", name, clip(a.Text))
		case assigned && syntax.ValidName(variable):
			given := Arg{Text: value, Exact: a.Exact, from: a.from}
			r.variable(variable, given, s)
			r.set(variable, given.from...)
			if a.Many {
				r.assignName(variable)
			}
			if a.Many && a.Open {
				r.unjudged("%s sets a variable whose name is not literal", name)
			}
			r.arrays[variable] = r.arrays[variable] || array
			if given.Begins("(") || given.Text == "" && len(given.from) > 0 {
				r.lists[variable] = append(r.lists[variable], given.from...)
			}
		case syntax.ValidName(a.Text) && a.Exact:
			r.arrays[a.Text] = r.arrays[a.Text] || array
		case !a.Exact:
			r.unjudged("%s sets a variable whose name is not literal", name)
		}
	}
}

// setOptions judges the options of set that change how the line is read.
func (r *reader) setOptions(args []Arg) {
	for _, a := range args {
		switch {
		case a.Is("-- -"):
			return
		case !a.Exact && (a.Text == "" || a.Begins("-")):
			r.unjudged("an option of set is not literal")
			return
		case a.Begins("-") && strings.ContainsAny(a.Text, "Hk"), a.Is("history histexpand keyword posix"):
			r.unjudged("set %s changes how the line is read", clip(a.Text))
		}
	}
}

// printf sets a variable with -v.
func (r *reader) printf(args []Arg) {
	if len(args) == 0 {
		return
	}
	first := args[0]
	name, sets := strings.CutPrefix(first.Text, "-v")
	switch {
	case sets && first.Exact:
		r.variables("printf", append([]Arg{{Text: name, Exact: true}}, args[1:min(2, len(args))]...), true)
	case sets:
		r.unjudged("printf sets a variable whose name is not literal")
	case first.Exact || first.Text != "" && first.Text != "-":
	case slices.ContainsFunc(args[1:], func(a Arg) bool { return !a.Exact || strings.Contains(a.Text, "[") || runs(a.Text) }):
		r.unjudged("the first argument of printf is not literal, and can set a variable: give a format first")
	case first.Many:
		r.hold(first, "the first argument of printf is not quoted, and can be an option that evaluates text")
	}
}

// test evaluates the subscript of a name behind -v. An operand can be that too, where it is not known.
func (r *reader) test(args []Arg) {
	const loose = "a word of [ that is not literal can be -v with a name that is evaluated: quote it, and write the operators literally"
	for i, a := range args {
		if !a.Exact && a.Many {
			r.hold(a, loose)
		}
		if i+1 == len(args) {
			return
		}
		next := args[i+1]
		sure := a.Is("-v -R")
		could := !a.Exact && (strings.HasPrefix("-v", a.Text) || strings.HasPrefix("-R", a.Text))
		switch {
		case (sure || could) && strings.Contains(next.Text, "[") && next.Text != "[":
			r.unjudged("test evaluates %s", clip(next.Text))
		case sure && !next.Exact:
			r.unjudged("the name of a variable is not literal")
		case could && !next.Exact:
			r.hold(next, loose)
		}
	}
}

// wait takes the name of a variable behind -p.
func (r *reader) wait(args []Arg) {
	for i, a := range args {
		if a.Exact && a.Begins("-") && strings.Contains(a.Text, "p") && i+1 < len(args) && !args[i+1].Exact {
			r.unjudged("wait sets a variable whose name is not literal")
		}
		r.hold(a, "wait evaluates an argument that is not literal")
	}
	r.variables("wait", args, false)
}
