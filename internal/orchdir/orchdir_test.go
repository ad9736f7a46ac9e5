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
	"syscall"
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
	check.That(t, seen == nil && d.read("a") == "1", "new file: was %q, is %q", seen, d.read("a"))
	check.OK(t, os.Chmod(filepath.Join(d.path, "a"), 0o600))
	check.OK(t, orchdir.Rewrite(ctx, d.file("a"), func(old []byte) ([]byte, error) { return append(old, '2'), nil }))
	info := check.Value(os.Stat(filepath.Join(d.path, "a")))(t)
	check.That(t, d.read("a") == "12" && info.Mode().Perm() == 0o600, "%q, mode %v", d.read("a"), info.Mode())
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
	check.Is(t, orchdir.Rewrite(ctx, d.file("a"), func([]byte) ([]byte, error) { return nil, mine }), mine, "error of change")
	check.OK(t, os.Symlink("b", filepath.Join(d.path, "link")))
	check.Is(t, orchdir.Rewrite(ctx, d.file("link"), to("x")), orchdir.ErrNotRegular, "link")
	d.write("big", strings.Repeat("x", limit+1))
	check.Is(t, orchdir.Rewrite(ctx, d.file("big"), to("x")), orchdir.ErrTooLarge, "big")
	check.OK(t, os.RemoveAll(filepath.Join(d.path, "state")))
	d.write("state", "not a directory")
	check.That(t, orchdir.Rewrite(ctx, d.file("a"), to("x")) != nil, "state is a file")
	check.OK(t, os.Remove(filepath.Join(d.path, "state")))
	check.OK(t, os.Symlink(t.TempDir(), filepath.Join(d.path, "state")))
	check.That(t, orchdir.Rewrite(ctx, d.file("a"), to("x")) != nil, "state is a link")
	check.OK(t, os.RemoveAll(d.path))
	check.Is(t, orchdir.Rewrite(ctx, d.file("a"), to("x")), fs.ErrNotExist, "no directory")
	check.OK(t, os.Symlink(".", d.path))
	check.Is(t, orchdir.Rewrite(ctx, d.file("a"), to("x")), orchdir.ErrNotDirectory, "directory is a link")
}

func TestRewriteWaitsForTheLock(t *testing.T) {
	d := newDirectory(t)
	d.write("a", "1")
	release := holdLock(t, d.path)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	check.Is(t, orchdir.Rewrite(ctx, d.file("a"), to("2")), orchdir.ErrBusy, "locked")
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	check.Is(t, orchdir.Rewrite(cancelled, d.file("a"), to("2")), context.Canceled, "cancelled")
	check.That(t, d.read("a") == "1", "%q", d.read("a"))
	d.leftovers()
	done := make(chan error)
	go func() { done <- orchdir.Rewrite(context.Background(), d.file("a"), to("2")) }()
	release()
	check.OK(t, <-done)
	check.That(t, d.read("a") == "2", "%q", d.read("a"))
}

func TestEditorThatSavesInBetweenIsNotOverwritten(t *testing.T) {
	save := func(path string) error { return os.WriteFile(path, []byte("editor\n"), 0o644) }
	for name, c := range map[string]struct {
		old  string // "" for no file
		save func(d directory, path string) error
	}{
		"in place":  {"old\n", func(_ directory, path string) error { return save(path) }},
		"by rename": {"old\n", func(_ directory, path string) error { return errors.Join(save(path+"~"), os.Rename(path+"~", path)) }},
		"creating":  {"", func(_ directory, path string) error { return save(path) }},
		"replacing the directory": {"old\n", func(d directory, path string) error {
			return errors.Join(os.Rename(d.path, d.path+".old"), os.Mkdir(d.path, 0o755), save(path))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory(t)
			if c.old != "" {
				d.write("a", c.old)
			}
			calls := 0
			check.OK(t, orchdir.Rewrite(context.Background(), d.file("a"), func(old []byte) ([]byte, error) {
				if calls++; calls == 1 {
					check.OK(t, c.save(d, filepath.Join(d.path, "a")))
				}
				return append(old, "ours\n"...), nil
			}))
			check.Equal(t, d.read("a"), "editor\nours\n", "after %d calls", calls)
			check.That(t, calls == 2, "%d calls", calls)
			d.leftovers()
		})
	}
}

// What stands there for the moment of another writer's exchange is no reason to leave a file as it is.
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

// TestStress has writers append their lines to one file. None may be missing at the end.
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
			line := fmt.Sprintf("writer %d line %d\n", w, i)
			check.That(t, strings.Count(d.read("a"), line) == 1, "lost: %s", line)
		}
	}
	d.leftovers()
}

func TestReadFile(t *testing.T) {
	d := newDirectory(t)
	d.write("a", "text")
	data, info, err := orchdir.ReadFile(d.root, orchdir.Directory, "a", 4)
	check.That(t, err == nil && string(data) == "text" && info.Size() == 4, "%q %v", data, err)
	_, _, err = orchdir.ReadFile(d.root, orchdir.Directory, "a", 3)
	check.Is(t, err, orchdir.ErrTooLarge, "too large")
	_, _, err = orchdir.ReadFile(d.root, orchdir.Workspace, "a", 3)
	check.Is(t, err, fs.ErrNotExist, "missing")
	_, _, err = orchdir.ReadFile(d.root, orchdir.Workspace, orchdir.Name, 3)
	check.Is(t, err, orchdir.ErrNotRegular, "directory")
}

// holdLock locks the directory as another process would and returns what unlocks it.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Join(path, "state"), 0o700))
	file := check.Value(os.OpenFile(filepath.Join(path, "state", orchdir.LockName), os.O_RDONLY|os.O_CREATE, 0o600))(t)
	check.OK(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	return func() { check.OK(t, file.Close()) }
}
