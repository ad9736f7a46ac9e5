package golang

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// source is one parsed file.
type source struct {
	path string
	fset *token.FileSet
	ast  *ast.File
	// marks are the comments that mean something, in order.
	marks []mark
	next  int // the first mark that no declaration has taken
	// header are those before the package clause.
	header []string
	// nameLimits is the part of the file's name that limits where it is built.
	nameLimits string
	imports    []string
	cgo        bool
	// strings are the values of its string literals.
	strings []string
	// bases are the undeclared names in front of selectors.
	bases []*tree.Node
	index int // among the files of the package
}

// mark is a comment that a compiler or a tool obeys.
type mark struct {
	at   token.Pos
	text string
}

func (f *source) line(at token.Pos) int { return f.fset.PositionFor(at, false).Line }

func (f *source) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// parse reads a file, up to a nesting of depth. The parser recurses much
// deeper, and cannot be stopped; so what is clearly too deep never gets there.
func parse(name string, content []byte, depth int) (*source, error) {
	if opened(content) > 10*depth {
		return nil, errDeep
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "", content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, parseError(err)
	}
	f := &source{path: name, fset: fset, ast: tree, nameLimits: nameLimits(name)}
	f.findMarks(content)
	return f, nil
}

// opened is how many brackets are open at once, those in strings and comments
// counted as well.
func opened(content []byte) (most int) {
	open := 0
	for _, b := range content {
		switch b {
		case '(', '[', '{':
			open++
			most = max(most, open)
		case ')', ']', '}':
			open--
		}
	}
	return most
}

func parseError(err error) error {
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 { //nolint:errorlint // the parser returns it as it is
		return fmt.Errorf("line %d: %s", list[0].Pos.Line, list[0].Msg)
	}
	return err
}

// directive is the form that Go's tools obey: no space behind the slashes, a
// word, a colon, a word. The older ones have forms of their own.
var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^//([a-z0-9]+:[a-z0-9]|line |export |extern |sys(nb)?\s|nolint\b)|^/\*line |^//\s*(\+build\b|#nosec)|^// Code generated .* DO NOT EDIT\.$`)
})

// findMarks keeps the comments that are directives, and those of examples,
// whose last one says what the example must print.
func (f *source) findMarks(content []byte) {
	examples := f.examples()
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			inExample := slices.ContainsFunc(examples, func(body *ast.BlockStmt) bool { return body.Pos() <= c.Pos() && c.End() <= body.End() })
			isImportComment := f.line(c.Pos()) == f.line(f.ast.Name.End()) && c.Pos() > f.ast.Name.End() && strings.Contains(c.Text, "import")
			if !inExample && !isImportComment && !directive().MatchString(c.Text) {
				continue
			}
			text := c.Text
			if inExample {
				text = strings.Join(strings.Fields(text), " ")
			}
			m := mark{c.Pos(), text + f.stands(content, group, c)}
			if c.Pos() < f.ast.Package || isImportComment {
				f.header = append(f.header, m.text)
			} else {
				f.marks = append(f.marks, m)
			}
		}
	}
}

// stands says what of a directive's place could matter: whether it begins its
// line, at the first column or not, and whether a blank line follows where the
// package clause is next.
func (f *source) stands(content []byte, group *ast.CommentGroup, c *ast.Comment) string {
	where := f.fset.PositionFor(c.Pos(), false)
	start := where.Offset - (where.Column - 1)
	place := ""
	if strings.TrimSpace(string(content[start:where.Offset])) != "" {
		place = " (behind code)"
	} else if where.Column > 1 && strings.Contains(c.Text[:min(7, len(c.Text))], "line ") {
		place = " (indented)"
	}
	if c.Pos() < f.ast.Package && f.line(group.End())+1 >= f.line(f.ast.Package) {
		place += " (above the package clause)"
	}
	return place
}

func (f *source) examples() (bodies []*ast.BlockStmt) {
	if !f.isTest() {
		return nil
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil && strings.HasPrefix(fn.Name.Name, "Example") {
			bodies = append(bodies, fn.Body)
		}
	}
	return bodies
}

// takeMarks returns the marks before end that nothing took yet, as nodes.
func (f *source) takeMarks(end token.Pos) (nodes []*tree.Node) {
	for f.next < len(f.marks) && f.marks[f.next].at < end {
		m := f.marks[f.next]
		nodes = append(nodes, &tree.Node{Kind: "directive", Text: m.text, Literal: true, Line: f.line(m.at)})
		f.next++
	}
	return nodes
}

// mentions tells whether a directive has the name as a word.
func (f *source) mentions(name string) bool {
	names := func(text string) bool {
		return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !isNamePart(r) }), name)
	}
	return slices.ContainsFunc(f.header, names) || slices.ContainsFunc(f.marks, func(m mark) bool { return names(m.text) })
}

func isNamePart(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
}

// nameLimits is everything in a file's name that the go command could take for
// a system, an architecture or a test: all behind the first underscore. It is
// fixed together with a leading underscore or dot, which hides the file.
func nameLimits(name string) string {
	base := path.Base(name)
	_, limits, _ := strings.Cut(strings.TrimSuffix(base, ".go"), "_")
	if strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") {
		limits = "hidden " + limits
	}
	return limits
}

// importsPlainly tells whether a package of the standard library is imported
// under its own name.
func (f *source) importsPlainly(name string) bool {
	return slices.Contains(f.imports, " "+strconv.Quote(name))
}
