package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Rule names commands by program and first arguments.
type Rule struct {
	text    string
	program string
	args    []string
}

// Parse reads a rule: a program and the arguments that a command must begin with, quoted as for a shell. A program
// without a slash is meant wherever it stands, one with a slash in its place, from the workspace's root if it is relative.
func Parse(prefix string) (Rule, error) {
	r := shell.Read(prefix, shell.Bash)
	switch {
	case strings.TrimSpace(prefix) == "":
		return Rule{}, errors.New("a rule names no program")
	case len(r.Writes)+len(r.Reads) > 0 || r.Background || len(r.Programs) == 0:
		return Rule{}, fmt.Errorf("the rule %q is not a program with arguments", prefix)
	}
	p := r.Programs[0]
	for _, a := range p.Args {
		if !a.Exact {
			return Rule{}, fmt.Errorf("the rule %q is not literal; quote its special characters", prefix)
		}
	}
	// Whoever writes "env" or "sudo sh" names that program, whatever it runs; two commands are two rules.
	if words := append([]string{p.Path}, p.Literal()...); !single(prefix, len(words)) {
		return Rule{}, fmt.Errorf("the rule %q is more than one command", prefix)
	}
	return Rule{prefix, p.Path, p.Literal()}, nil
}

// single reports whether a text is one command of n words.
func single(text string, n int) bool {
	r := shell.Read("command -v -- "+text, shell.Bash)
	return len(r.Programs) == 1 && len(r.Unjudged) == 0 && len(r.Programs[0].Args) == n+2
}

// String is the rule as it was written.
func (r Rule) String() string { return r.text }

// Check holds a rule to lines that it must and must not match.
func (r Rule) Check(match, notMatch []string) error {
	for _, line := range match {
		if !r.matchesLine(line) {
			return fmt.Errorf("the rule %q must match %q and does not", r.text, line)
		}
	}
	for _, line := range notMatch {
		if r.matchesLine(line) {
			return fmt.Errorf("the rule %q must not match %q and does", r.text, line)
		}
	}
	return nil
}

func (r Rule) matchesLine(line string) bool {
	for _, p := range shell.Read(line, shell.Bash).Programs {
		if r.match(p, Policy{}) == yes {
			return true
		}
	}
	return false
}

// Begins reports whether a command can begin with a subcommand of these words, options before it left out.
func Begins(p shell.Program, words ...string) bool {
	best, _ := Rule{args: words}.begins(p)
	return best == yes
}

type answer int

const (
	no answer = iota
	perhaps
	yes
)

// match is the strictest answer for any reading of where the subcommand begins.
func (r Rule) match(p shell.Program, in Policy) answer {
	best, _ := r.begins(p)
	return min(best, r.names(p, in))
}

// certain reports whether the rule matches in every reading.
func (r Rule) certain(p shell.Program, in Policy) bool {
	_, worst := r.begins(p)
	return min(worst, r.names(p, in)) == yes
}

// begins compares the arguments in all readings.
func (r Rule) begins(p shell.Program) (best, worst answer) {
	best, worst = no, yes
	for _, args := range readings(p, len(r.args) > 0 && !strings.HasPrefix(r.args[0], "-")) {
		a := begins(args, r.args)
		best, worst = max(best, a), min(worst, a)
	}
	return best, worst
}

// names compares the program. `.` is source; on systems that append .exe, so do people.
func (r Rule) names(p shell.Program, in Policy) answer {
	if strings.Contains(r.program, "/") {
		return r.stands(p, in)
	}
	name, wanted := strings.TrimSuffix(p.Name, ".exe"), r.program
	if p.Path == "." {
		name = "source"
	}
	if wanted == "." {
		wanted = "source"
	}
	if name == wanted {
		return yes
	}
	return no
}

// stands compares a program with a directory by the place where it stands, from wherever the line has gone. As it is
// written it counts too.
func (r Rule) stands(p shell.Program, in Policy) answer {
	switch {
	case path.Clean(r.program) == path.Clean(p.Path):
		return yes
	case !strings.Contains(p.Path, "/"):
		return no
	case !path.IsAbs(p.Path) && p.In == nil && path.Base(r.program) == p.Name:
		return perhaps
	}
	wanted := from(in.Root, r.program)
	for _, dir := range slices.Concat(p.In, []string{"/"}) { // one that is absolute is the same from anywhere
		if (dir != "/" || path.IsAbs(p.Path)) && from(from(in.Dir, dir), p.Path) == wanted {
			return yes
		}
	}
	return no
}

func from(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

func begins(args []shell.Arg, wanted []string) answer {
	for i, want := range wanted {
		switch {
		case i >= len(args):
			return no
		case args[i].Exact && args[i].Text == want:
		case args[i].Many && args[i].Open:
			return perhaps
		case args[i].Exact || !strings.HasPrefix(want, args[i].Text):
			return no
		case args[i].Many:
			return perhaps
		default:
			return min(perhaps, begins(args[i+1:], wanted[i+1:]))
		}
	}
	return yes
}
