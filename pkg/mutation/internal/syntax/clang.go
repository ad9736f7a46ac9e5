package syntax

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

var (
	macroPart  = lazy.Regexp(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//.*|/\*(?s:.*?)\*/|\\\r?\n|\.?[0-9](?:[eEpP][+-]|'?[\w.])*|[\w$\x80-\xff]+|\s+|%:%:|<<=|>>=|\.\.\.|->\*|<=>|->|\+\+|--|<<|>>|[<>=!+*/%&|^-]=|&&|\|\||##|::|\.\*|<:|:>|<%|%>|%:|.`)
	macroWord  = lazy.Regexp(`[A-Za-z_$]\w*`)
	macroText  = lazy.Regexp(`(?m)^[ \t]*(?:#|%:)[ \t]*define(?:.*\\\r?\n)*.*[^#'"]#[ \t]*[A-Za-z_]`)
	macroNames = lazy.Regexp(`(?m)^[ \t]*(?:#|%:)[ \t]*define[ \t]+([A-Za-z_]\w*)(?:\(([^()]*)\))?((?:.*\\\r?\n)*.*)`)
)

// directive is what the preprocessor sees of a leaf: no comments, and white space as one space. In code, which has
// brackets, it counts no white space, unless a macro of the file makes texts.
func (b *builder) directive(node treesitter.Node) string {
	text := string(b.src[node.Start:node.End])
	code := strings.ContainsAny(text, "({") && !macroText().Match(b.file())
	var out strings.Builder
	for _, part := range macroPart().FindAllString(text, -1) {
		switch {
		case strings.TrimSpace(part) == "" || strings.HasPrefix(part, "//") || strings.HasPrefix(part, "/*") || strings.HasPrefix(part, "\\\n") || strings.HasPrefix(part, "\\\r"):
			if !strings.HasSuffix(out.String(), " ") && out.String() != "#" {
				out.WriteByte(' ')
			}
		case code && !strings.HasSuffix(out.String(), " "):
			out.WriteString(" " + part + " ")
		case code:
			out.WriteString(part + " ")
		default:
			out.WriteString(part)
		}
	}
	return strings.TrimSpace(out.String()) + " "
}

// preprocess notes the names that macros of the file have, and makes plain text
// of the arguments of what may be a macro.
func (b *builder) preprocess() {
	own, used, texts := set{}, set{}, macroText().Match(b.file())
	for _, m := range macroNames().FindAllSubmatch(b.file(), -1) {
		own[string(m[1])] = true
		used[string(m[1])] = true
		given := setOf(macroWord().FindAllString(string(m[2]), -1)...)
		for _, word := range macroWord().FindAllString(string(m[3]), -1) {
			used[word] = used[word] || !given[word]
		}
	}
	b.macros = used
	functions := set{}
	for _, d := range b.defs {
		functions[d.name] = functions[d.name] || d.kind == "function"
	}
	for i := 1; i+1 < len(b.tokens); i++ {
		t := &b.tokens[i]
		kind, name := "", b.text(t)
		if t.flags&named != 0 && b.tokens[i-1].flags&opens != 0 {
			kind = b.tree.Grammar.Symbols[b.tokens[i-1].symbol]
		}
		if t.flags&opens != 0 && b.tree.Grammar.Symbols[t.symbol] == "function_definition" {
			b.typeless(i)
		}
		may := own[name] || len(b.headers.of(name)) > 0 || b.macroCalls.MatchString(name) && !functions[name]
		if !may || kind != "call_expression" && kind != "expression_statement" {
			continue
		}
		known := b.macroKnown != nil && b.macroKnown.MatchString(name)
		plain := !own[name] && b.headers.every(name, func(m macro) bool { return m.plain })
		if kind == "call_expression" && !plain && (own[name] || !known || len(b.headers.of(name)) > 0) {
			b.given(i+1, texts && own[name] || b.headers.any(name, func(m macro) bool { return m.spaces }))
		}
		if !own[name] && !known && len(b.headers.of(name)) == 0 {
			t.flags |= wild
		}
	}
}

// typeless finds what looks like the definition of a function without a type:
// TEST(a, b) { … } is a macro, which can do more than to define one.
func (b *builder) typeless(open int) {
	declarator, name := &b.tokens[open+1], &b.tokens[min(open+2, len(b.tokens)-1)]
	if b.tree.Grammar.Symbols[declarator.symbol] == "function_declarator" && name.flags&named != 0 &&
		(b.scopes[b.scopes[declarator.scope].parent].kind == fileScope || b.macroCalls.MatchString(b.text(name))) {
		name.flags |= wild
	}
}

// given makes plain text of the arguments that begin at a token.
func (b *builder) given(open int, spaces bool) {
	for i, deep := open, 0; i < len(b.tokens); i++ {
		t := &b.tokens[i]
		t.flags &^= named | member | neutral | keyword
		if spaces && t.start > 0 && t.flags&(opens|closes) == 0 && strings.IndexByte(" \t\r\n", b.src[t.start-1]) >= 0 {
			t.flags |= spaced
		}
		switch {
		case t.flags&opens != 0:
			deep++
		case t.flags&closes != 0:
			deep--
		}
		if deep == 0 {
			break
		}
	}
}
