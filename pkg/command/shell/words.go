package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
	text                 strings.Builder
	from                 []string
	inexact, many, open  bool
	bracket              bool
	brace, series, close bool
}

func resolve(w *syntax.Word) Arg {
	b := &builder{}
	for i, part := range w.Parts {
		b.part(part, i == 0)
	}
	if b.brace && b.series && b.close {
		return Arg{Many: true, Open: true, from: append(b.from, anything)}
	}
	if b.inexact && b.many && !b.open {
		b.from = append(b.from, anything) // the names of files
	}
	return Arg{Text: b.text.String(), Exact: !b.inexact, Many: b.many, Open: b.many && b.open, from: b.from}
}

func (b *builder) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		if first && strings.HasPrefix(p.Value, "~") {
			b.inexact = true
		}
		b.unquoted(p.Value)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.ansi(p.Value)
			return
		}
		b.write(p.Value)
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
		b.inexact, b.many = true, true
	default:
		b.many, b.open = true, true
		b.unknown(sources(part)...)
	}
}

// unknown says that more comes from somewhere.
func (b *builder) unknown(from ...string) {
	b.inexact = true
	b.from = append(b.from, from...)
}

// write adds to what is known of the word; behind the first unknown character nothing is.
func (b *builder) write(text string) {
	if !b.inexact {
		b.text.WriteString(text)
	}
}

func (b *builder) unquoted(text string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i+1 < len(text) {
				i++
			}
			if text[i] != '\n' {
				b.write(text[i : i+1])
			}
			continue
		case '*', '?':
			b.inexact, b.many = true, true
		case '[':
			b.bracket = true
		case ']':
			if b.bracket { // what stood before it counts for nothing
				b.globbed()
			}
		case '{':
			b.brace = true
		case ',':
			b.series = true
		case '.':
			b.series = b.series || strings.HasPrefix(text[i:], "..")
		case '}':
			b.close = true
		}
		b.write(text[i : i+1])
	}
}

// globbed takes back what follows the bracket of a character class.
func (b *builder) globbed() {
	if !b.inexact {
		known := b.text.String()
		if at := strings.IndexByte(known, '['); at >= 0 {
			known = known[:at]
		}
		b.text.Reset()
		b.text.WriteString(known)
	}
	b.inexact, b.many = true, true
}

func (b *builder) quoted(part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.write(unescape(p.Value, "$`\"\\"))
	case *syntax.ParamExp:
		b.unknown(sources(p)...)
		if !oneField(p) {
			b.many, b.open = true, true
		}
	default:
		b.unknown(sources(part)...)
	}
}

// anything stands for a source that is no variable: the output of a command, an argument, the names of files.
const anything = "*"

// sources are what an expansion's text comes from.
func sources(part syntax.WordPart) []string {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return nil
	case *syntax.ParamExp:
		switch {
		case p.Length || p.Param != nil && Among("# ? $ !", p.Param.Value):
			return nil
		case p.Param == nil || !syntax.ValidName(p.Param.Value) || p.Excl || p.Repl != nil:
			return []string{anything}
		case p.Exp != nil && p.Exp.Word != nil:
			word := resolve(p.Exp.Word)
			if word.Exact && strings.ContainsAny(word.Text, code) {
				return []string{anything}
			}
			return append(word.from, p.Param.Value)
		}
		return []string{p.Param.Value}
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
		b.write(string([]byte{c}))
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
