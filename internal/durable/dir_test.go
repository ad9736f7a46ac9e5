package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

func openDir(t *testing.T, files map[string]string) (*durable.Dir, string) {
	t.Helper()
	at := t.TempDir()
	for name, content := range files {
		check.OK(t, os.WriteFile(filepath.Join(at, name), []byte(content), 0o644))
	}
	root := check.Value(os.OpenRoot(at))(t)
	t.Cleanup(func() { root.Close() })
	dir := check.Value(durable.OpenRoot(root))(t)
	t.Cleanup(func() { check.OK(t, dir.Close()) })
	return dir, at
}

func read(t *testing.T, path string) string {
	t.Helper()
	b := check.Value(os.ReadFile(path))(t)
	return string(b)
}

func TestNeverFollowsLinks(t *testing.T) {
	dir, at := openDir(t, map[string]string{"f": "x"})
	check.OK(t, os.Mkdir(filepath.Join(at, "d"), 0o755))
	check.OK(t, os.Symlink("f", filepath.Join(at, "to-f")))
	check.OK(t, os.Symlink("d", filepath.Join(at, "to-d")))
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
	check.That(t, check.Value(dir.Lstat("to-f"))(t).Mode&fs.ModeSymlink != 0, "a link is none")
}

func TestMoveDoesNotReplace(t *testing.T) {
	dir, at := openDir(t, map[string]string{"a": "1", "b": "2"})
	check.Is(t, dir.Move("a", dir, "b"), fs.ErrExist, "got")
	check.OK(t, dir.Move("a", dir, "c"))
	check.That(t, read(t, filepath.Join(at, "c")) == "1" && read(t, filepath.Join(at, "b")) == "2", "wrong contents")
	check.Fails(dir.Lstat("a"))(t, fs.ErrNotExist)
}

func TestRemoveKeepsToItsKind(t *testing.T) {
	dir, _ := openDir(t, map[string]string{"f": ""})
	check.OK(t, dir.Mkdir("d", 0o755))
	check.That(t, dir.Remove("d") != nil && dir.RemoveDir("f") != nil, "removed the wrong kind")
	check.OK(t, dir.Remove("f"))
	check.OK(t, dir.RemoveDir("d"))
}

func TestIdentity(t *testing.T) {
	dir, _ := openDir(t, map[string]string{"a": "1", "b": "1"})
	a := check.Value(dir.Lstat("a"))(t)
	b := check.Value(dir.Lstat("b"))(t)
	f := check.Value(dir.Open("a"))(t)
	defer f.Close()
	opened := check.Value(durable.StatFile(f))(t)
	if !durable.Same(a, opened) || durable.Same(a, b) || durable.Same(a, durable.Stat{}) || durable.Same(durable.Stat{}, durable.Stat{}) {
		t.Error("files are told apart wrongly")
	}
}

func TestLock(t *testing.T) {
	dir, _ := openDir(t, map[string]string{"a": "1"})
	first := check.Value(dir.Open("a"))(t)
	defer first.Close()
	second := check.Value(dir.Open("a"))(t)
	defer second.Close()
	ok, err := durable.TryLock(first)
	if errors.Is(err, durable.ErrUnsupported) {
		t.Logf("no locks on this file system: %v", err)
		return
	}
	check.OK(t, err)
	check.That(t, ok && !check.Value(durable.TryLock(second))(t), "both hold it, or none")
	check.OK(t, durable.Unlock(first))
	check.That(t, check.Value(durable.TryLock(second))(t), "not even after unlock")
}

// A directory is listed by names and what they are, however many there are.
func TestNames(t *testing.T) {
	files := map[string]string{".hidden": "", "b": "", "a\xff": ""}
	for i := range 3000 {
		files[fmt.Sprintf("%0100d", i)] = ""
	}
	dir, at := openDir(t, files)
	check.OK(t, os.Mkdir(filepath.Join(at, "d"), 0o755))
	check.OK(t, os.Symlink("d", filepath.Join(at, "to-d")))
	names := check.Value(dir.Names())(t)
	check.Equal(t, len(names), len(files)+2)
	entries := check.Value(dir.ReadDir())(t)
	for i, e := range entries {
		check.Equal(t, names[i], durable.Name{Name: e.Name(), Type: e.Type()})
	}
}

func TestOpenRaw(t *testing.T) {
	dir, at := openDir(t, map[string]string{"f": "text", "empty": ""})
	check.OK(t, os.Mkdir(filepath.Join(at, "d"), 0o755))
	check.OK(t, os.Symlink("f", filepath.Join(at, "to-f")))
	for _, name := range []string{"d", "to-f", "none"} {
		if f, _, err := dir.OpenRaw(name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
	for name, want := range map[string]string{"f": "text", "empty": ""} {
		f, st, err := dir.OpenRaw(name)
		check.OK(t, err)
		check.Equal(t, st.Size, int64(len(want)))
		for at := range len(want) + 1 {
			got := make([]byte, 10)
			n := check.Value(f.ReadSome(got, int64(at)))(t)
			check.Equal(t, string(got[:n]), want[at:])
		}
		check.OK(t, f.Close())
	}
}

// TestOpenAt goes by paths of several names, in each of the ways that a kernel has.
func TestOpenAt(t *testing.T) {
	dir, at := openDir(t, nil)
	check.OK(t, os.MkdirAll(filepath.Join(at, "a", "b"), 0o755))
	check.Write(t, at, "a/b/f", "x")
	check.OK(t, os.Symlink("a", filepath.Join(at, "to-a")))
	check.OK(t, os.Symlink("b", filepath.Join(at, "a", "to-b")))
	check.OK(t, os.Symlink("f", filepath.Join(at, "a", "b", "to-f")))
	for way, opens := range durable.WaysAt(dir) {
		t.Run(way, func(t *testing.T) {
			sub, err := opens.Dir("a/b")
			check.OK(t, err)
			check.OK(t, sub.Close())
			file, err := opens.Regular("a/b/f", os.O_RDONLY)
			check.OK(t, err)
			check.OK(t, file.Close())
			for _, name := range []string{"to-a/b", "a/to-b", "a/b/f", "a/b/c"} {
				if sub, err := opens.Dir(name); err == nil {
					sub.Close()
					t.Errorf("%s was opened as a directory", name)
				}
			}
			for _, name := range []string{"to-a/b/f", "a/to-b/f", "a/b/to-f", "a/b", "a/b/c"} {
				if file, err := opens.Regular(name, os.O_RDONLY); err == nil {
					file.Close()
					t.Errorf("%s was opened as a file", name)
				}
			}
			_, err = opens.Regular("a/b/c", os.O_RDONLY)
			check.Is(t, err, fs.ErrNotExist, "a missing file")
			_, err = opens.Dir("a/c/d")
			check.Is(t, err, fs.ErrNotExist, "a missing directory")
		})
	}
}
