package mutation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/printer"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// program is a package of Go's own tree, which is the ground truth for what a
// change of one of its files means: the compiler's front end says what each
// name stands for.
type program struct {
	dir, path string
	contents  map[string][]byte
	names     []string
	around    *packageOnly
}

// checked is a program after type checking, with its tokens.
type checked struct {
	fset  *token.FileSet
	files map[string]*ast.File
	info  *types.Info
	pkg   *types.Package
	errs  []error
	// relations are worked out when first asked for.
	relations *kin
}

func loadProgram(t testing.TB, importPath string) *program {
	t.Helper()
	dir := filepath.Join(runtime.GOROOT(), "src", filepath.FromSlash(importPath)) //nolint:staticcheck // the tree of the go command that runs the test
	ctx := build.Default
	ctx.CgoEnabled = false
	found, err := ctx.ImportDir(dir, 0)
	if err != nil {
		t.Skipf("no source of %s: %v", importPath, err)
	}
	p := &program{dir: dir, path: importPath, contents: map[string][]byte{}, names: found.GoFiles}
	for _, name := range found.GoFiles {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		p.contents[name] = content
	}
	return p
}

// packageOnly shows the other files of a package, and nothing that has a name.
type packageOnly struct{ memory }

func (packageOnly) Mention(context.Context, *mutation.Words, func(string) bool) (*mutation.Mention, error) {
	return nil, errors.New("nothing is looked for")
}

// others are the files of the program's directory, also those of other builds.
func (p *program) others(t testing.TB) mutation.Surroundings {
	if p.around == nil {
		p.around = &packageOnly{directory(t, p.dir)}
	}
	return p.around
}

// judge compares two versions of a file among the others.
func (p *program) judge(t testing.TB, name string, before, after []byte) mutation.Verdict {
	return mutation.JudgeAmong(t.Context(), []mutation.File{{Path: name, Before: before, After: after}}, p.others(t), patient())
}

var (
	imports     types.Importer
	importsOnce sync.Once
	importsLock sync.Mutex
)

// check type-checks the program with some files replaced.
func (p *program) check(replaced map[string][]byte) (*checked, error) {
	importsOnce.Do(func() {
		build.Default.CgoEnabled = false
		imports = importer.ForCompiler(token.NewFileSet(), "source", nil)
	})
	importsLock.Lock()
	defer importsLock.Unlock()
	c := &checked{fset: token.NewFileSet(), files: map[string]*ast.File{}, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}}
	var list []*ast.File
	for _, name := range p.names {
		content := p.contents[name]
		if r, ok := replaced[name]; ok {
			content = r
		}
		f, err := parser.ParseFile(c.fset, name, content, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.files[name] = f
		list = append(list, f)
	}
	conf := types.Config{Importer: imports, Error: func(err error) { c.errs = append(c.errs, err) }, FakeImportC: true}
	c.pkg, _ = conf.Check(p.path, c.fset, list, c.info)
	return c, nil
}

// names lists the identifiers of a file in order, each with the place of the
// declaration that it stands for; "" for what the universe declares.
func (c *checked) bindings(file string) (names []string, meant []types.Object) {
	ast.Inspect(c.files[file], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
			o := c.info.Uses[id]
			if o == nil {
				o = c.info.Defs[id]
			}
			if v, ok := o.(*types.Var); ok {
				o = v.Origin()
			} else if f, ok := o.(*types.Func); ok {
				o = f.Origin()
			}
			meant = append(meant, o)
		}
		return true
	})
	return names, meant
}

// sameMeaning says why a file that differs from the program's own only in
// names does not mean the same, by the type checker. Where the verdict is local
// only, the other files are made to use the new names.
func (p *program) sameMeaning(file string, after []byte, local bool) error {
	b, err := p.check(nil)
	if err != nil {
		return err
	}
	changed := map[string][]byte{file: after}
	if local {
		names := renamedObjects(b, file, after)
		for _, other := range p.names {
			if other != file && p.uses(other, names) {
				return sameInFile(p, b, file, after) // a rename there takes more than this name
			}
		}
		for _, other := range p.names {
			if other != file {
				changed[other] = applyNames(b, other, p.contents[other], names)
			}
		}
	}
	a, err := p.check(changed)
	if err != nil {
		return err
	}
	if len(b.errs) > 0 {
		return fmt.Errorf("the program did not compile before: %w", b.errs[0])
	}
	if len(a.errs) > 0 {
		return fmt.Errorf("it does not compile any more: %w", a.errs[0])
	}
	for _, name := range p.names {
		if err := sameBindings(b, a, name); err != nil {
			return err
		}
	}
	return nil
}

// uses tells whether a file has one of the new names already.
func (p *program) uses(file string, names map[types.Object]string) bool {
	for _, l := range lexemes(p.contents[file]) {
		for _, name := range names {
			if l.token == token.IDENT && l.text == name {
				return true
			}
		}
	}
	return false
}

// sameInFile compares one file only.
func sameInFile(p *program, b *checked, file string, after []byte) error {
	a, err := p.check(map[string][]byte{file: after})
	if err != nil {
		return err
	}
	return sameBindings(b, a, file)
}

// renamedObjects are those that a file declares, with their new names.
func renamedObjects(b *checked, file string, after []byte) map[types.Object]string {
	names, meant := b.bindings(file)
	f, err := parser.ParseFile(token.NewFileSet(), file, after, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	renamed, i := map[types.Object]string{}, 0
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if i < len(names) && meant[i] != nil && id.Name != names[i] && meant[i].Pkg() == b.pkg {
				renamed[meant[i]] = id.Name
			}
			i++
		}
		return true
	})
	return renamed
}

func sameBindings(b, a *checked, file string) error {
	beforeNames, before := b.bindings(file)
	afterNames, after := a.bindings(file)
	if len(before) != len(after) {
		return fmt.Errorf("%d names became %d", len(before), len(after))
	}
	forth, back := map[types.Object]types.Object{}, map[types.Object]types.Object{}
	for i := range before {
		x, y := before[i], after[i]
		if x == nil || y == nil {
			if (x == nil) != (y == nil) {
				return fmt.Errorf("name %d, %s, became %s", i, beforeNames[i], afterNames[i])
			}
			continue
		}
		if known, ok := forth[x]; ok && known != y {
			return fmt.Errorf("%s was one thing and is two: %s", beforeNames[i], afterNames[i])
		}
		if known, ok := back[y]; ok && known != x {
			return fmt.Errorf("%s is one thing and was two: %s", afterNames[i], beforeNames[i])
		}
		forth[x], back[y] = y, x
		if x.Pkg() != b.pkg && (x.Name() != y.Name() || (x.Pkg() == nil) != (y.Pkg() == nil) || x.Pkg() != nil && x.Pkg().Path() != y.Pkg().Path()) {
			return fmt.Errorf("%s of %v became %s of %v", x.Name(), x.Pkg(), y.Name(), y.Pkg())
		}
	}
	return nil
}

// printed is a file's syntax without comments in the layout of gofmt.
func printed(content []byte) (string, bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", content, parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	var text bytes.Buffer
	if err := printer.Fprint(&text, fset, f); err != nil {
		return "", false
	}
	return strings.Join(strings.Fields(text.String()), " "), true
}

// lexeme is a token as it stands in a file.
type lexeme struct {
	token      token.Token
	from, to   int
	text       string
	afterBreak bool // a semicolon that the line's end stands for
}

func lexemes(content []byte) (list []lexeme) {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return list
		}
		from := file.Offset(pos)
		l := lexeme{token: tok, from: from, text: text}
		switch {
		case tok == token.SEMICOLON && text == "\n":
			l.afterBreak, l.to = true, from
		case text == "":
			l.text = tok.String()
			l.to = from + len(l.text)
		case tok == token.STRING && text[0] == '`':
			l.to = from + 1 + bytes.IndexByte(content[from+1:], '`') + 1
			l.text = string(content[from:l.to])
		default:
			l.to = from + len(text)
		}
		list = append(list, l)
	}
}
