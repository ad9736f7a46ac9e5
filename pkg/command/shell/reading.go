package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read. What exceeds them is unjudged.
const (
	maxBytes    = 128 << 10 // of one text
	maxTotal    = 512 << 10 // of all texts together, those inside of others included
	maxOpeners  = 10_000    // of what can nest
	maxDepth    = 16        // of texts inside of texts, and of programs that run programs
	maxNodes    = 1_000     // of the parsed text, one in another: what a command reads and writes is asked at each
	maxPrograms = 20_000
	maxPlaces   = 16 // of directories that a command can run in
)

// Dialect is what a shell speaks.
type Dialect string

// The dialects. A shell called sh can be dash, ash or bash, which differ in what they take for an expansion: a line for
// it is read both ways, and all that either can run counts.
const (
	Bash  Dialect = "bash"
	POSIX Dialect = "posix"
)

// Reading is what a line can do, as far as the line says.
type Reading struct {
	// Programs are the simple commands, builtins and functions included, in the order in which they were found, each
	// once. A program that runs another stands before it.
	Programs []Program
	// Writes and Reads are the files of redirections with a literal name, relative to where the line starts or
	// absolute, not cleaned. Devices such as /dev/null and file descriptors are left out.
	Writes, Reads []string
	// Unjudged says of each construct that hides a program or a written file what it is, each once. Empty: none does.
	Unjudged []string
	// Background: something runs on behind the line's own end.
	Background bool
}

// Program is one simple command.
type Program struct {
	// Name is the last element of Path: what rules name.
	Name string
	// Path is the first word, quotes and escapes resolved.
	Path string
	Args []Arg
	// ByGit: a git command of the line runs it (rebase --exec), and nothing else does.
	ByGit bool
	// In are the directories that it can run in, relative to where the line starts ("" is that one itself) or absolute;
	// none where that is not known. Of a function or other code for later it is where that stands.
	In []string
}

// Arg is one word behind a program.
type Arg struct {
	// Text is the word if Exact, else how it begins.
	Text  string
	Exact bool
	// Many: it can become any number of words. Without Open each of them begins with Text (a glob).
	Many bool
	// Open: with Many, nothing is known of the words.
	Open bool

	from []string // the sources of its text: variables, and what is none
}

// Literal returns the arguments up to the first that is not known.
func (p Program) Literal() []string {
	var words []string
	for _, a := range p.Args {
		if !a.Exact {
			break
		}
		words = append(words, a.Text)
	}
	return words
}

// String is the program with its arguments as far as known.
func (p Program) String() string {
	words := append([]string{p.Path}, p.Literal()...)
	if len(words) <= len(p.Args) {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

// Read reads a line for a shell of a dialect.
func Read(line string, dialect Dialect) (reading Reading) {
	r := &reader{out: &reading, seen: map[string]int{}, left: maxTotal, values: newValues()}
	defer func() {
		if p := recover(); p != nil {
			reading.Unjudged = append(reading.Unjudged, fmt.Sprintf("the line cannot be read: %v", p))
		}
	}()
	r.text(line, dialect, scope{in: places{known: []string{""}}})
	r.finish()
	return reading
}

// reader collects a Reading.
type reader struct {
	out  *Reading
	seen map[string]int // where in out.Programs
	left int            // bytes that may still be parsed
	values
	inGit int // how deep in what git runs

	pending []redirected
	// moves counts what changes the directory of the shell that is read at the moment, moved whether anything ever did.
	moves int
	moved bool
	// functions: one is declared in the line. roams: one of them, or other code for later, changes the directory.
	functions, roams bool
	deferred         int // how deep in code that runs at another time than where it stands
}

// scope is what holds around a command.
type scope struct {
	in      places
	depth   int
	dialect Dialect
}

// at is the scope with another directory.
func (s scope) at(in places) scope { s.in = in; return s }

// text reads a text as code.
func (r *reader) text(text string, dialect Dialect, s scope) flow {
	s.depth++
	r.left -= len(text)
	if why := r.unreadable(text, s); why != "" {
		r.unjudged("%s", why)
		return lost
	}
	s.dialect = dialect
	if dialect == Bash {
		return r.parse(text, syntax.LangBash, s)
	}
	r.parse(text, syntax.LangBash, s)
	return r.parse(text, syntax.LangPOSIX, s)
}

func (r *reader) unreadable(text string, s scope) string {
	switch {
	case len(text) > maxBytes || r.left < 0:
		return "the line is too long to be read"
	case s.depth > maxDepth:
		return "commands are nested too deeply to be read"
	case !utf8.ValidString(text):
		return "the line is not UTF-8"
	case strings.ContainsRune(text, 0):
		return "the line has a NUL byte"
	case strings.ContainsRune(text, '\r'):
		return "the line has a carriage return"
	case continuedComment(text):
		return "a comment ends in a backslash"
	case openers(text) > maxOpeners:
		return "the line has too many constructs that can nest"
	}
	return ""
}

// continuedComment finds a # with a backslash at the end of its line. The shells end a comment there; the parser takes it
// for continued, and would read what follows as something else.
func continuedComment(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "\\\n") && strings.Contains(line, "#") {
			return true
		}
	}
	return false
}

// openers counts what can begin a level of nesting: the parser recurses, and a goroutine's stack is not to be trusted with any depth.
func openers(text string) (n int) {
	all := "( { $ ` ? ! [ - ~ & |"
	if len(text) > maxOpeners {
		all += " if while until for case select time coproc function"
	}
	for opener := range strings.FieldsSeq(all) {
		n += strings.Count(text, opener)
	}
	return n
}

func (r *reader) parse(text string, lang syntax.LangVariant, s scope) flow {
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	switch {
	case err == nil && nested(file) > maxNodes:
		r.unjudged("commands are nested too deeply to be read")
		return lost
	case err == nil:
		return r.stmts(file.Stmts, s)
	}
	r.unjudged("the line cannot be parsed to its end, and the shell runs what stands before: %s", clip(err.Error()))
	var before []*syntax.Stmt
	_ = syntax.NewParser(syntax.Variant(lang)).Stmts(strings.NewReader(text), func(s *syntax.Stmt) bool { before = append(before, s); return true })
	r.stmts(before, s)
	return lost
}

// nested is how many nodes of a file stand in one another.
func nested(file *syntax.File) (most int) {
	depth := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		most = max(most, depth)
		return true
	})
	return most
}

func (r *reader) unjudged(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if len(r.out.Unjudged) < 100 && !slices.Contains(r.out.Unjudged, why) {
		r.out.Unjudged = append(r.out.Unjudged, why)
	}
}

func (r *reader) program(words []Arg, in places) {
	p := Program{Name: path.Base(words[0].Text), Path: words[0].Text, Args: words[1:], In: in.known, ByGit: r.inGit > 0}
	key := fmt.Sprintf("%q %v", p.Path, p.Args)
	if at, seen := r.seen[key]; seen {
		known := &r.out.Programs[at]
		known.ByGit = known.ByGit && p.ByGit
		known.In = places{known: known.In, unknown: known.In == nil}.or(in).known
		return
	}
	if len(r.out.Programs) >= maxPrograms {
		r.unjudged("the line has more than %d commands", maxPrograms)
		return
	}
	r.seen[key] = len(r.out.Programs)
	r.out.Programs = append(r.out.Programs, p)
}

func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
