//go:build !linux || portable

package profile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestSharedFilesStayClosed: where files of git with other names are not replaced by copies, all of them are named.
func TestSharedFilesStayClosed(t *testing.T) {
	git, other := t.TempDir(), t.TempDir()
	for _, name := range []string{"objects/pack/a.pack", "objects/aa/b", "hooks/c", "HEAD"} {
		path := filepath.Join(git, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte("x"), 0o644))
		if name != "HEAD" {
			check.OK(t, os.Link(path, filepath.Join(other, filepath.Base(path))))
		}
	}
	found, err := makePrivate(git, func(name string) bool { return name == "hooks" })
	check.OK(t, err)
	slices.Sort(found)
	check.That(t, slices.Equal(found, []string{"objects/aa/b", "objects/pack/a.pack"}), "%q", found)
}
