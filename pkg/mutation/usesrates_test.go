package mutation_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// TestRatesUses renames package-level names of Go's own tree in all files that
// the type checker sees, and judges them among the others of the directory. It
// counts how many are proven; whether one is proven-local is for the files that
// still have the name to say.
func TestRatesUses(t *testing.T) {
	rates := map[string]*rate{}
	reasons := map[string]int{}
	for _, importPath := range goPackages() {
		p := loadProgram(t, importPath)
		p.addTests(t)
		c, err := p.check(nil)
		if err != nil || len(c.errs) > 0 {
			p = loadProgram(t, importPath)
			if c, err = p.check(nil); err != nil || len(c.errs) > 0 {
				continue
			}
		}
		around := directory(t, p.dir)
		count := 0
		for _, name := range c.pkg.Scope().Names() {
			o := c.pkg.Scope().Lookup(name)
			if strings.HasSuffix(c.fset.Position(o.Pos()).Filename, "_test.go") || name == "main" {
				continue
			}
			if count++; count > 25 && !long() {
				break
			}
			kind := strings.TrimPrefix(fmt.Sprintf("%T", o), "*types.")
			files := renamedEverywhere(p, c, o, "renamed"+strings.ToUpper(name[:1])+name[1:])
			if ast.IsExported(name) {
				files = renamedEverywhere(p, c, o, "Renamed"+name)
			}
			v := mutation.JudgeAmong(t.Context(), files, around, patient())
			for _, counted := range []struct {
				kind string
				yes  bool
			}{{kind + " recognised", isRefactor(v)}, {kind + " proven", v.Evidence == mutation.Proven}, {"all recognised", isRefactor(v)}, {"all proven", v.Evidence == mutation.Proven}} {
				if rates[counted.kind] == nil {
					rates[counted.kind] = &rate{}
				}
				rates[counted.kind].add(counted.yes)
			}
			checkUses(t, p, o, v, files, around)
			if v.Evidence != mutation.Proven {
				reasons[whatKept(v)]++
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(rates)) {
		t.Logf("go, all uses in the directory: %s: %s", kind, rates[kind])
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("go, all uses in the directory: not proven %d times: %s", reasons[reason], reason)
	}
	if r := rates["Func proven"]; r == nil || !r.atLeast(25) {
		t.Errorf("functions that are proven: %v", r)
	}
}

// addTests takes the tests of the package itself to its files; not those of
// the package beside it.
func (p *program) addTests(t *testing.T) {
	t.Helper()
	ctx := build.Default
	ctx.CgoEnabled = false
	found, err := ctx.ImportDir(p.dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found.TestGoFiles {
		content, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		p.contents[name], p.names = content, append(slices.Clone(p.names), name)
	}
}

// whatKept is why a renaming is not proven, without names.
func whatKept(v mutation.Verdict) string {
	reason := v.Reason
	if i := strings.LastIndex(reason, "; "); i >= 0 {
		reason = reason[i+2:]
	}
	switch {
	case v.Evidence == mutation.Unproven:
		return "unproven: " + general(v.Reason)
	case strings.Contains(reason, ": a text has the word"):
		return "a text of the package has it"
	case strings.Contains(reason, " has the word "):
		place, _, _ := strings.Cut(reason, ":")
		if strings.HasSuffix(place, "_test.go") {
			return "a file of tests has it"
		}
		return "another file has it: *" + filepath.Ext(place)
	}
	return reason
}

// checkUses holds a proven renaming to what it promises: no other file of the
// directory has either name, and the types are the same.
func checkUses(t *testing.T, p *program, o types.Object, v mutation.Verdict, files []mutation.File, around memory) {
	t.Helper()
	if v.Evidence != mutation.Proven {
		return
	}
	own, replaced := map[string]bool{}, map[string][]byte{}
	for _, f := range files {
		own[f.Path], replaced[f.Path] = true, f.After
	}
	if c, err := p.check(replaced); err != nil || len(c.errs) > 0 {
		t.Errorf("%s: %s is proven to be renamed, and the package does not compile: %v %v", p.path, o.Name(), err, c.errs)
	}
	for name, content := range around {
		if !own[name] && bytes.Contains(content, []byte(o.Name())) && slices.Contains(strings.FieldsFunc(string(content), notOfWord), o.Name()) {
			t.Errorf("%s: %s is proven to be renamed, and %s has it", p.path, o.Name(), name)
		}
	}
}

func notOfWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// directory has all regular files of a package's directory.
func directory(t testing.TB, dir string) memory {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := memory{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = content
	}
	return found
}

// renamedEverywhere gives the files of a package in which an object has another
// name, by what the type checker says.
func renamedEverywhere(p *program, c *checked, o types.Object, to string) (files []mutation.File) {
	places := map[string][]int{}
	add := func(id *ast.Ident, meant types.Object) {
		if meant == o {
			at := c.fset.PositionFor(id.Pos(), false)
			places[filepath.Base(at.Filename)] = append(places[filepath.Base(at.Filename)], at.Offset)
		}
	}
	for id, meant := range c.info.Defs {
		add(id, meant)
	}
	for id, meant := range c.info.Uses {
		add(id, meant)
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		content := p.contents[name]
		offsets := slices.Sorted(slices.Values(places[name]))
		var after bytes.Buffer
		from := 0
		for _, at := range slices.Compact(offsets) {
			after.Write(content[from:at])
			after.WriteString(to)
			from = at + len(o.Name())
		}
		after.Write(content[from:])
		files = append(files, mutation.File{Path: name, Before: content, After: after.Bytes()})
	}
	return files
}
