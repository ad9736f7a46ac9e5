package shell

import (
	"slices"
	"strings"
	"sync"
)

// naming are the options with which a program takes another one, or code for a shell, from its arguments.
type naming struct {
	letters string   // one-letter options
	values  string   // one-letter options with a value, which hides the letters behind them
	long    []string // long options, whole; they are found in their abbreviations and with one dash too
	words   []string // arguments that have this in them
	bare    bool     // the first argument is letters without a dash (tar xf)
}

// namers are programs in daily use that run another one only if an option says so.
var namers = sync.OnceValue(func() map[string]naming {
	tar := naming{letters: "IF", values: "fCbTXHgNVKL", bare: true,
		long: strings.Fields("--to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script --rmt-command")}
	compiler := naming{long: []string{"--wrapper"}}
	netcat := naming{letters: "ec", values: "psIwiqXxOTV", long: []string{"--exec", "--sh-exec", "--lua-exec"}}
	apt := naming{words: strings.Fields("Invoke Hook Dir::Bin Options ::Methods"), letters: "c", long: []string{"--config-file"}}
	return map[string]naming{
		"tar": tar, "gtar": tar, "bsdtar": tar,
		"rsync":  {letters: "e", values: "fMTB", long: []string{"--rsh", "--rsync-path"}},
		"scp":    {letters: "oSF", values: "ciJlPX", long: nil},
		"sftp":   {letters: "oSDF", values: "bBciJlPRsX"},
		"man":    {letters: "PH", values: "CEIKLMRSer", long: []string{"--pager", "--html"}},
		"split":  {long: []string{"--filter"}},
		"csplit": {}, "sort": {long: []string{"--compress-program"}},
		"less": {letters: "k", words: []string{"!", "|"}, long: []string{"--lesskey-file", "--lesskey-src"}},
		"make": {letters: "E", values: "CfIoWj", long: []string{"--eval"}, words: []string{"SHELL="}}, "gmake": {letters: "E", values: "CfIoWj", long: []string{"--eval"}, words: []string{"SHELL="}},
		"gcc": compiler, "g++": compiler, "cc": compiler, "c++": compiler, "gfortran": compiler,
		"go":    {long: []string{"--exec", "--toolexec", "--vettool"}},
		"cargo": {long: []string{"--config"}}, "hg": {long: []string{"--config"}},
		"svn": {long: strings.Fields("--diff-cmd --diff3-cmd --editor-cmd --config-option")},
		"nc":  netcat, "ncat": netcat, "netcat": netcat, "socat": {words: strings.Fields("EXEC exec SYSTEM system SHELL shell")},
		"wget": {letters: "e", values: "OPoaiQtTwUABDIRX", long: []string{"--use-askpass", "--execute"}},
		"zip":  {long: []string{"--unzip-command", "--TT"}}, "rpm": {letters: "E", values: "D", long: []string{"--eval", "--pipe"}},
		"aria2c": {words: []string{"--on-"}}, "dpkg": {long: []string{"--pre-invoke", "--post-invoke"}}, "apt": apt, "apt-get": apt,
		"psql": {words: []string{`\!`, `\o`, `\g`, `\copy`}, long: []string{}}, "mysql": {words: []string{`\!`, "system", `\P`}, long: []string{"--pager"}},
		"sqlite3": {words: strings.Fields(".sh .sy .once .ou .im")}, "ip": {words: []string{"exec"}}, "openssl": {words: []string{"engine"}, long: []string{}},
	}
})

// named judges the options of a program that can name another one.
func (r *reader) named(name string, how naming, args []Arg) {
	for i, a := range args {
		if how.has(a, i == 0) {
			r.unjudged("what %s runs for its argument %s is not read", name, clip(a.Text))
			return
		}
		if a.Exact && a.Text == "--" {
			return
		}
	}
}

func (n naming) has(a Arg, first bool) bool {
	if slices.ContainsFunc(n.words, func(word string) bool { return strings.Contains(a.Text, word) }) {
		return true
	}
	if !strings.HasPrefix(a.Text, "-") {
		return n.bare && first && strings.ContainsAny(a.Text, n.letters)
	}
	option, _, _ := strings.Cut(a.Text, "=")
	option = "--" + strings.TrimLeft(option, "-")
	if slices.ContainsFunc(n.long, func(long string) bool {
		return option == long || len(option) > 4 && strings.HasPrefix(long, option)
	}) {
		return true
	}
	if strings.HasPrefix(a.Text, "--") {
		return false
	}
	letters := a.Text[1:]
	if at := strings.IndexAny(letters, n.values); n.values != "" && at >= 0 {
		letters = letters[:at]
	}
	return n.letters != "" && strings.ContainsAny(letters, n.letters)
}

// starters are programs with a subcommand that runs the program behind it; "" is the program itself.
var starters = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"npx": {""}, "bunx": {""}, "uvx": {""}, "npm": {"exec", "x"}, "pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx"}, "bun": {"x"},
		"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "rye": {"run"}, "pipx": {"run"}, "bundle": {"exec"},
		"rbenv": {"exec"}, "pyenv": {"exec"}, "asdf": {"exec"}, "mise": {"exec", "x"},
	}
})

// started reads the program that a starter runs.
func (r *reader) started(name string, subcommands []string, args []Arg, c command) {
	for i := 0; i < len(args) && subcommands[0] != ""; i++ {
		if args[i].Exact && slices.Contains(subcommands, args[i].Text) {
			args = args[i+1:]
			break
		}
		// A word behind an option can be its value.
		if !strings.HasPrefix(args[i].Text, "-") && (i == 0 || !strings.HasPrefix(args[i-1].Text, "-")) || i+1 == len(args) {
			return
		}
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		option, value, valued := strings.Cut(a.Text, "=")
		switch {
		case !a.Exact:
			r.unjudged("what %s runs is not literal", name)
			return
		case a.Text == "--":
		case !strings.HasPrefix(a.Text, "-"):
			r.run(args[i:], c)
			return
		case among("-y --yes --no --no-install -q --quiet -s --silent --frozen --locked --no-sync --offline --isolated --help --version -v -V", option):
		case name != "uv" && name != "uvx" && (option == "-c" || option == "--call"):
			if !valued && i+1 < len(args) && args[i+1].Exact {
				value, valued = args[i+1].Text, true
			}
			if !valued {
				r.unjudged("what %s runs is not literal", name)
				return
			}
			r.apart(func() { r.text(value, POSIX, c.scope) })
			return
		case among("-p --package --with --python --extra --group --project --directory", option):
			if !valued {
				i++
			}
		case name == "uv" && (option == "-m" || option == "--module"):
			return
		default:
			r.unjudged("the option %s of %s is not known, so what it runs is not", clip(a.Text), name)
			return
		}
	}
}

// assigned reads the variables of make that name a program.
func (r *reader) assigned(args []Arg, c command) {
	for i, a := range args {
		if a.Exact && (a.Text == "-f" || a.Text == "--file" || a.Text == "--makefile") && i+1 < len(args) {
			r.script("make", args[i+1], c)
		}
		if a.Text == "-f-" || a.Exact && a.Text == "-" && i > 0 && strings.HasPrefix(args[i-1].Text, "-f") {
			r.unjudged("what make reads from its standard input is not known")
		}
		variable, value, found := strings.Cut(a.Text, "=")
		variable = strings.TrimRight(variable, ":?+!")
		if found && (isCommandLine(variable) || runs(variable)) {
			r.variable(variable, Arg{Text: value, Exact: a.Exact}, c.scope)
		}
	}
}
