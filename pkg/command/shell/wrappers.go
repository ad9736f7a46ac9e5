package shell

import (
	"slices"
	"strings"
	"sync"
)

// wrapper is how a program takes the program that it runs: behind its own options and operands.
type wrapper struct {
	flags, values         string // one-letter options without and with a value
	longFlags, longValues string // long options; what is in longFlags may have a value behind "="
	operands              int    // words before the program
	assigns               bool   // NAME=value words before the program
	moves                 string // options that change its directory
	digits                bool   // -10 is an option
}

// wrappers are the programs whose arguments are read for the program that they run. Their options are those of the GNU
// and BSD tools; an unknown one makes the line unjudged, as it could take a value.
var wrappers = sync.OnceValue(func() map[string]wrapper {
	const common = "--help --version "
	return map[string]wrapper{
		"command": {flags: "p"},
		"exec":    {flags: "cl", values: "a"},
		"env": {flags: "i0v", values: "uC", assigns: true, moves: "C",
			longFlags: common + "--ignore-environment --null --debug --block-signal --default-signal --ignore-signal", longValues: "--unset --chdir"},
		"nohup":   {longFlags: common},
		"setsid":  {flags: "cfwhV", longFlags: common + "--ctty --fork --wait"},
		"nice":    {values: "n", longFlags: common, longValues: "--adjustment", digits: true},
		"ionice":  {flags: "t", values: "cn", longFlags: common + "--ignore", longValues: "--class --classdata"},
		"stdbuf":  {values: "ioe", longFlags: common, longValues: "--input --output --error"},
		"timeout": {flags: "vfp", values: "sk", operands: 1, longFlags: common + "--foreground --preserve-status --verbose", longValues: "--signal --kill-after"},
		"time":    {flags: "pvaqlh", values: "fo", longFlags: common + "--portability --verbose --append --quiet", longValues: "--format --output"},
		"sudo": {flags: "AbEHnPSkKBNis", values: "CDghpRrtTuU", assigns: true, moves: "DR",
			longFlags:  common + "--askpass --background --preserve-env --set-home --non-interactive --preserve-groups --stdin --reset-timestamp --login --shell",
			longValues: "--user --group --host --prompt --chdir --chroot --role --type --other-user --close-from --command-timeout"},
		"doas":       {flags: "nLs", values: "Cu"},
		"busybox":    {},
		"toybox":     {},
		"chroot":     {operands: 1, longFlags: common, longValues: "--userspec --groups", moves: "*"},
		"taskset":    {flags: "ac", operands: 1, longFlags: common + "--all-tasks --cpu-list"},
		"caffeinate": {flags: "disu", values: "tw"},
		"flock": {flags: "sxeunoFv", values: "wE", operands: 1,
			longFlags:  common + "--shared --exclusive --unlock --nonblock --nb --close --no-fork --verbose",
			longValues: "--timeout --wait --conflict-exit-code"},
		"xargs": {flags: "0rtpxo", values: "adEILnPsRJS",
			longFlags:  common + "--null --no-run-if-empty --verbose --interactive --exit --open-tty --show-limits",
			longValues: "--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var"},
	}
})

// opaque run other programs in ways that are not read.
const opaque = `su runuser pkexec script strace ltrace gdb lldb valgrind unshare nsenter setpriv systemd-run firejail bwrap
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
		if subcommands, ok := starters()[name]; ok {
			r.started(name, subcommands, args, c)
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
	case Among("sudo doas chroot", name) && len(args) > 0:
		r.unjudged("what %s runs is not known: it starts a shell", name)
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

// unwrap returns the words of the program that a wrapper runs.
func (r *reader) unwrap(name string, how wrapper, args []Arg, c *command) ([]Arg, bool) {
	if how.moves == "*" {
		c.in = elsewhere
	}
	operands := how.operands
	for i := 0; i < len(args); i++ {
		a := args[i]
		variable, value, assigned := strings.Cut(a.Text, "=")
		switch {
		case how.assigns && assigned && !a.Many && !a.Begins("-"):
			r.variable(variable, Arg{Text: value, Exact: a.Exact}, c.scope)
		case !a.Exact:
			r.unjudged("what %s runs is not literal", name)
			return nil, false
		case a.Text == "--":
			if operands >= len(args)-i {
				return nil, true
			}
			return args[i+1+operands:], true
		case a.Begins("-") && (len(a.Text) > 1 || name == "env"):
			takes, ok := how.option(a.Text, c)
			if ok && takes && (i+1 == len(args) || args[i+1].Many) {
				ok = false
			}
			if !ok {
				r.unjudged("the option %s of %s is not known, so what it runs is not", clip(a.Text), name)
				return nil, false
			}
			if takes {
				i++
			}
		case operands > 0:
			operands--
		default:
			return args[i:], true
		}
	}
	return nil, true
}

// option reports whether a word of options takes the next one as a value, and whether all of it is known.
func (w wrapper) option(text string, c *command) (takes, ok bool) {
	if text == "-" {
		return false, true
	}
	if strings.HasPrefix(text, "--") {
		name, _, valued := strings.Cut(text, "=")
		if name == "--chdir" || name == "--chroot" {
			c.in = elsewhere
		}
		if Among(w.longFlags, name) {
			return false, true
		}
		return !valued, Among(w.longValues, name)
	}
	if w.digits && strings.Trim(text[1:], "-+0123456789") == "" {
		return false, true
	}
	for i, letter := range text[1:] {
		if strings.ContainsRune(w.moves, letter) {
			c.in = elsewhere
		}
		switch {
		case strings.ContainsRune(w.flags, letter):
		case strings.ContainsRune(w.values, letter):
			return i+2 == len(text), true
		default:
			return false, false
		}
	}
	return false, true
}

// xargs runs its program with words of its input behind, or in the place of a mark.
func (r *reader) xargs(args []Arg, c command) {
	rest, ok := r.unwrap("xargs", wrappers()["xargs"], args, &c)
	if !ok || len(rest) == 0 {
		return
	}
	mark, ok := replacement(args[:len(args)-len(rest)])
	if !ok {
		r.unjudged("what xargs runs is not literal")
		return
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

// replacement finds what -I, -J or -R of xargs replaces.
func replacement(options []Arg) (mark string, ok bool) {
	for i, a := range options {
		if a.Begins("--") || !a.Begins("-") {
			continue
		}
		at := strings.IndexAny(a.Text, "IJ")
		// A letter that takes a value hides those behind it.
		if value := strings.IndexAny(a.Text, "adELnPsRS"); at < 0 || value >= 0 && value < at {
			continue
		}
		mark = a.Text[at+1:]
		if mark == "" {
			if i+1 == len(options) || !options[i+1].Exact {
				return "", false
			}
			mark = options[i+1].Text
		}
		if mark == "" {
			return "", false
		}
	}
	return mark, true
}

// marked is a word in which a mark will be replaced.
func marked(a Arg, mark string) Arg {
	if mark == "" {
		return a
	}
	if before, _, found := strings.Cut(a.Text, mark); found {
		return Arg{Text: before, Many: a.Many, Open: a.Open}
	}
	return a
}
