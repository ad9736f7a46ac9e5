package mutation_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Operators that can stand in each other's place.
var operatorKinds = [][]string{
	{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "&^"},
	{"==", "!=", "<", "<=", ">", ">="},
	{"&&", "||"},
	{"=", ":=", "+=", "-=", "*=", "|="},
	{"++", "--"},
	{"break", "continue", "goto", "fallthrough", "return"},
	{"go", "defer"},
	{"var", "const"},
	{"if", "for", "switch"},
	{"chan", "map"},
	{"struct", "interface"},
	{"{", "}"}, {"(", "["}, {")", "]"}, {",", ";", ":", "."},
}

// mutate changes one token of a file. What it did is for people.
func mutate(r *rand.Rand, content []byte, tokens []lexeme) (after []byte, what string) {
	i := r.IntN(len(tokens))
	t := tokens[i]
	put := func(text string) []byte {
		return slices.Concat(content[:t.from], []byte(text), content[t.to:])
	}
	kind := r.IntN(10)
	switch {
	case t.afterBreak:
		if i+1 >= len(tokens) {
			return content, ""
		}
		return put(" "), "joined two lines" // which is nothing where a break follows
	case kind == 0:
		return put(" "), "deleted " + t.text
	case kind == 1:
		return put(t.text + " " + t.text), "doubled " + t.text
	case kind == 2 && i+1 < len(tokens) && !tokens[i+1].afterBreak:
		u := tokens[i+1]
		return slices.Concat(content[:t.from], []byte(u.text+" "+t.text+" "), content[u.to:]), "swapped " + t.text + " and " + u.text
	case t.token == token.IDENT:
		other := randomName(r, tokens)
		return put(other), "name " + t.text + " to " + other
	case t.token == token.STRING:
		return put(`"` + strconv.Itoa(r.IntN(1000)) + `"`), "string " + t.text
	case t.token == token.INT || t.token == token.FLOAT:
		return put(t.text + strconv.Itoa(1+r.IntN(9))), "number " + t.text
	case t.token == token.CHAR:
		return put("'" + string(rune('a'+r.IntN(26))) + "'"), "character " + t.text
	}
	for _, kind := range operatorKinds {
		if slices.Contains(kind, t.text) {
			other := kind[r.IntN(len(kind))]
			return put(other), t.text + " to " + other
		}
	}
	return put(" "), "deleted " + t.text
}

func randomName(r *rand.Rand, tokens []lexeme) string {
	if r.IntN(4) == 0 {
		return "zq" + strconv.Itoa(r.IntN(1000))
	}
	if r.IntN(10) == 0 {
		return []string{"len", "nil", "true", "string", "int", "append", "error", "_", "init", "main"}[r.IntN(10)]
	}
	for range 200 {
		if t := tokens[r.IntN(len(tokens))]; t.token == token.IDENT {
			return t.text
		}
	}
	return "zq"
}

// capture renames all occurrences of one name to another name of the file, or
// some of them: what a careless rename does.
func capture(r *rand.Rand, content []byte, tokens []lexeme) (after []byte, what string) {
	from, to := randomName(r, tokens), randomName(r, tokens)
	first, last := 0, len(tokens)
	if r.IntN(2) == 0 { // a part of the file
		first = r.IntN(len(tokens))
		last = min(len(tokens), first+r.IntN(400))
	}
	return replaceTokens(content, tokens, func(i int, t lexeme) string {
		if t.token == token.IDENT && t.text == from && i >= first && i < last {
			return to
		}
		return t.text
	}), fmt.Sprintf("%s to %s in tokens %d to %d", from, to, first, last)
}

func replaceTokens(content []byte, tokens []lexeme, text func(int, lexeme) string) []byte {
	var b strings.Builder
	at := 0
	for i, t := range tokens {
		if t.afterBreak {
			continue
		}
		b.Write(content[at:t.from])
		b.WriteString(text(i, t))
		at = t.to
	}
	b.Write(content[at:])
	return []byte(b.String())
}

// reformat writes the tokens of a file in another layout, with other comments.
func reformat(r *rand.Rand, content []byte, tokens []lexeme) []byte {
	var b strings.Builder
	space := func(canBreak bool) {
		switch n := r.IntN(8); {
		case n == 0 && canBreak:
			b.WriteString("\n")
		case n == 1 && canBreak:
			b.WriteString(" // a comment\n\n\t")
		case n == 2:
			b.WriteString(" /* another */ ")
		case n == 3:
			b.WriteString("\t  ")
		default:
			b.WriteString(" ")
		}
	}
	for _, t := range tokens {
		if t.afterBreak {
			b.WriteString([]string{"\n", ";", ";\n\n", "\n\n"}[r.IntN(4)])
			continue
		}
		b.WriteString(respelled(r, t))
		space(!endsStatement(t))
	}
	b.WriteString("\n")
	return []byte(b.String())
}

// respelled is a string in the other kind of quotes, now and then.
func respelled(r *rand.Rand, t lexeme) string {
	if t.token != token.STRING || r.IntN(2) == 0 {
		return t.text
	}
	value, err := strconv.Unquote(t.text)
	if err != nil {
		return t.text
	}
	if t.text[0] == '"' && strconv.CanBackquote(value) {
		return "`" + value + "`"
	}
	return strconv.Quote(value)
}

// endsStatement tells whether a line break behind a token is a semicolon.
func endsStatement(t lexeme) bool {
	switch t.token {
	case token.IDENT, token.INT, token.FLOAT, token.IMAG, token.CHAR, token.STRING, token.BREAK, token.CONTINUE, token.FALLTHROUGH,
		token.RETURN, token.INC, token.DEC, token.RPAREN, token.RBRACK, token.RBRACE:
		return true
	}
	return false
}

// reorder shuffles the functions, methods and types of a file among
// themselves, with their comments.
func reorder(r *rand.Rand, c *checked, file string, content []byte) []byte {
	f := c.files[file]
	type block struct{ from, to int }
	var blocks []block
	offset := func(p token.Pos) int { return c.fset.PositionFor(p, false).Offset }
	for _, d := range f.Decls {
		gen, isGen := d.(*ast.GenDecl)
		if fn, ok := d.(*ast.FuncDecl); ok && (fn.Name.Name == "init" || fn.Body == nil) || isGen && gen.Tok != token.TYPE {
			continue
		}
		blocks = append(blocks, block{offset(d.Pos()), offset(d.End())})
	}
	if len(blocks) < 2 {
		return nil
	}
	order := r.Perm(len(blocks))
	var b strings.Builder
	at := 0
	for i, old := range blocks {
		b.Write(content[at:old.from])
		b.Write(content[blocks[order[i]].from:blocks[order[i]].to])
		at = old.to
	}
	b.Write(content[at:])
	return []byte(b.String())
}
