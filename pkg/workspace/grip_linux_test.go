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
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return uint64(stat.Dev), stat.Ino
}

// TestGripHoldsWhatWasFound: what another directory shows under the same path
// is neither taken away, removed nor given permissions.
func TestGripHoldsWhatWasFound(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"src/a", ".orchestration/state", ".git"} {
		must(os.MkdirAll(at(name), 0o755))
	}
	w, err := workspace.Open(dir)
	must(err)
	defer w.Close()
	own, err := w.OpenOwn("cache", "removed")
	must(err)
	defer own.Close()
	exchange := func() {
		must(os.Rename(at("src/a"), at("src/b")))
		must(os.Rename(at(".orchestration"), at("src/a")))
		must(os.Rename(at("src/b"), at(".orchestration")))
	}
	must(os.WriteFile(at(".orchestration/x"), []byte("governance"), 0o644))
	must(os.WriteFile(at("src/a/x"), []byte("planted"), 0o644))
	device, inode := number(t, at("src/a/x"))

	exchange()
	if _, err := w.Hold("src/a/x", device, inode); !errors.Is(err, workspace.ErrReplaced) {
		t.Errorf("another file is held: %v", err)
	}
	exchange()

	g, err := w.Hold("src/a/x", device, inode)
	must(err)
	exchange()
	must(g.MoveTo(own, "taken"))
	must(g.Close())
	exchange()
	if got, err := os.ReadFile(at(".orchestration/x")); string(got) != "governance" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := os.ReadFile(at(".orchestration/cache/removed/taken")); string(got) != "planted" {
		t.Errorf("%q, %v", got, err)
	}

	must(os.WriteFile(at("src/a/x"), []byte("again"), 0o644))
	device, inode = number(t, at("src/a/x"))
	g, err = w.Hold("src/a/x", device, inode)
	must(err)
	must(os.Rename(at("src/a/x"), at("src/y")))
	must(os.WriteFile(at("src/a/x"), []byte("an editor's"), 0o644))
	if err := g.MoveTo(own, "second"); !errors.Is(err, workspace.ErrReplaced) {
		t.Errorf("%v", err)
	}
	must(g.Chmod(0o600))
	must(g.Close())
	if info, err := os.Lstat(at("src/a/x")); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Lstat(at("src/y")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	must(os.Rename(at(".git"), at("src/g"))) // without .git there is nothing to compare with
	must(os.Symlink("src/g", at(".git")))
	if _, err := w.Hold(".git/x", 0, 0); err == nil {
		t.Error("a link on the way is followed")
	}
	must(os.Remove(at(".git")))
	must(os.Rename(at("src/g"), at(".git")))
	if _, err := w.Hold("missing/x", 0, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
