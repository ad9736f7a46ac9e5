package shell

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command.
func (r *reader) call(c *syntax.CallExpr, redirs []*syntax.Redirect, s scope) flow {
	for _, a := range c.Assigns {
		r.assign(a, s)
	}
	args := r.words(c.Args, s)
	if len(args) == 0 {
		return stay(s.in)
	}
	return r.run(args, command{redirs: redirs, scope: s})
}

// command is what holds around the words of a program.
type command struct {
	scope
	redirs []*syntax.Redirect
	// fed: the program gets words or an input that the line does not show (xargs).
	fed bool
	// apart: it runs in a process of its own, so a cd in it moves nothing.
	apart bool
}

// run reads a program with its arguments, and what these have it run.
func (r *reader) run(args []Arg, c command) flow {
	c.depth++
	switch {
	case len(args) == 0:
		return stay(c.in)
	case c.depth > maxDepth:
		r.unjudged("commands are nested too deeply to be read")
		return lost
	case !args[0].Exact:
		r.unjudged("the name of a program is not literal: %s…", clip(args[0].Text))
		return lost
	case strings.ContainsFunc(args[0].Text, hidden):
		r.unjudged("the name of a program has invisible characters: %q", clip(args[0].Text))
	}
	r.program(args, c.in)
	name := path.Base(args[0].Text)
	if name == "cd" || name == "pushd" || name == "popd" {
		return r.cd(args, c)
	}
	if f, done := r.code(name, args[1:], c); done {
		return f
	}
	r.carried(name, args[1:], c)
	if name == "." || name == "source" {
		r.source(args[1:], c)
		r.moves++
		r.moved = true
		return lost
	}
	return stay(c.in)
}

// hidden are characters of a name that a person cannot see or takes for a space.
func hidden(c rune) bool {
	return c < ' ' || c == 0x7f || c >= 0x80 && (unicode.IsSpace(c) || !unicode.IsGraphic(c))
}

func (r *reader) cd(args []Arg, c command) flow {
	if c.apart {
		return stay(c.in)
	}
	r.moves++
	r.moved = true
	args = args[1:]
	args = operands(args)
	if len(args) != 1 || !args[0].Exact || args[0].Text == "" || args[0].Begins("-") {
		return flow{elsewhere, c.in}
	}
	return flow{c.in.enter(args[0].Text), c.in}
}

const otherShells = "zsh ksh ksh93 mksh oksh lksh yash posh fish csh tcsh elvish nu xonsh pwsh powershell cmd cmd.exe"

// code reads builtins whose arguments are code that runs in this shell, and the shells.
func (r *reader) code(name string, args []Arg, c command) (flow, bool) {
	switch name {
	case "eval":
		return r.eval(args, c), true
	case "command", "builtin", "exec", "time":
		return r.builtinWrapper(name, args, c), true
	case "trap":
		r.trap(args, c)
	case "sh", "bash", "dash", "ash", "rbash":
		r.shell(name, args, c)
	default:
		if !Among(otherShells, name) {
			r.builtin(name, args, c.scope)
			return flow{}, false
		}
		if len(args) == 0 || !args[0].Exact || args[0].Begins("-") || args[0].Begins("/") && strings.Contains(name, "cmd") {
			r.unjudged("what %s runs is not read", name)
		}
	}
	return stay(c.in), true
}

// eval joins its arguments to code.
func (r *reader) eval(args []Arg, c command) flow {
	var words []string
	for _, a := range operands(args) {
		words = append(words, a.Text)
		c.fed = c.fed || !a.Exact
	}
	if c.fed {
		r.unjudged("the text of eval is not literal")
		return lost
	}
	return r.text(strings.Join(words, " "), c.dialect, c.scope)
}

// builtinWrapper reads what runs its arguments in this shell.
func (r *reader) builtinWrapper(name string, args []Arg, c command) flow {
	if name == "command" && len(args) > 0 && args[0].Exact && args[0].Begins("-") && strings.ContainsAny(args[0].Text, "vV") {
		return stay(c.in)
	}
	if name == "builtin" {
		return r.run(args, c)
	}
	if name == "time" {
		c.apart = true
	}
	rest, ok := r.unwrap(name, wrappers()[name], args, &c)
	if !ok {
		return lost
	}
	return r.run(rest, c)
}

// trap takes code for later.
func (r *reader) trap(args []Arg, c command) {
	args = operands(args)
	switch {
	case len(args) == 0:
	case !args[0].Exact:
		r.unjudged("the text of trap is not literal")
	case Among("- -l -p -P", args[0].Text):
	default:
		r.afterwards(func() { r.text(args[0].Text, c.dialect, c.scope) })
	}
}

// shell reads a shell that is started: its text, its here-document, or a script, which is its own matter.
func (r *reader) shell(name string, args []Arg, c command) {
	dialect := POSIX
	if name == "bash" || name == "rbash" {
		dialect = Bash
	}
	how, ok := shellOptions(args)
	operand := how.operand
	switch {
	case !ok, c.fed && (!how.text || operand == nil), operand != nil && !operand.Exact:
		r.unjudged("what %s runs is not literal", name)
	case how.text && operand == nil:
	case how.text:
		r.apart(func() { r.text(operand.Text, dialect, c.scope) })
	case operand != nil && !how.stdin:
		r.script(name, *operand, c)
	default:
		if text, ok := standardInput(c.redirs); ok {
			r.apart(func() { r.text(text, dialect, c.scope) })
		} else {
			r.unjudged("what %s reads from its standard input is not known", name)
		}
	}
}

// script judges the file that a shell reads its code from: what it holds is its own matter, as long as it is a file.
func (r *reader) script(name string, file Arg, c command) {
	from := c.in.enter(file.Text)
	if slices.ContainsFunc(append(from.known, path.Clean(file.Text)), func(at string) bool {
		return strings.HasPrefix(at, "/dev/") || strings.HasPrefix(at, "/proc/")
	}) {
		r.unjudged("what %s reads from %s is not known", name, clip(file.Text))
	}
}

// source reads a file as code of this shell.
func (r *reader) source(args []Arg, c command) {
	args = operands(args)
	const why = "the file that source reads is not literal"
	switch {
	case len(args) == 0:
	case args[0].Exact:
		r.script("source", args[0], c)
	case args[0].Many && !args[0].Open || slices.Contains(args[0].from, anything):
		r.unjudged(why)
	default: // a variable of the environment is as good as a literal
		for _, name := range args[0].from {
			r.fixed[name] = why
		}
	}
}

// shellCall is how a shell was started.
type shellCall struct {
	text, stdin bool // -c, -s
	operand     *Arg // the first operand: the text or the script
}

// shellOptions reads the options of bash and the POSIX shells, in which -c does not take its text as its own argument.
func shellOptions(args []Arg) (call shellCall, ok bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.Exact:
			return call, false
		case a.Is("-- -"):
			if i+1 < len(args) {
				call.operand = &args[i+1]
			}
			return call, true
		case len(a.Text) < 2 || !a.Begins("- +"):
			call.operand = &args[i]
			return call, true
		case a.Is("--norc --noprofile --posix --verbose --login --restricted --noediting"):
		case a.Begins("--"):
			return call, false
		default:
			call.text = call.text || strings.Contains(a.Text, "c")
			call.stdin = call.stdin || strings.Contains(a.Text, "s")
			i += strings.Count(a.Text, "o") + strings.Count(a.Text, "O")
			if strings.Contains(a.Text, "i") {
				return call, false // reads its start-up files and expands aliases
			}
		}
	}
	return call, true
}
