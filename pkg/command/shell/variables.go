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
		r.arithmetic(a.Index)
	}
	r.elements(a, s)
	value := r.word(a.Value, s)
	if a.Name == nil || a.Naked {
		return
	}
	name := a.Name.Value
	if a.Array != nil || a.Index != nil {
		r.arrays[name] = true
	}
	r.set(name, value.from...)
	r.variable(name, value, s)
}

// elements are the values of an array.
func (r *reader) elements(a *syntax.Assign, s scope) {
	if a.Array == nil {
		return
	}
	for _, e := range a.Array.Elems {
		if e.Index != nil {
			r.inside(e.Index, s)
			r.arithmetic(e.Index)
		}
		value := r.word(e.Value, s)
		if a.Name != nil {
			r.set(a.Name.Value, value.from...)
			if isCommandLine(a.Name.Value) {
				r.assignName(a.Name.Value)
			}
		}
	}
}

// variable judges a variable that gets a value.
func (r *reader) variable(name string, value Arg, s scope) {
	switch {
	case runs(name) && !harmlessValue(name, value):
		r.unjudged("%s is set, which changes what runs", name)
	case isInteger(name) && !isNumber(value):
		r.unjudged("%s is set to what is evaluated as arithmetic", name)
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
	if runs(name) || isInteger(name) || isCommandLine(name) || strings.HasPrefix(name, "GIT_") {
		r.unjudged("%s is set, which changes what runs", name)
	}
}

// runs knows the variables that decide what a name stands for, or that hold code or options for shells, loaders and tools.
func runs(name string) bool {
	setting, ok := strings.CutPrefix(strings.ToLower(name), "npm_config_")
	return begins(name, "LD_ DYLD_ BASH_FUNC_ GCONV_") ||
		Among(`PATH BASH_ENV ENV IFS PROMPT_COMMAND SHELLOPTS BASHOPTS PS4 PS0 CDPATH SHELL BASH_ALIASES BASH_CMDS
			EXECIGNORE BASH_LOADABLES_PATH POSIXLY_CORRECT HOME XDG_CONFIG_HOME PATHEXT COMSPEC
			MAKEFLAGS GNUMAKEFLAGS MAKEFILES TAR_OPTIONS LESS GOFLAGS RUSTFLAGS PERL5DB PERL5OPT`, name) ||
		ok && Among("script_shell shell git editor viewer browser node_options node_gyp init_module userconfig globalconfig", setting)
}

// harmlessValue knows values of such variables in daily use that name no program.
func harmlessValue(name string, value Arg) bool {
	if !value.Exact {
		return false
	}
	switch name {
	case "IFS": // no digit and no "-": numbers stay one word
		return !strings.ContainsAny(value.Text, "-0123456789")
	case "MAKEFLAGS", "GNUMAKEFLAGS":
		return strings.Trim(value.Text, "-jks0123456789 ") == ""
	case "LESS":
		return !strings.ContainsAny(value.Text, "+k")
	case "GOFLAGS":
		return !strings.Contains(value.Text, "exec") && !strings.Contains(value.Text, "tool")
	case "RUSTFLAGS":
		return !strings.Contains(value.Text, "linker")
	}
	return false
}

// isInteger knows the variables of bash that evaluate what they are set to.
func isInteger(name string) bool {
	return Among("RANDOM SRANDOM OPTIND HISTCMD BASHPID SECONDS LINENO", name)
}

// isCommandLine knows the variables whose value other programs give to a shell, or run.
func isCommandLine(name string) bool {
	suffixes := strings.Fields("PAGER EDITOR BROWSER _ASKPASS _RSH _WRAPPER _RUNNER")
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) || Among(`VISUAL LESSOPEN LESSCLOSE SVN_SSH HGMERGE MERGE RSYNC_CONNECT_PROG
		GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND
		CC CXX CPP LD AR AS FC RUSTC RUSTDOC`, name)
}

// harmlessGit knows what may be said to git without changing what it runs or where it writes.
func harmlessGit(name string, value Arg) bool {
	return begins(name, "GIT_AUTHOR_ GIT_COMMITTER_") ||
		Among("GIT_TERMINAL_PROMPT GIT_MERGE_AUTOEDIT GIT_OPTIONAL_LOCKS GIT_ADVICE GIT_LITERAL_PATHSPECS GIT_PAGER_IN_USE GIT_LFS_SKIP_SMUDGE GIT_FLUSH", name) ||
		strings.HasPrefix(name, "GIT_TRACE") && value.Exact && (value.Text == "" || Among("0 1 2 true false", value.Text))
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
		case a.Array != nil:
			words = append(words, Arg{Text: a.Name.Value + "=", Exact: true})
		default:
			value := resolve(a.Value)
			words = append(words, Arg{Text: a.Name.Value + "=" + value.Text, Exact: value.Exact, from: value.from})
		}
	}
	r.program(words, s.in)
	r.declared(c.Variant.Value, words[1:], s)
}
