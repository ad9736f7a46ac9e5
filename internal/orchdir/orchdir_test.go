//go:build unix

package orchdir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

const limit = 1 << 18

type directory struct {
	t    *testing.T
	root *os.Root
	path string // of the .orchestration directory
}

func newDirectory(t *testing.T) directory {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, orchdir.Name), 0o755))
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { _ = root.Close() })
	return directory{t, root, filepath.Join(dir, orchdir.Name)}
}

func (d directory) write(name, text string) {
	d.t.Helper()
	check.OK(d.t, os.WriteFile(filepath.Join(d.path, name), []byte(text), 0o644))
}

func (d directory) read(name string) string {
	d.t.Helper()
	data := check.Value(os.ReadFile(filepath.Join(d.path, name)))(d.t)
	return string(data)
}

func (d directory) file(name string) orchdir.File {
	return orchdir.File{Root: d.root, Name: name, Limit: limit}
}

// leftovers fails the test if a temporary file is left.
func (d directory) leftovers() {
	d.t.Helper()
	check.OK(d.t, filepath.WalkDir(d.path, func(path string, _ fs.DirEntry, err error) error {
		check.That(d.t, !strings.HasSuffix(path, ".tmp"), "left over: %s", path)
		return err
	}))
}

func to(text string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), nil }
}

func TestRewrite(t *testing.T) {
	d := newDirectory(t)
	ctx := context.Background()
	var seen []byte
	check.OK(t, orchdir.Rewrite(ctx, d.file("a"), func(old []byte) ([]byte, error) { seen = old; return []byte("1"), nil }))
	if seen != nil || d.read("a") != "1" {
		t.Errorf("new file: was %q, is %q", seen, d.read("a"))
	}
	check.OK(t, os.Chmod(filepath.Join(d.path, "a"), 0o600))
	check.OK(t, orchdir.Rewrite(ctx, d.file("a"), func(old []byte) ([]byte, error) { return append(old, '2'), nil }))
	info := check.Value(os.Stat(filepath.Join(d.path, "a")))(t)
	if d.read("a") != "12" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, mode %v", d.read("a"), info.Mode())
	}
	check.OK(t, orchdir.Rewrite(ctx, d.file("a"), func([]byte) ([]byte, error) { return nil, nil }))
	same := check.Value(os.Stat(filepath.Join(d.path, "a")))(t)
	check.That(t, os.SameFile(info, same), "nil rewrote the file")
	d.write("empty", "")
	check.OK(t, orchdir.Rewrite(ctx, d.file("empty"), func(old []byte) ([]byte, error) {
		check.That(t, old != nil, "an empty file looks missing")
		return []byte("x"), nil
	}))
	d.leftovers()
}

func TestRewriteErrors(t *testing.T) {
	d := newDirectory(t)
	ctx := context.Background()
	mine := errors.New("mine")
	if err := orchdir.Rewrite(ctx, d.file("a"), func([]byte) ([]byte, error) { return nil, mine }); !errors.Is(err, mine) {
		t.Errorf("error of change: %v", err)
	}
	check.OK(t, os.Symlink("b", filepath.Join(d.path, "link")))
	if err := orchdir.Rewrite(ctx, d.file("link"), to("x")); !errors.Is(err, orchdir.ErrNotRegular) {
		t.Errorf("link: %v", err)
	}
	d.write("big", strings.Repeat("x", limit+1))
	if err := orchdir.Rewrite(ctx, d.file("big"), to("x")); !errors.Is(err, orchdir.ErrTooLarge) {
		t.Errorf("big: %v", err)
	}
	check.OK(t, os.RemoveAll(filepath.Join(d.path, "state")))
	d.write("state", "not a directory")
	if err := orchdir.Rewrite(ctx, d.file("a"), to("x")); err == nil {
		t.Error("state is a file")
	}
	check.OK(t, os.Remove(filepath.Join(d.path, "state")))
	check.OK(t, os.Symlink(t.TempDir(), filepath.Join(d.path, "state")))
	if err := orchdir.Rewrite(ctx, d.file("a"), to("x")); err == nil {
		t.Error("state is a link")
	}
	check.OK(t, os.RemoveAll(d.path))
	if err := orchdir.Rewrite(ctx, d.file("a"), to("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	check.OK(t, os.Symlink(".", d.path))
	if err := orchdir.Rewrite(ctx, d.file("a"), to("x")); !errors.Is(err, orchdir.ErrNotDirectory) {
		t.Errorf("directory is a link: %v", err)
	}
}

func TestRewriteWaitsForTheLock(t *testing.T) {
	d := newDirectory(t)
	d.write("a", "1")
	release := holdLock(t, d.path)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := orchdir.Rewrite(ctx, d.file("a"), to("2")); !errors.Is(err, orchdir.ErrBusy) {
		t.Errorf("locked: %v", err)
	}
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	if err := orchdir.Rewrite(cancelled, d.file("a"), to("2")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if d.read("a") != "1" {
		t.Errorf("%q", d.read("a"))
	}
	d.leftovers()
	done := make(chan error)
	go func() { done <- orchdir.Rewrite(context.Background(), d.file("a"), to("2")) }()
	release()
	check.OK(t, <-done)
	if d.read("a") != "2" {
		t.Errorf("%q", d.read("a"))
	}
}

func TestEditorThatSavesInBetweenIsNotOverwritten(t *testing.T) {
	saves := map[string]func(t *testing.T, path string){
		"in place": func(t *testing.T, path string) { check.OK(t, os.WriteFile(path, []byte("editor\n"), 0o644)) },
		"by rename": func(t *testing.T, path string) {
			check.OK(t, os.WriteFile(path+"~", []byte("editor\n"), 0o644))
			check.OK(t, os.Rename(path+"~", path))
		},
	}
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			d := newDirectory(t)
			d.write("a", "old\n")
			calls := 0
			check.OK(t, orchdir.Rewrite(context.Background(), d.file("a"), func(old []byte) ([]byte, error) {
				if calls++; calls == 1 {
					save(t, filepath.Join(d.path, "a"))
				}
				return append(old, "ours\n"...), nil
			}))
			if got := d.read("a"); got != "editor\nours\n" || calls != 2 {
				t.Errorf("%q after %d calls", got, calls)
			}
			d.leftovers()
		})
	}
	t.Run("creating", func(t *testing.T) {
		d := newDirectory(t)
		calls := 0
		check.OK(t, orchdir.Rewrite(context.Background(), d.file("a"), func(old []byte) ([]byte, error) {
			if calls++; calls == 1 {
				d.write("a", "editor\n")
			}
			return append(old, "ours\n"...), nil
		}))
		if got := d.read("a"); got != "editor\nours\n" {
			t.Errorf("%q", got)
		}
		d.leftovers()
	})
	t.Run("replacing the directory", func(t *testing.T) {
		d := newDirectory(t)
		d.write("a", "old\n")
		calls := 0
		check.OK(t, orchdir.Rewrite(context.Background(), d.file("a"), func(old []byte) ([]byte, error) {
			if calls++; calls == 1 {
				check.OK(t, os.Rename(d.path, d.path+".old"))
				check.OK(t, os.Mkdir(d.path, 0o755))
				d.write("a", "new\n")
			}
			return append(old, "ours\n"...), nil
		}))
		if got := d.read("a"); got != "new\nours\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestStress has writers of this package and an editor that saves by rename append their lines to one file. None may be
// missing at the end. What stands there for the moment of another writer's exchange is no reason to leave a file as it is.
func TestNothingToWriteIsFoundUnderTheLock(t *testing.T) {
	d := newDirectory(t)
	d.write("f", "mine, and for a moment theirs\n")
	var seen []string
	check.OK(t, orchdir.Rewrite(context.Background(), d.file("f"), func(old []byte) ([]byte, error) {
		seen = append(seen, string(old))
		if len(seen) == 1 {
			d.write("f", "without mine\n")
			return old, nil
		}
		return append(old, "mine\n"...), nil
	}))
	got := d.read("f")
	check.That(t, got == "without mine\nmine\n" && len(seen) == 2, "got %q after %q", got, seen)
	d.leftovers()
}

func TestStress(t *testing.T) {
	d := newDirectory(t)
	d.write("a", "")
	rounds := check.Rounds(30, 1000)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range rounds {
				line := fmt.Sprintf("writer %d line %d\n", w, i)
				err := orchdir.Rewrite(context.Background(), d.file("a"), func(old []byte) ([]byte, error) {
					return append(old, line...), nil
				})
				check.That(t, err == nil, "%s: %v", line, err)
			}
		})
	}
	writers.Wait()
	for w := range 4 {
		for i := range rounds {
			if line := fmt.Sprintf("writer %d line %d\n", w, i); strings.Count(d.read("a"), line) != 1 {
				t.Errorf("lost: %s", line)
			}
		}
	}
	d.leftovers()
}

func TestReadFile(t *testing.T) {
	d := newDirectory(t)
	d.write("a", "text")
	data, info, err := orchdir.ReadFile(d.root, orchdir.Directory, "a", 4)
	check.That(t, err == nil && string(data) == "text" && info.Size() == 4, "%q %v", data, err)
	if _, _, err := orchdir.ReadFile(d.root, orchdir.Directory, "a", 3); !errors.Is(err, orchdir.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := orchdir.ReadFile(d.root, orchdir.Workspace, "a", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, _, err := orchdir.ReadFile(d.root, orchdir.Workspace, orchdir.Name, 3); !errors.Is(err, orchdir.ErrNotRegular) {
		t.Errorf("directory: %v", err)
	}
}
