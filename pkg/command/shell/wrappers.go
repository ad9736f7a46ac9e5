package shell

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// options are those of a program.
type options struct {
	flags, values, attached string // one-letter ones without a value, with one, and with one that only the same word can have
	longFlags, longValues   string // what is in longFlags may have a value behind "="
}

// given is an option on a line, or an operand, which has no name.
type given struct {
	name  string
	value Arg
	at    int  // the word
	known bool // not so: it could take a value, or lacks one
}

// read gives the options and the operands of a program in their order. Behind "--" all are operands.
func (o options) read(args []Arg) (all []given) {
	ended := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !ended && a.Is("--"):
			ended = true
		case ended || !a.Begins("-") || a.Text == "-" && !strings.Contains(o.flags, "-"):
			all = append(all, given{"", a, i, true})
		default:
			found, next := o.word(a, i)
			all = append(all, found...)
			if last := &all[len(all)-1]; next {
				if i++; i < len(args) {
					last.value = args[i]
				}
				last.known = i < len(args)
			}
		}
	}
	return all
}

// word takes a word of options apart, and reports whether the next word is the value of the last.
func (o options) word(a Arg, at int) (all []given, next bool) {
	rest := func(text string) Arg { return Arg{Text: text, Exact: a.Exact, Many: a.Many, Open: a.Open} }
	if a.Begins("--") {
		name, value, valued := strings.Cut(a.Text, "=")
		takes := Among(o.longValues, name)
		known := (takes || Among(o.longFlags, name)) && (valued || a.Exact)
		return []given{{name, rest(value), at, known}}, known && takes && !valued
	}
	for letters := cmp.Or(a.Text[1:], "-"); letters != ""; {
		letter := letters[:1]
		letters = letters[1:]
		switch g := (given{"-" + letter, rest(letters), at, true}); {
		case strings.Contains(o.flags, letter):
			all = append(all, g)
		case strings.Contains(o.values, letter):
			return append(all, g), letters == "" && a.Exact
		default:
			g.known = strings.Contains(o.attached, letter)
			return append(all, g), false
		}
	}
	if !a.Exact {
		all = append(all, given{"-", a, at, false})
	}
	return all, false
}

// wrapper is how a program takes the program that it runs: behind its own options and operands.
type wrapper struct {
	options
	operands int    // words before the program
	assigns  bool   // NAME=value words before the program
	moves    string // options that change its directory
	code     string // options whose value a shell runs instead
	module   string // options behind which stands no program
}

// wrappers are the programs whose arguments are read for the program that they run. Their options are those of the GNU
// and BSD tools; an unknown one makes the line unjudged, as it could take a value.
var wrappers = sync.OnceValue(func() map[string]wrapper {
	const common = "--help --version "
	return map[string]wrapper{
		"command": {options: options{flags: "p"}},
		"exec":    {options: options{flags: "cl", values: "a"}},
		"env": {options: options{
			flags: "i0v-", values: "uC",
			longFlags: common + "--ignore-environment --null --debug --block-signal --default-signal --ignore-signal", longValues: "--unset --chdir",
		}, assigns: true, moves: "-C --chdir"},
		"nohup":  {options: options{longFlags: common}},
		"setsid": {options: options{flags: "cfwhV", longFlags: common + "--ctty --fork --wait"}},
		"nice":   {options: options{flags: "0123456789", values: "n", longFlags: common, longValues: "--adjustment"}},
		"stdbuf": {options: options{values: "ioe", longFlags: common, longValues: "--input --output --error"}},
		"timeout": {options: options{
			flags: "vfp", values: "sk", longFlags: common + "--foreground --preserve-status --verbose", longValues: "--signal --kill-after",
		}, operands: 1},
		"time": {options: options{
			flags: "pvaqlh", values: "fo", longFlags: common + "--portability --verbose --append --quiet", longValues: "--format --output",
		}},
		"sudo": {options: options{
			flags: "AbEHnPSkKBNis", values: "CDghpRrtTuU",
			longFlags:  common + "--askpass --background --preserve-env --set-home --non-interactive --preserve-groups --stdin --reset-timestamp --login --shell",
			longValues: "--user --group --host --prompt --chdir --chroot --role --type --other-user --close-from --command-timeout",
		}, assigns: true, moves: "-D -R --chdir --chroot"},
		"busybox": {},
		"flock": {options: options{
			flags: "sxeunoFv", values: "wE",
			longFlags:  common + "--shared --exclusive --unlock --nonblock --nb --close --no-fork --verbose",
			longValues: "--timeout --wait --conflict-exit-code",
		}, operands: 1},
		"xargs": {options: options{
			flags: "0rtpxo", values: "adEILnPsRJS",
			longFlags:  common + "--null --no-run-if-empty --verbose --interactive --exit --open-tty --show-limits",
			longValues: "--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var",
		}},
	}
})

// opaque run other programs in ways that are not read.
const opaque = `su runuser pkexec doas chroot gchroot ionice taskset caffeinate toybox script strace ltrace gdb lldb valgrind unshare nsenter setpriv systemd-run firejail bwrap
		parallel watch unbuffer rlwrap catchsegv chrt numactl prlimit dbus-run-session dbus-launch start-stop-daemon
		setarch linux32 linux64 i386 x86_64 uname26 faketime fakeroot proot chpst setuidgid envdir run-parts entr at batch crontab
		expect screen tmux xvfb-run ssh-agent sg newgrp gosu su-exec tini dumb-init s6-setuidgid eatmydata capsh agetty vlock dc m4
		ssh sshpass autossh mosh vi vim nvim ex view vimdiff rvim ed red emacs emacsclient hyperfine perf rr heaptrack
		torsocks torify proxychains proxychains4 cpulimit logsave multitime systemd-inhibit systemd-cat systemd-nspawn machinectl lxc-attach
		cgexec runcon nodemon watchexec cross-env dotenv direnv conda mamba micromamba nix nix-shell xcrun openvpn pdsh ansible`

// loaders begin the names of the dynamic loader, which runs the program that it is given.
const loaders = "ld-linux ld-musl ld.so ld64.so"

// carried reads what a program runs for its caller.
func (r *reader) carried(name string, args []Arg, c command) {
	c.apart = true
	switch name {
	case "find", "gfind":
		r.find(args, c)
	case "xargs", "gxargs":
		r.xargs(args, c)
	case "git":
		r.git(args, c)
	case "sed", "gsed", "ssed":
		r.sed(name, args)
	case "awk", "gawk", "mawk", "nawk":
		r.awk(name, args)
	case "make", "gmake":
		r.assigned(args, c)
		r.named(name, namers()["make"], args)
	case "flock", "gflock":
		r.flock(args, c)
	case "cmake":
		if len(args) > 1 && args[0].Text == "-E" && Among("env time chdir __run_co_compile", args[1].Text) {
			r.unjudged("what cmake -E %s runs is not read", args[1].Text)
		}
	case "fd", "fdfind":
		if slices.ContainsFunc(args, func(a Arg) bool { return a.Begins("-x -X --exec") }) {
			r.unjudged("what %s runs is not read", name)
		}
	default:
		if how, ok := starters()[name]; ok {
			r.started(name, how, args, c)
		} else if Among(opaque, name) || begins(name, loaders) {
			r.unjudged("what %s runs is not read", name)
		} else if how, ok := namers()[name]; ok {
			r.named(name, how, args)
		} else if how, ok := wrappers()[strings.TrimPrefix(name, "g")]; ok && name != "gexec" {
			r.wrapped(strings.TrimPrefix(name, "g"), how, args, c)
		} else if how, ok := wrappers()[name]; ok {
			r.wrapped(name, how, args, c)
		}
	}
}

func (r *reader) wrapped(name string, how wrapper, args []Arg, c command) {
	rest, ok := r.unwrap(name, how, args, &c)
	switch {
	case !ok:
	case len(rest) > 0:
		r.run(rest, c)
	case c.fed:
		r.unjudged("what %s runs is not literal", name)
	case name == "sudo" && len(args) > 0:
		r.unjudged("what sudo runs is not known: it starts a shell")
	}
}

// flock runs a program, or the text behind -c, while it has a lock.
func (r *reader) flock(args []Arg, c command) {
	rest, ok := r.unwrap("flock", wrappers()["flock"], args, &c)
	switch {
	case !ok || len(rest) == 0:
	case !rest[0].Is("-c --command"):
		r.run(rest, c)
	case len(rest) < 2 || !rest[1].Exact:
		r.unjudged("what flock runs is not literal")
	default:
		r.text(rest[1].Text, POSIX, c.scope)
	}
}

// unwrap returns the words of the program that a wrapper runs; none where it runs nothing that is not read here. False: it
// is not known.
func (r *reader) unwrap(name string, how wrapper, args []Arg, c *command) ([]Arg, bool) {
	operands := how.operands
	for _, g := range how.read(args) {
		variable, value, assigned := strings.Cut(g.value.Text, "=")
		code := Among(how.code, g.name)
		switch {
		case g.name == "" && how.assigns && assigned && !g.value.Many:
			r.variable(variable, Arg{Text: value, Exact: g.value.Exact}, c.scope)
		case !args[g.at].Exact || code && !g.value.Exact:
			r.unjudged("what %s runs is not literal", name)
			return nil, false
		case !g.known || g.name != "" && g.value.Many:
			r.unjudged("the option %s of %s is not known, so what it runs is not", clip(args[g.at].Text), name)
			return nil, false
		case code:
			r.apart(func() { r.text(g.value.Text, POSIX, c.scope) })
			return nil, true
		case Among(how.module, g.name):
			return nil, true
		case g.name != "":
			if Among(how.moves, g.name) {
				c.in = elsewhere
			}
		case operands > 0:
			operands--
		default:
			return args[g.at:], true
		}
	}
	return nil, true
}

// xargs runs its program with words of its input behind, or in the place of a mark.
func (r *reader) xargs(args []Arg, c command) {
	how := wrappers()["xargs"]
	rest, ok := r.unwrap("xargs", how, args, &c)
	if !ok || len(rest) == 0 {
		return
	}
	mark := ""
	for _, g := range how.read(args[:len(args)-len(rest)]) {
		if Among("-I -J", g.name) {
			if mark = g.value.Text; mark == "" || !g.value.Exact {
				r.unjudged("what xargs runs is not literal")
				return
			}
		}
	}
	fed := make([]Arg, 0, len(rest)+1)
	for _, a := range rest {
		fed = append(fed, marked(a, mark))
	}
	if mark == "" {
		fed = append(fed, Arg{Many: true, Open: true})
	}
	c.fed = true
	r.run(fed, c)
}

// marked is a word in which a mark will be replaced.
func marked(a Arg, mark string) Arg {
	if before, _, found := strings.Cut(a.Text, mark); found && mark != "" {
		return Arg{Text: before, Many: a.Many, Open: a.Open}
	}
	return a
}
