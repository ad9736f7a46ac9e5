package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// words reads the words of a simple command.
func (r *reader) words(list []*syntax.Word, s scope) []Arg {
	args := make([]Arg, 0, len(list))
	for _, w := range list {
		args = append(args, r.word(w, s))
	}
	return args
}

// word resolves a word as far as it is literal, and reads the code in it.
func (r *reader) word(w *syntax.Word, s scope) Arg {
	if w == nil {
		return Arg{Exact: true}
	}
	r.inside(w, s)
	return resolve(w)
}

// inside reads the code in a node that is no command itself: substitutions and arithmetic.
func (r *reader) inside(n syntax.Node, s scope) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.ReplyVar || n.TempFile {
				r.unjudged("the substitution ${ …; } is not read")
			}
			r.subshell(n.Stmts, s)
			return false
		case *syntax.ProcSubst:
			r.out.Background = true
			r.subshell(n.Stmts, s)
			return false
		case *syntax.ParamExp:
			r.expansion(n)
		case *syntax.ArithmExp:
			r.arithmetic(n.X)
		case *syntax.ArithmCmd:
			r.arithmetic(n.X)
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				r.arithmetic(x)
				r.let(x)
			}
		case *syntax.CStyleLoop:
			r.arithmetic(n.Init)
			r.arithmetic(n.Cond)
			r.arithmetic(n.Post)
		case *syntax.BinaryTest:
			r.binaryTest(n)
		case *syntax.UnaryTest:
			r.unaryTest(n)
		}
		return true
	})
}

// let judges an expression of let: what the parser takes for its comparisons and bits are redirections and pipes to bash.
func (r *reader) let(x syntax.ArithmExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if b, ok := n.(*syntax.BinaryArithm); ok && strings.ContainsAny(b.Op.String(), "<>&|") {
			r.unjudged("let has %s without quotes, which is not read", b.Op)
		}
		return true
	})
}

// builder puts an Arg together.
type builder struct {
	text, bare strings.Builder // all that is literal, and the same with an x for each byte that is quoted
	known      int             // how much of it stands before all that is not, -1 for everything
	from       []string
	many, open bool
}

// braces are expanded to several words, globs to the names of files.
var (
	braces = lazy.Regexp(`(?s)\{.*(?:,|\.\.).*\}`)
	globs  = lazy.Regexp(`(?s)[*?]|\[.*\]`)
)

func resolve(w *syntax.Word) Arg {
	b := &builder{known: -1}
	for i, part := range w.Parts {
		b.part(part, i == 0)
	}
	text, bare := b.text.String(), b.bare.String()
	if strings.ContainsAny(text, code) {
		b.from = append(b.from, anything)
	} else if strings.Trim(text, "0123456789") != "" {
		b.from = append(b.from, wording)
	}
	if braces().MatchString(bare) {
		return Arg{Many: true, Open: true, from: append(b.from, anything)}
	}
	if at := globs().FindStringIndex(bare); at != nil {
		b.many = true
		b.unknown(anything)
		b.known = min(b.known, at[0])
	}
	if b.known < 0 {
		return Arg{Text: text, Exact: true, from: b.from}
	}
	return Arg{Text: text[:b.known], Many: b.many, Open: b.open, from: b.from}
}

func (b *builder) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		if first && strings.HasPrefix(p.Value, "~") {
			b.unknown()
		}
		b.unquoted(p.Value)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.ansi(p.Value)
			return
		}
		b.quote(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.unknown(anything)
		}
		for _, inner := range p.Parts {
			b.quoted(inner)
		}
	case *syntax.ProcSubst, *syntax.ArithmExp:
		b.unknown(sources(p)...)
	case *syntax.ExtGlob:
		b.many = true
		b.unknown(anything)
	default:
		b.many, b.open = true, true
		b.unknown(sources(part)...)
	}
}

// unknown says that more comes from somewhere.
func (b *builder) unknown(from ...string) {
	if b.known < 0 {
		b.known = b.text.Len()
	}
	b.from = append(b.from, from...)
}

// quote adds text that means nothing else.
func (b *builder) quote(text string) {
	b.text.WriteString(text)
	b.bare.WriteString(strings.Repeat("x", len(text)))
}

func (b *builder) unquoted(text string) {
	for {
		plain, escaped, found := strings.Cut(text, `\`)
		b.text.WriteString(plain)
		b.bare.WriteString(plain)
		switch {
		case !found:
			return
		case escaped == "":
			b.quote(`\`)
		case escaped[0] != '\n':
			b.quote(escaped[:1])
		}
		text = escaped[min(1, len(escaped)):]
	}
}

func (b *builder) quoted(part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.quote(unescape(p.Value, "$`\"\\"))
	case *syntax.ParamExp:
		b.unknown(sources(p)...)
		if !oneField(p) {
			b.many, b.open = true, true
		}
	default:
		b.unknown(sources(part)...)
	}
}

// sources are what an expansion's text comes from.
func sources(part syntax.Node) []string {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return nil
	case *syntax.CmdSubst:
		if counts(p) {
			return []string{count}
		}
	case *syntax.ParamExp:
		switch {
		case p.Length || p.Param != nil && Among("# ? $ !", p.Param.Value):
			return nil
		case p.Param == nil || !syntax.ValidName(p.Param.Value) || p.Excl || p.Repl != nil:
		case p.Exp != nil && p.Exp.Word != nil:
			return append(resolve(p.Exp.Word).from, p.Param.Value)
		default:
			return []string{p.Param.Value}
		}
	}
	return []string{anything}
}

// oneField reports whether a quoted expansion is one word, whatever its value.
func oneField(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Param.Value != "@" && p.Index == nil && !p.Excl && p.Names == 0 &&
		p.Slice == nil && p.Repl == nil && (p.Exp == nil || p.Exp.Word == nil || resolve(p.Exp.Word).Exact)
}

// unescape drops the backslash before the given characters and with a newline.
func unescape(text, special string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, text[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// ansi adds the text of $'…'. Escapes beyond the plainest differ between shells and locales.
func (b *builder) ansi(text string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			i++
			if i == len(text) {
				b.unknown(anything)
				return
			}
			switch text[i] {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case '\\', '\'', '"':
				c = text[i]
			default:
				b.unknown(anything)
				return
			}
		}
		b.quote(string([]byte{c}))
	}
}

// operands are the words behind a first "--", if there is one.
func operands(args []Arg) []Arg {
	if len(args) > 0 && args[0].Is("--") {
		return args[1:]
	}
	return args
}

// Is reports whether the word is known, and one of a list with blanks between.
func (a Arg) Is(words string) bool { return a.Exact && Among(words, a.Text) }

// Begins reports whether what is known of the word begins with one of a list with blanks between.
func (a Arg) Begins(prefixes string) bool { return begins(a.Text, prefixes) }

func begins(text, prefixes string) bool {
	for prefix := range strings.FieldsSeq(prefixes) {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// Among reports whether a list of words with blanks between them has a word.
func Among(list, word string) bool { return slices.Contains(strings.Fields(list), word) }
