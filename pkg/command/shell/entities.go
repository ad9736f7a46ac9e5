package shell

import (
	"html"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

var entity = lazy.Regexp(`&(?:amp|lt|gt|quot|apos|#[0-9]{2,4}|#[xX][0-9a-fA-F]{2,4});`)

// Escaped tells whether a line has HTML entities in the place of the shell's own characters, as some models send it, and gives the line
// without them. The shell takes the & of an entity for an operator, so it would run another line than was meant, or none. Entities in
// quotes, in here-documents and in comments are text, and no sign of it. A line that can be read neither way is not judged.
func Escaped(line string) (meant string, escaped bool) {
	if (&reader{}).unreadable(line, scope{}) != "" || !entity().MatchString(line) {
		return "", false
	}
	meant = entity().ReplaceAllStringFunc(line, html.UnescapeString)
	file, err := parseBash(line)
	if err != nil {
		_, err := parseBash(meant)
		return meant, err == nil
	}
	operator := func(at syntax.Pos) {
		i := int(at.Offset())
		if found := entity().FindStringIndex(line[min(i, len(line)):]); found != nil && found[0] == 0 {
			escaped = true
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			if n.Background {
				operator(n.Semicolon)
			}
		case *syntax.Redirect:
			if op := n.Op.String(); strings.HasSuffix(op, "&") {
				operator(syntax.NewPos(n.OpPos.Offset()+uint(len(op))-1, 1, 1))
			}
		}
		return !escaped
	})
	return meant, escaped
}

func parseBash(text string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}
