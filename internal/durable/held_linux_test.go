//go:build !portable

package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// TestRemoveTree removes what no path reaches, and directories without rights, and follows no link.
func TestRemoveTree(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	check.OK(t, os.WriteFile(outside, []byte("x"), 0o644))
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	d := check.Value(durable.OpenRoot(root))(t)
	defer d.Close()
	at := d
	for i := range 60 {
		name := strings.Repeat("d", 200)
		if i == 0 {
			name = "tree"
		}
		err := at.Mkdir(name, 0o755)
		next, err2 := at.Enter(name)
		check.OK(t, errors.Join(err, err2, next.Symlink(dir, "link"), next.Mkdir("shut", 0)))
		if at != d {
			at.Close()
		}
		at = next
	}
	at.Close()
	check.OK(t, d.RemoveTree("tree"))
	check.Fails(d.Lstat("tree"))(t, fs.ErrNotExist)
	check.Value(os.Stat(outside))(t)
	check.OK(t, d.RemoveTree("tree")) // which is not there
}
