package clientrules

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// line is a command line in the forms in which rules may name it.
type line struct {
	reading *shell.Reading
	// whole is the line. said are its simple commands as they are written, with and without redirections: what clients
	// compare with rules.
	whole string
	said  []string
	// meant are the programs that run, without quotes and assignments, under their path and their name, and what programs
	// run for others. Only rules that restrict are compared with them.
	meant []string
	// plain are the simple commands of a line that has nothing else; nil if it has.
	plain []command
	// homes are the words that begin with ~/, absolute.
	homes []string
	// work is what comparing with rules has cost, in bytes. Above maxWork nothing matches, and the answer is Unknown.
	work int
}

const (
	maxWork  = 1 << 30 // takes some seconds; what people write takes a thousandth
	compared = 64      // for a program that is compared word by word
)

// matches compares a text with a pattern.
func (l *line) matches(g glob, text string) bool {
	l.work += len(text) + len(g.pieces)
	return l.work <= maxWork && g.match(text)
}

// any is matches for some texts.
func (l *line) any(g glob, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return l.matches(g, text) })
}

// command is one simple command with what it runs: itself, then the programs behind it.
type command struct {
	text     string
	programs []shell.Program
}

// maxPlain is from where Claude Code always asks about a line, in bytes: it does not read it.
const maxPlain = 10_000

func readLine(q Question) *line {
	l := &line{reading: q.Reading, whole: strings.TrimSpace(q.Line)}
	if l.reading == nil {
		reading := shell.Read(q.Line, shell.Bash)
		l.reading = &reading
	}
	for _, p := range l.reading.Programs {
		words := make([]string, 0, len(p.Args))
		for _, a := range p.Args {
			words = append(words, a.Text)
		}
		for _, name := range slices.Compact([]string{p.Path, p.Name}) {
			l.meant = append(l.meant, strings.Join(append([]string{name}, words...), " "))
		}
	}
	if len(l.reading.Programs) == 0 { // such as a line that nests too deeply for a parser
		return l
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(l.whole), "")
	if err != nil {
		return l
	}
	plain := len(l.reading.Unjudged)+len(l.reading.Writes)+len(l.reading.Reads) == 0 && !l.reading.Background && len(l.whole) <= maxPlain
	syntax.Walk(file, func(n syntax.Node) bool { plain = l.visit(n, q.Home) && plain; return true })
	if !plain {
		l.plain = nil
	}
	for i := range l.plain {
		l.plain[i].programs = shell.Read(l.plain[i].text, shell.Bash).Programs
	}
	if slices.ContainsFunc(l.plain, command.open) {
		l.plain = nil
	}
	return l
}

// visit takes the commands out of a node, and reports whether a plain line may have it.
func (l *line) visit(n syntax.Node, home string) bool {
	text := func(from, to syntax.Node) string {
		return strings.TrimSpace(l.whole[from.Pos().Offset():to.End().Offset()])
	}
	switch n := n.(type) {
	case *syntax.Stmt:
		if len(n.Redirs) > 0 {
			l.said = append(l.said, text(n, n))
		}
		return !n.Negated && !n.Background && !n.Coprocess && !n.Disown
	case *syntax.CallExpr:
		l.said = append(l.said, text(n, n))
		if len(n.Args) == 0 {
			return false
		}
		l.meant = append(l.meant, text(n.Args[0], n))
		l.plain = append(l.plain, command{text: text(n, n)})
		return len(n.Assigns) == 0
	case *syntax.DeclClause, *syntax.TestClause, *syntax.LetClause:
		l.said = append(l.said, text(n, n))
		return false
	case *syntax.Word:
		if rest, ok := strings.CutPrefix(n.Lit(), "~/"); ok {
			l.homes = append(l.homes, filepath.Join(home, rest))
		}
		return true
	case *syntax.Redirect:
		return n.Hdoc == nil && slices.Contains([]string{"/dev/null", "1", "2", "-"}, n.Word.Lit())
	case *syntax.Lit:
		return !strings.Contains(n.Value, `\`)
	case *syntax.SglQuoted:
		return !n.Dollar
	case *syntax.DblQuoted:
		return !n.Dollar
	case nil, *syntax.File, *syntax.BinaryCmd:
		return true
	}
	return false
}

// open reports whether a word of what a command runs is not known.
func (c command) open() bool {
	return slices.ContainsFunc(c.programs, func(p shell.Program) bool {
		return slices.ContainsFunc(p.Args, func(a shell.Arg) bool { return !a.Exact })
	})
}

// allowed is what allows all commands of a plain line; false if one of them is not allowed.
func (l *line) allowed(by func(command) (Answer, bool)) (Answer, bool) {
	var first Answer
	for _, c := range l.plain {
		a, ok := by(c)
		if !ok {
			return Answer{}, false
		}
		if first.Rule == "" {
			first = a
		}
	}
	return first, len(l.plain) > 0
}

// decide takes the strictest of what a client finds for its texts, and allows a plain line whose commands it allows. What
// the client itself does not look at is measured only with rules that are about certain commands.
func (l *line) decide(said []string, find func(text string) (found Answer, certain bool)) Answer {
	answer := Answer{Verdict: None}
	for i, text := range slices.Concat(said, l.meant) {
		if found, certain := find(text); found.Verdict > Allow && (certain || i < len(said)) {
			answer = strictest(answer, found)
		}
	}
	allow, ok := l.allowed(func(c command) (Answer, bool) {
		found, _ := find(c.text)
		return found, found.Verdict == Allow
	})
	if ok {
		answer = strictest(answer, allow)
	}
	return answer
}

// runs reports whether the line runs one of some programs.
func (l *line) runs(names string) bool {
	return slices.ContainsFunc(l.reading.Programs, func(p shell.Program) bool { return shell.Among(names, p.Name) })
}

// operands are the literal words of a program that are no options, as the paths that they can be.
func operands(p shell.Program, cwd string) (paths []string) {
	dirs := p.In
	if dirs == nil {
		dirs = []string{""}
	}
	for _, a := range p.Args {
		if a.Exact && a.Text != "" && !a.Begins("-") {
			paths = append(paths, resolve(cwd, dirs, a.Text)...)
		}
	}
	return paths
}

// resolve is where a name can lead from directories that are relative to cwd or absolute.
func resolve(cwd string, dirs []string, name string) (paths []string) {
	for _, dir := range dirs {
		at := name
		for _, base := range []string{dir, cwd} {
			if !filepath.IsAbs(at) {
				at = filepath.Join(base, at)
			}
		}
		paths = append(paths, filepath.Clean(at))
	}
	return paths
}

// within reports whether a path stands below a directory, or is it.
func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}
