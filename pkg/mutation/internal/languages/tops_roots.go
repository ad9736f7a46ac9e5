package languages

import (
	"path"
	"slices"
	"strings"
)

// sourceRoot is the directory in which the directories of packages are, by the
// end of a file's directory that is that of its package.
func sourceRoot(file, space string) string {
	dir := path.Dir(file)
	parts := strings.FieldsFunc(space, func(r rune) bool { return r == '.' || r == '\\' })
	for _, part := range slices.Backward(parts) {
		if !strings.EqualFold(path.Base(dir), part) || dir == "." {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

// testRoots are directories that stand beside each other for the code and its
// tests.
var testRoots = setOf("src", "lib", "app", "main", "test", "tests")

// sameProgram tells whether two directories of sources belong to one program.
// Another program of the workspace may have a class of the same name in a package
// of the same name.
func sameProgram(x, y string) bool {
	if x == y {
		return true
	}
	// src/main/java and src/test/java, or src and tests.
	if path.Base(x) == path.Base(y) && path.Base(x) != "." {
		x, y = path.Dir(x), path.Dir(y)
	}
	within := func(outer, inner string) bool { return path.Dir(inner) == outer && testRoots[path.Base(inner)] }
	return within(y, x) || within(x, y) || within(path.Dir(x), x) && within(path.Dir(x), y)
}
