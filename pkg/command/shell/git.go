package shell

import (
	"slices"
	"strings"
)

// git has options and subcommands that have it run what they say.
func (r *reader) git(args []Arg, c command) {
	for i, a := range args {
		switch {
		case a.Begins("--exec-path= --config-env"):
			r.unjudged("git %s can change what git runs", clip(a.Text))
		case a.Exact && !a.Begins("-") && (i == 0 || !Among("-c -C", args[i-1].Text)):
			r.subcommand(a.Text, args[i+1:], c)
			return
		case a.Begins("-c"):
			r.setting(args[i:], "-c")
		}
	}
}

// setting judges -c key=value.
func (r *reader) setting(args []Arg, option string) {
	setting := Arg{Text: strings.TrimPrefix(strings.TrimPrefix(args[0].Text, option), "="), Exact: args[0].Exact}
	if args[0].Text == option && len(args) > 1 {
		setting = args[1]
	}
	if key, _, _ := strings.Cut(strings.ToLower(setting.Text), "="); !harmlessKey(key) {
		r.unjudged("git %s %s can change what git runs", option, clip(setting.Text))
	}
}

// subcommand judges the arguments of a subcommand that name a program.
func (r *reader) subcommand(name string, args []Arg, c command) {
	for i, a := range args {
		rest := args[i:]
		switch {
		case name == "bisect" && a.Text == "run", name == "submodule" && a.Text == "foreach":
			r.foreach(name, rest[1:], c)
			return
		case name == "rebase" && Among("-x --exec", a.Text):
			r.shellText(name, rest[1:min(2, len(rest))], c)
		case name == "rebase" && a.Begins("-x --exec="):
			r.shellText(name, []Arg{{Text: strings.TrimPrefix(strings.TrimPrefix(a.Text, "-x"), "--exec="), Exact: a.Exact}}, c)
		case name == "clone" && a.Begins("-c --config"):
			r.setting(rest, map[bool]string{true: "--config", false: "-c"}[a.Begins("--")])
		case strings.Contains(a.Text, "ext::"), namesProgram(name, a.Text):
			r.unjudged("git %s %s can name a program", name, clip(a.Text))
		}
	}
	switch {
	case name == "filter-branch" && len(args) > 0:
		r.unjudged("what git filter-branch runs is not read")
	case name == "config":
		r.configured(args)
	}
}

// shellText is a text that git gives to a shell.
func (r *reader) shellText(name string, text []Arg, c command) {
	if len(text) == 0 || !text[0].Exact {
		r.unjudged("what git %s runs is not literal", name)
		return
	}
	r.inGit++
	r.apart(func() { r.text(text[0].Text, POSIX, c.scope) })
	r.inGit--
}

// foreach is a program with its arguments, or one text for a shell.
func (r *reader) foreach(name string, args []Arg, c command) {
	for len(args) > 0 && name == "submodule" && args[0].Begins("-") {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
	case name == "submodule" && len(args) == 1:
		r.shellText(name, args, c)
	default:
		c.in = elsewhere
		r.inGit++
		r.run(args, c)
		r.inGit--
	}
}

// namesProgram knows the options of subcommands whose value git runs.
func namesProgram(subcommand, option string) bool {
	if strings.HasPrefix(option, "--") {
		name, _, _ := strings.Cut(option, "=")
		return slices.ContainsFunc(strings.Fields(`--upload-pack --receive-pack --exec --extcmd --open-files-in-pager
			--sendmail-cmd --smtp-server --to-cmd --cc-cmd --header-cmd`), func(known string) bool {
			return name == known || len(name) > 5 && strings.HasPrefix(known, name)
		}) && !Among("commit log", subcommand)
	}
	letter := map[string]string{"clone": "u", "grep": "O", "difftool": "x"}[subcommand]
	return letter != "" && strings.HasPrefix(option, "-") && strings.Contains(option, letter)
}

// configured judges git config with a value.
func (r *reader) configured(args []Arg) {
	var operands []Arg
	for i, a := range args {
		if a.Begins("-") {
			continue
		}
		if i > 0 && Among("-f --file --blob --type -t --default", args[i-1].Text) {
			continue
		}
		operands = append(operands, a)
	}
	if len(operands) > 0 && Among("get list unset get-all edit", operands[0].Text) {
		return
	}
	if len(operands) > 0 && operands[0].Text == "set" {
		operands = operands[1:]
	}
	if len(operands) > 1 && !harmlessKey(strings.ToLower(operands[0].Text)) {
		r.unjudged("git config %s can change what git runs", clip(operands[0].Text))
	}
}

// harmlessKey knows the settings of git that name no program and no file.
func harmlessKey(key string) bool {
	return begins(key, `user. color. advice. core.quotepath core.autocrlf core.safecrlf core.abbrev commit.gpgsign tag.gpgsign
		init.defaultbranch safe.directory log. pull. push. merge.conflictstyle rebase.auto diff.algorithm diff.noprefix gc.auto column. fetch. protocol.version`)
}
