package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

func openDir(t *testing.T, files map[string]string) (*durable.Dir, string) {
	t.Helper()
	at := t.TempDir()
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(at, name), []byte(content), 0o644))
	}
	root, err := os.OpenRoot(at)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	dir, err := durable.OpenRoot(root)
	must(t, err)
	t.Cleanup(func() { must(t, dir.Close()) })
	return dir, at
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func TestNeverFollowsLinks(t *testing.T) {
	dir, at := openDir(t, map[string]string{"f": "x"})
	must(t, os.Mkdir(filepath.Join(at, "d"), 0o755))
	must(t, os.Symlink("f", filepath.Join(at, "to-f")))
	must(t, os.Symlink("d", filepath.Join(at, "to-d")))
	if f, err := dir.Open("to-f"); err == nil {
		f.Close()
		t.Error("a link to a file was opened")
	}
	for _, name := range []string{"to-d", "f"} {
		if d, err := dir.OpenDir(name); err == nil {
			d.Close()
			t.Errorf("%s was opened as a directory", name)
		}
	}
	if st, err := dir.Lstat("to-f"); err != nil || st.Mode&fs.ModeSymlink == 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestMoveDoesNotReplace(t *testing.T) {
	dir, at := openDir(t, map[string]string{"a": "1", "b": "2"})
	if err := dir.Move("a", dir, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	must(t, dir.Move("a", dir, "c"))
	if read(t, filepath.Join(at, "c")) != "1" || read(t, filepath.Join(at, "b")) != "2" {
		t.Error("wrong contents")
	}
	if _, err := dir.Lstat("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRemoveKeepsToItsKind(t *testing.T) {
	dir, _ := openDir(t, map[string]string{"f": ""})
	must(t, dir.Mkdir("d", 0o755))
	if dir.Remove("d") == nil || dir.RemoveDir("f") == nil {
		t.Error("removed the wrong kind")
	}
	must(t, dir.Remove("f"))
	must(t, dir.RemoveDir("d"))
}

func TestIdentity(t *testing.T) {
	dir, _ := openDir(t, map[string]string{"a": "1", "b": "1"})
	a, err := dir.Lstat("a")
	must(t, err)
	b, err := dir.Lstat("b")
	must(t, err)
	f, err := dir.Open("a")
	must(t, err)
	defer f.Close()
	opened, err := durable.StatFile(f)
	must(t, err)
	if !durable.Same(a, opened) || durable.Same(a, b) || durable.Same(a, durable.Stat{}) || durable.Same(durable.Stat{}, durable.Stat{}) {
		t.Error("files are told apart wrongly")
	}
}

func TestLock(t *testing.T) {
	dir, _ := openDir(t, map[string]string{"a": "1"})
	first, err := dir.Open("a")
	must(t, err)
	defer first.Close()
	second, err := dir.Open("a")
	must(t, err)
	defer second.Close()
	ok, err := durable.TryLock(first)
	if errors.Is(err, durable.ErrUnsupported) {
		t.Logf("no locks on this file system: %v", err)
		return
	}
	must(t, err)
	if again, err := durable.TryLock(second); !ok || again || err != nil {
		t.Errorf("first %v, second %v, %v", ok, again, err)
	}
	must(t, durable.Unlock(first))
	if again, err := durable.TryLock(second); !again || err != nil {
		t.Errorf("after unlock: %v, %v", again, err)
	}
}
