package intent_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

func TestCoverage(t *testing.T) {
	w := newWorkspace(t, sample)
	for _, name := range []string{"src/api/a.ts", "src/api/deep/b.ts", "src/api/c.go", "src/weather.ts", "lib/x.ts", "README.md", ".git/config", "-/x"} {
		check.Write(t, w.dir, name, "")
	}
	check.OK(t, os.MkdirAll(filepath.Join(w.dir, "src/api/empty"), 0o755))
	check.OK(t, os.Symlink("api", filepath.Join(w.dir, "src/link")))
	cover := func(dir string, globs ...string) string {
		scope := check.Value(intent.CompileScope(globs))(t)
		c := check.Value(w.store.Coverage(t.Context(), dir, scope))(t)
		text := fmt.Sprintf("%d/%d", c.In, c.Out)
		for _, child := range c.Children {
			text += fmt.Sprintf(" %s:%s:%d/%d", child.Name, child.Share, child.In, child.Out)
		}
		return text
	}
	check.Equal(t, cover(".", "src/api/**", "README.md"), "4/4 -:not:0/1 lib:not:0/1 src:partly:3/2 README.md:wholly:1/0")
	check.Equal(t, cover("src", "src/api/**", "README.md"), "3/2 api:wholly:3/0 link:not:0/1 weather.ts:not:0/1")
	check.Equal(t, cover("src/api", "**/*.ts"), "2/1 deep:wholly:1/0 empty:not:0/0 a.ts:wholly:1/0 c.go:not:0/1")
	check.Equal(t, cover("src/api", "src/api"), "3/0 deep:wholly:1/0 empty:wholly:0/0 a.ts:wholly:1/0 c.go:wholly:1/0")
	check.Equal(t, cover("lib"), "1/0 x.ts:wholly:1/0")
	for _, dir := range []string{"..", "/", "src/", ".git", ".orchestration", "README.md", "src/link", ""} {
		_, err := w.store.Coverage(t.Context(), dir, check.Value(intent.CompileScope(nil))(t))
		check.That(t, err != nil, "%q has a coverage", dir)
	}
	_, err := w.store.Coverage(t.Context(), "gone", check.Value(intent.CompileScope(nil))(t))
	check.Is(t, err, fs.ErrNotExist)
	_, err = intent.CompileScope([]string{"a", "b", "c["})
	var glob *intent.GlobError
	check.That(t, errors.As(err, &glob) && glob.Index == 2, "%v", err)
}

// A position says of a path what the scope says of it, and covers only what the scope has whatever it is.
func TestPositionsAgreeWithTheScope(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	part := func(of ...string) string { return of[random.IntN(len(of))] }
	join := func(of ...string) string {
		parts := []string{part(of...)}
		for random.IntN(3) > 0 {
			parts = append(parts, part(of...))
		}
		return strings.Join(parts, "/")
	}
	for range 3000 {
		globs := []string{join("a", "b", "*", "**", "a*", "{a,b}", "?"), join("a", "b", "**", "*b")}[:random.IntN(3)]
		scope := check.Value(intent.CompileScope(globs))(t)
		dir, name, more := join("a", "b", "ab"), part("a", "b", "ab"), join("a", "b", "c")
		at := scope.At(dir)
		check.Must(t, at.Has(name) == scope.Match(dir+"/"+name), "%q: %s, %s", globs, dir, name)
		check.Must(t, !at.Covers() || scope.Match(dir+"/"+more), "%q does not cover %s/%s", globs, dir, more)
	}
}
