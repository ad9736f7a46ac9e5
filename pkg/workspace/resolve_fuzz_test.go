//go:build unix

package workspace_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// FuzzResolve follows a link with any text, by any path: what is resolved is inside, is clean, and agrees with the
// operating system about which file it is.
func FuzzResolve(f *testing.F) {
	for _, seed := range [][2]string{
		{"a/../l/f", "d"}, {"l", "../x"}, {"l/../f", "d/.."}, {"l/l/l/f", "."}, {"d/l/f", "/"}, {"l", "../ws/f"}, {"l", "l"}, {"l/", "d/e/../../f"}, {"//l", "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	base := f.TempDir()
	put(f, filepath.Join(base, "ws", "f"), "f")
	put(f, filepath.Join(base, "ws", "d", "f"), "df")
	put(f, filepath.Join(base, "secret"), "secret")
	w := openAt(f, filepath.Join(base, "ws"))
	link := filepath.Join(w.Dir(), "l")
	f.Fuzz(func(t *testing.T, requested, text string) {
		os.Remove(link)
		if os.Symlink(text, link) != nil {
			return
		}
		target, err := w.ResolveDir(requested)
		if err != nil {
			return
		}
		defer target.Close()
		got := target.Path()
		if got != path.Clean(got) || strings.HasPrefix(got, "/") || got == ".." || strings.HasPrefix(got, "../") {
			t.Fatalf("%q with a link to %q is %q", requested, text, got)
		}
		if target.Kind() == workspace.Missing {
			return
		}
		real, err := filepath.EvalSymlinks(filepath.Join(w.Dir(), got))
		if err != nil || real != filepath.Join(w.Dir(), got) {
			t.Errorf("%q with a link to %q is %q, for the system %q, %v", requested, text, got, real, err)
		}
	})
}
