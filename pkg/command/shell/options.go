package shell

import (
	"strings"
	"sync"
)

// naming are the options with which a program takes another one, or code for a shell, from its arguments.
type naming struct {
	letters string // one-letter options
	values  string // one-letter options with a value, which hides the letters behind them
	long    string // long options, whole; they are found in their abbreviations and with one dash too
	words   string // arguments that have this in them
	bare    bool   // the first argument is letters without a dash (tar xf)
}

// namers are programs in daily use that run another one only if an option says so.
var namers = sync.OnceValue(func() map[string]naming {
	tar := naming{letters: "IF", values: "fCbTXHgNVKL", bare: true,
		long: "--to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script --rmt-command"}
	compiler := naming{long: "--wrapper"}
	netcat := naming{letters: "ec", values: "psIwiqXxOTV", long: "--exec --sh-exec --lua-exec"}
	apt := naming{words: "Invoke Hook Dir::Bin Options ::Methods", letters: "c", long: "--config-file"}
	make := naming{letters: "E", values: "CfIoWj", long: "--eval", words: "SHELL="}
	return map[string]naming{
		"tar": tar, "gtar": tar, "bsdtar": tar,
		"rsync":  {letters: "e", values: "fMTB", long: "--rsh --rsync-path"},
		"scp":    {letters: "oSF", values: "ciJlPX"},
		"sftp":   {letters: "oSDF", values: "bBciJlPRsX"},
		"man":    {letters: "PH", values: "CEIKLMRSer", long: "--pager --html"},
		"split":  {long: "--filter"},
		"csplit": {}, "sort": {long: "--compress-program"},
		"less": {letters: "k", words: "! |", long: "--lesskey-file --lesskey-src"},
		"make": make, "gmake": make,
		"gcc": compiler, "g++": compiler, "cc": compiler, "c++": compiler, "gfortran": compiler,
		"go":    {long: "--exec --toolexec --vettool"},
		"cargo": {long: "--config"}, "hg": {long: "--config"},
		"svn": {long: "--diff-cmd --diff3-cmd --editor-cmd --config-option"},
		"nc":  netcat, "ncat": netcat, "netcat": netcat, "socat": {words: "EXEC exec SYSTEM system SHELL shell"},
		"wget": {letters: "e", values: "OPoaiQtTwUABDIRX", long: "--use-askpass --execute"},
		"zip":  {long: "--unzip-command --TT"}, "rpm": {letters: "E", values: "D", long: "--eval --pipe"},
		"aria2c": {words: "--on-"}, "dpkg": {long: "--pre-invoke --post-invoke"}, "apt": apt, "apt-get": apt,
		"psql": {words: `\! \o \g \copy`}, "mysql": {words: `\! system \P`, long: "--pager"},
		"sqlite3": {words: ".sh .sy .once .ou .im"}, "ip": {words: "exec"}, "openssl": {words: "engine"},
	}
})

// named judges the options of a program that can name another one.
func (r *reader) named(name string, how naming, args []Arg) {
	for i, a := range args {
		if how.has(a, i == 0) {
			r.unjudged("what %s runs for its argument %s is not read", name, clip(a.Text))
			return
		}
		if a.Is("--") {
			return
		}
	}
}

func (n naming) has(a Arg, first bool) bool {
	for word := range strings.FieldsSeq(n.words) {
		if strings.Contains(a.Text, word) {
			return true
		}
	}
	if !a.Begins("-") {
		return n.bare && first && strings.ContainsAny(a.Text, n.letters)
	}
	option, _, _ := strings.Cut(a.Text, "=")
	option = "--" + strings.TrimLeft(option, "-")
	for long := range strings.FieldsSeq(n.long) {
		if option == long || len(option) > 4 && strings.HasPrefix(long, option) {
			return true
		}
	}
	if a.Begins("--") {
		return false
	}
	letters := a.Text[1:]
	if at := strings.IndexAny(letters, n.values); n.values != "" && at >= 0 {
		letters = letters[:at]
	}
	return n.letters != "" && strings.ContainsAny(letters, n.letters)
}

// starter is a program with subcommands that run the program behind them; without any it does itself.
type starter struct {
	wrapper
	subcommands string
}

// starters are those that are known.
var starters = sync.OnceValue(func() map[string]starter {
	const flags = "--yes --no --no-install --quiet --silent --frozen --locked --no-sync --offline --isolated --help --version"
	const values = "--package --with --python --extra --group --project --directory "
	most := wrapper{options: options{flags: "yqsvV", values: "pc", longFlags: flags, longValues: values + "--call"}, code: "-c --call"}
	uv := wrapper{options: options{flags: "yqsvV", values: "pm", longFlags: flags, longValues: values + "--module"}, module: "-m --module"}
	all := map[string]starter{"npx": {most, ""}, "bunx": {most, ""}, "uvx": {uv, ""}, "uv": {uv, "run"}}
	for name, subcommands := range map[string]string{
		"npm": "exec x", "pnpm": "exec dlx", "yarn": "exec dlx", "bun": "x", "poetry": "run", "pipenv": "run", "pdm": "run",
		"hatch": "run", "rye": "run", "pipx": "run", "bundle": "exec", "rbenv": "exec", "pyenv": "exec", "asdf": "exec", "mise": "exec x",
	} {
		all[name] = starter{most, subcommands}
	}
	return all
})

// started reads the program that a starter runs.
func (r *reader) started(name string, how starter, args []Arg, c command) {
	for i := 0; i < len(args) && how.subcommands != ""; i++ {
		if args[i].Is(how.subcommands) {
			args = args[i+1:]
			break
		}
		// A word behind an option can be its value.
		if !args[i].Begins("-") && (i == 0 || !args[i-1].Begins("-")) || i+1 == len(args) {
			return
		}
	}
	r.wrapped(name, how.wrapper, args, c)
}

// assigned reads the variables of make that name a program.
func (r *reader) assigned(args []Arg, c command) {
	for i, a := range args {
		if a.Is("-f --file --makefile") && i+1 < len(args) {
			r.script("make", args[i+1], c)
		}
		if a.Text == "-f-" || a.Is("-") && i > 0 && args[i-1].Begins("-f") {
			r.unjudged("what make reads from its standard input is not known")
		}
		variable, value, found := strings.Cut(a.Text, "=")
		variable = strings.TrimRight(variable, ":?+!")
		if found && (isCommandLine(variable) || runs(variable)) {
			r.variable(variable, Arg{Text: value, Exact: a.Exact}, c.scope)
		}
	}
}
