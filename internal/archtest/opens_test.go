package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesAreOpenedWithoutWaiting: what is opened by its path may be a pipe that a stranger put there, so package
// internal/durable opens it. What the kernel itself makes (/proc, /sys, /dev) is excepted, and what a program that nobody
// serves with makes for itself.
func TestFilesAreOpenedWithoutWaiting(t *testing.T) {
	excepted := []string{
		"internal/durable/", "internal/demo/", "pkg/command/cgroup/", "pkg/command/sandbox/internal/helper/", // the last has no package but syscall
		"pkg/mutation/internal/treesitter/build",
	}
	root := moduleRoot(t)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && !strings.Contains(name, "/") && name != "cmd" && name != "pkg" && name != "internal":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, prefix := range excepted {
			if strings.HasPrefix(name, prefix) {
				return nil
			}
		}
		for _, place := range waiting(t, path) {
			t.Errorf("%s: use package internal/durable", place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waiting finds the calls of os.Open, os.ReadFile and os.ReadDir whose path does not begin with a directory of the kernel's,
// and those of Root.OpenRoot whose name does not end with a slash: without one it waits for a pipe.
func waiting(t *testing.T, file string) (places []string) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) != 1 {
			return true
		}
		function, is := call.Fun.(*ast.SelectorExpr)
		if !is {
			return true
		}
		from, is := function.X.(*ast.Ident)
		if function.Sel.Name == "OpenRoot" && (!is || from.Name != "os" && from.Name != "durable") && !slashed(call.Args[0]) {
			places = append(places, files.Position(call.Pos()).String())
		}
		opens := function.Sel.Name == "Open" || function.Sel.Name == "ReadFile" || function.Sel.Name == "ReadDir"
		if is && from.Name == "os" && opens && !ofKernel(call.Args[0]) {
			places = append(places, files.Position(call.Pos()).String())
		}
		return true
	})
	return places
}

// slashed reports whether a name ends with a slash, or is that of the directory itself.
func slashed(name ast.Expr) bool {
	if sum, is := name.(*ast.BinaryExpr); is {
		name = sum.Y
	}
	text, is := name.(*ast.BasicLit)
	return is && (text.Value == `"/"` || text.Value == `"."`)
}

// ofKernel knows paths that begin in the source with /proc, /sys or /dev, and what two functions make of process ids.
func ofKernel(path ast.Expr) (is bool) {
	ast.Inspect(path, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			for _, dir := range []string{`"/proc`, `"/sys`, `"/dev`} {
				is = is || strings.HasPrefix(n.Value, dir)
			}
		case *ast.Ident:
			is = is || n.Name == "procFile"
		}
		return !is
	})
	return is
}
