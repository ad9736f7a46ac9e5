//go:build unix

package orchdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// TestHeld looks each time whether what is held is what stands there.
func TestHeld(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d directory) error
		fails  bool
		moved  bool // another directory is given
	}{
		"nothing": {change: func(directory) error { return nil }},
		"removed": {change: func(d directory) error { return os.RemoveAll(filepath.Join(d.path, "cache")) }, moved: true},
		"moved away": {change: func(d directory) error {
			return os.Rename(filepath.Join(d.path, "cache"), filepath.Join(d.path, "old"))
		}, moved: true},
		"a link to it":       {change: func(d directory) error { return linked(filepath.Join(d.path, "cache", "images")) }, fails: true},
		"a link on the way":  {change: func(d directory) error { return linked(filepath.Join(d.path, "cache")) }, fails: true},
		"a link at the top":  {change: func(d directory) error { return linked(d.path) }, fails: true},
		"a file on the way":  {change: func(d directory) error { return filed(filepath.Join(d.path, "cache")) }, fails: true},
		"the top moved away": {change: func(d directory) error { return os.Rename(d.path, d.path+".old") }, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory(t)
			held := orchdir.Hold(d.root, "cache", "images")
			before := open(t, held)
			check.OK(t, c.change(d))
			dir, done, err := held.Open(true)
			if c.fails {
				check.That(t, err != nil, "it was opened")
				return
			}
			check.OK(t, err)
			defer done()
			now := check.Value(dir.Stat("."))(t)
			check.Equal(t, !os.SameFile(before, now), c.moved, "another directory")
			stands := check.Value(os.Lstat(filepath.Join(d.path, "cache", "images")))(t)
			check.That(t, os.SameFile(now, stands), "it is not what stands there")
		})
	}
}

func open(t *testing.T, held *orchdir.Held) os.FileInfo {
	t.Helper()
	dir, done, err := held.Open(true)
	check.OK(t, err)
	defer done()
	return check.Value(dir.Stat("."))(t)
}

// linked moves something away, and has a link lead there from its place.
func linked(at string) error {
	if err := os.Rename(at, at+".old"); err != nil {
		return err
	}
	return os.Symlink(filepath.Base(at)+".old", at)
}

func filed(at string) error {
	if err := os.Rename(at, at+".old"); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o600)
}
