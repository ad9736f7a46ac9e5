package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin judges the builtins that change what later words mean, or that evaluate their arguments.
func (r *reader) builtin(name string, args []Arg) {
	switch name {
	case "alias":
		if slices.ContainsFunc(args, func(a Arg) bool { return !a.Exact || strings.Contains(a.Text, "=") }) {
			r.unjudged("an alias is defined, which changes what later words mean")
		}
	case "shopt":
		r.refuseOption(name, args, "expand_aliases", "lastpipe", "extglob", "assoc_expand_once", "execfail")
	case "enable", "compgen", "complete", "bind", "fc":
		if len(args) > 0 {
			r.unjudged("%s can change or run what the line does not show", name)
		}
	case "hash":
		r.refuseLetter(name, args, "p")
	case "mapfile", "readarray":
		r.refuseLetter(name, args, "C")
		r.variables(name, args, true)
	case "jobs":
		r.refuseLetter(name, args, "x")
	case "let":
		r.unjudged("let is called so that its arithmetic is not read")
	case "export", "declare", "typeset", "local", "readonly":
		r.declared(name, args)
	case "read", "getopts", "unset":
		r.variables(name, args, true)
	case "wait":
		r.variables(name, args, false)
	case "printf":
		r.printf(args)
	case "test", "[":
		r.test(args)
	}
}

func (r *reader) refuseOption(name string, args []Arg, options ...string) {
	for _, a := range args {
		if !a.Exact || slices.Contains(options, a.Text) {
			r.unjudged("%s changes how the line is read", name)
			return
		}
	}
}

func (r *reader) refuseLetter(name string, args []Arg, letter string) {
	for _, a := range args {
		if !a.Exact || strings.HasPrefix(a.Text, "-") && strings.Contains(a.Text, letter) {
			r.unjudged("%s has options that change or run what the line does not show", name)
			return
		}
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
			r.numbers.taint(a.Text)
		}
	}
	if name == "read" || name == "mapfile" || name == "readarray" {
		r.numbers.taint("REPLY")
		r.numbers.taint("MAPFILE")
	}
}

// declared judges declare and its like: the names, and attributes that have values evaluated.
func (r *reader) declared(name string, args []Arg) {
	for _, a := range args {
		variable, _, assigned := strings.Cut(a.Text, "=")
		variable = strings.TrimSuffix(variable, "+")
		switch {
		case strings.HasPrefix(a.Text, "-") && strings.ContainsAny(a.Text, "in"):
			if name != "export" && name != "readonly" || strings.Contains(a.Text, "i") {
				r.unjudged("%s %s has values evaluated", name, clip(a.Text))
			}
		case strings.HasPrefix(a.Text, "-"):
		case strings.ContainsAny(variable, "[$`"):
			r.unjudged("%s evaluates %s", name, clip(a.Text))
		case assigned && syntax.ValidName(variable):
			if runs(variable) || a.Many {
				r.assignName(variable)
			}
			r.numbers.taint(variable)
			if a.Many && a.Open {
				r.unjudged("%s sets a variable whose name is not literal", name)
			}
		case !a.Exact:
			r.unjudged("%s sets a variable whose name is not literal", name)
		}
	}
}

// printf sets a variable with -v.
func (r *reader) printf(args []Arg) {
	if len(args) == 0 {
		return
	}
	switch {
	case args[0].Exact && strings.HasPrefix(args[0].Text, "-v"):
		r.variables("printf", append([]Arg{{Text: strings.TrimPrefix(args[0].Text, "-v"), Exact: true}}, args[1:min(2, len(args))]...), true)
	case !args[0].Exact && args[0].Text == "" && slices.ContainsFunc(args[1:], func(a Arg) bool { return !a.Exact || strings.Contains(a.Text, "[") }):
		r.unjudged("the first argument of printf is not literal, and can set a variable")
	}
}

// test evaluates the subscript of a name behind -v.
func (r *reader) test(args []Arg) {
	for i, a := range args[:max(0, len(args)-1)] {
		next := args[i+1]
		if (!a.Exact && a.Text == "" || a.Text == "-v" || a.Text == "-R") && strings.ContainsAny(next.Text, "[") && next.Text != "[" {
			r.unjudged("test evaluates %s", clip(next.Text))
		}
		if a.Exact && (a.Text == "-v" || a.Text == "-R") && !next.Exact {
			r.unjudged("the name of a variable is not literal")
		}
	}
}
