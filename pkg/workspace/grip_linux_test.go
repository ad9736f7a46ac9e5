//go:build !portable

package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// number is what a look finds of a path.
func number(t *testing.T, path string) (device, inode uint64) {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	return uint64(stat.Dev), stat.Ino
}

// TestGripHoldsWhatWasFound: what another directory shows under the same path
// is neither taken away, removed nor given permissions.
func TestGripHoldsWhatWasFound(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"src/a", ".orchestration/state", ".git"} {
		must(t, os.MkdirAll(at(name), 0o755))
	}
	w, err := workspace.Open(dir)
	must(t, err)
	defer w.Close()
	own, err := w.OpenOwn("cache", "removed")
	must(t, err)
	defer own.Close()
	exchange := func() {
		must(t, os.Rename(at("src/a"), at("src/b")))
		must(t, os.Rename(at(".orchestration"), at("src/a")))
		must(t, os.Rename(at("src/b"), at(".orchestration")))
	}
	must(t, os.WriteFile(at(".orchestration/x"), []byte("governance"), 0o644))
	must(t, os.WriteFile(at("src/a/x"), []byte("planted"), 0o644))
	device, inode := number(t, at("src/a/x"))

	exchange()
	if _, err := w.Hold("src/a/x", device, inode); !errors.Is(err, workspace.ErrReplaced) {
		t.Errorf("another file is held: %v", err)
	}
	exchange()

	g, err := w.Hold("src/a/x", device, inode)
	must(t, err)
	exchange()
	must(t, g.MoveTo(own, "taken"))
	must(t, g.Close())
	exchange()
	for name, want := range map[string]string{".orchestration/x": "governance", ".orchestration/cache/removed/taken": "planted"} {
		if got, err := os.ReadFile(at(name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	must(t, os.WriteFile(at("src/a/x"), []byte("again"), 0o644))
	device, inode = number(t, at("src/a/x"))
	g, err = w.Hold("src/a/x", device, inode)
	must(t, err)
	must(t, os.Rename(at("src/a/x"), at("src/y")))
	must(t, os.WriteFile(at("src/a/x"), []byte("an editor's"), 0o644))
	if err := g.MoveTo(own, "second"); !errors.Is(err, workspace.ErrReplaced) {
		t.Errorf("%v", err)
	}
	must(t, g.Chmod(0o600))
	must(t, g.Close())
	wantMode(t, w, "src/a/x", 0o644)
	wantMode(t, w, "src/y", 0o600)

	must(t, os.Rename(at(".git"), at("src/g"))) // without .git there is nothing to compare with
	must(t, os.Symlink("src/g", at(".git")))
	if _, err := w.Hold(".git/x", 0, 0); err == nil {
		t.Error("a link on the way is followed")
	}
	must(t, os.Remove(at(".git")))
	must(t, os.Rename(at("src/g"), at(".git")))
	if _, err := w.Hold("missing/x", 0, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
