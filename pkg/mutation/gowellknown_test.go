package mutation_test

import (
	"fmt"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// TestWellKnownGo: a type that has an interface of the standard library does not
// lose it by what is called a refactor.
func TestWellKnownGo(t *testing.T) {
	packages := []string{"fmt", "io", "io/fs", "encoding", "sort", "flag", "hash", "context", "container/heap", "errors"}
	if long() {
		packages = append(packages, "encoding/json", "encoding/xml", "encoding/gob", "net", "net/http", "database/sql", "database/sql/driver",
			"image", "image/draw", "image/color", "log/slog", "crypto", "crypto/cipher", "expvar", "net/rpc", "os", "math/rand", "testing/quick")
	}
	if _, err := loadProgram(t, "errors").check(nil); err != nil { // makes the importer
		t.Fatal(err)
	}
	methods := 0
	for _, importPath := range packages {
		pkg, err := imports.Import(importPath)
		if err != nil {
			t.Logf("%s is left out: %v", importPath, err)
			continue
		}
		for _, name := range pkg.Scope().Names() {
			o, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || !o.Exported() {
				continue
			}
			i, ok := o.Type().Underlying().(*types.Interface)
			if !ok || !i.IsMethodSet() {
				continue
			}
			if source, ok := implementation(i); ok {
				methods += loseEach(t, importPath+"."+name, source, i)
			}
		}
	}
	t.Logf("%d methods", methods)
	if methods < 50 {
		t.Errorf("only %d methods", methods)
	}
}

// implementation is a file with a type that has an interface; false if nobody
// else can have it.
func implementation(i *types.Interface) (source string, ok bool) {
	imported := map[string]bool{}
	qualify := func(p *types.Package) string {
		imported[p.Path()] = true
		return path.Base(strings.TrimSuffix(p.Path(), "/v2"))
	}
	var body strings.Builder
	for m := range i.Methods() {
		if !m.Exported() {
			return "", false
		}
		signature := strings.TrimPrefix(types.TypeString(m.Type(), qualify), "func")
		fmt.Fprintf(&body, "\nfunc (thing) %s%s { panic(0) }\n", m.Name(), signature)
	}
	head := "package a\n\nimport (\n"
	for _, p := range slices.Sorted(maps.Keys(imported)) {
		if strings.Contains(p, "internal") {
			return "", false
		}
		head += fmt.Sprintf("\t%q\n", p)
	}
	return head + ")\n\ntype thing struct{}\n" + body.String(), true
}

// loseEach renames each method alone.
func loseEach(t *testing.T, name, source string, i *types.Interface) (count int) {
	for m := range i.Methods() {
		after := strings.Replace(source, ") "+m.Name()+"(", ") Zq"+m.Name()+"(", 1)
		count++
		v := mutation.JudgeWithin(t.Context(), []mutation.File{{Path: "a.go", Before: []byte(source), After: []byte(after)}}, patient())
		if after == source || isRefactor(v) {
			t.Errorf("%s without %s is %s (%s)", name, m.Name(), v.Evidence, v.Reason)
		}
	}
	return count
}
