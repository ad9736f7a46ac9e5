package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestOtherSystemsCompile checks the types of all that the module is made of as another system has it, its tests included, from the
// sources: to generate its code as well takes ten times as long and finds no more in Go source.
func TestOtherSystemsCompile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the sources stay in memory
	read := &sources{files: token.NewFileSet(), parsed: map[string]*ast.File{}}
	for _, system := range []string{"darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			c := &check{sources: read, packages: map[string]*types.Package{"unsafe": types.Unsafe}}
			ours := 0
			for _, p := range listed(t, system) {
				if err := c.add(p); err != nil {
					t.Fatal(err)
				}
				if !p.Standard && p.Module.Main {
					ours++
				}
			}
			if ours == 0 {
				t.Error("no package of this module was checked")
			}
		})
	}
}

// listedPackage is what go list says of a package.
type listedPackage struct {
	Dir, ImportPath string
	Standard        bool
	GoFiles         []string
	ImportMap       map[string]string // of paths in its sources that mean others
	Module          struct{ Main bool }
}

// listed are the module's packages and all that they import, each behind those that it imports itself.
func listed(t *testing.T, system string) (packages []listedPackage) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-test", "-json=Dir,ImportPath,Standard,GoFiles,ImportMap,Module", "./...")
	list.Dir = moduleRoot(t)
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	list.Stderr = t.Output()
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listedPackage
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

// sources are read once for all systems.
type sources struct {
	files  *token.FileSet
	parsed map[string]*ast.File
}

func (s *sources) file(path string) (*ast.File, error) {
	if s.parsed[path] == nil {
		file, err := parser.ParseFile(s.files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.parsed[path] = file
	}
	return s.parsed[path], nil
}

type check struct {
	*sources
	packages map[string]*types.Package
}

// add checks a package whose imports have been checked. What is inside the functions of others is left out: they see to it.
func (c *check) add(p listedPackage) error {
	if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // which go test makes, of tests that are checked
		return nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := c.file(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var problems []error
	config := types.Config{
		IgnoreFuncBodies: !p.Module.Main, Sizes: types.SizesFor("gc", runtime.GOARCH), Importer: checked{c, p.ImportMap},
		Error: func(err error) { problems = append(problems, err) },
	}
	c.packages[p.ImportPath], _ = config.Check(p.ImportPath, c.files, files, nil) // its error is the first of the problems
	return errors.Join(problems...)
}

// checked are the packages as one of them imports them.
type checked struct {
	*check
	renamed map[string]string
}

func (c checked) Import(path string) (*types.Package, error) {
	if to, is := c.renamed[path]; is {
		path = to
	}
	if p := c.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("go list does not name %s before what imports it", path)
}
