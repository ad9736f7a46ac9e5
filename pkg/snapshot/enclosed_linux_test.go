//go:build linux && !portable

package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// enclosedTree is a workspace that was looked at, with a keeper that is told of nothing beside that of the bench.
func enclosedTree(t *testing.T) (*bench, *snapshot.Keeper) {
	t.Helper()
	b := newBench(t)
	t.Cleanup(func() { b.keeper.Close() })
	b.run("mkdir -p src/deep other big; echo a > src/a; echo b > src/b; echo x > src/deep/x; echo o > other/o; ln -s a src/l; seq 9999 > big/n")
	deaf := snapshot.Open(b.options)
	deaf.Deaf()
	t.Cleanup(deaf.Close)
	b.end(b.begin())
	b.keeper.Age()
	return b, deaf
}

// both has something change between two looks of both keepers, for a command that is enclosed, and holds the accounts against
// each other.
func both(t *testing.T, b *bench, deaf *snapshot.Keeper, change func()) (partly bool) {
	t.Helper()
	inScope := func(path string) bool { return !strings.HasPrefix(path, "other") }
	silent := check.Value(deaf.Begin(t.Context(), inScope))(t)
	w := check.Value(b.keeper.Begin(t.Context(), inScope))(t)
	w.Enclosed()
	change()
	got := b.end(w)
	partly = b.keeper.Partly()
	want := b.end(silent)
	check.That(t, slices.Equal(account(got), account(want)), "told\n  %q\nand without notices\n  %q", account(got), account(want))
	return partly
}

func account(d *snapshot.Difference) []string {
	lines := told(d)
	for _, touched := range d.Touched {
		lines = append(lines, touched.Path+": "+touched.What)
	}
	return append(lines, fmt.Sprint(d.Gaps))
}

// TestEnclosed: after a command that is enclosed, only what the kernel told of is looked at, and nothing is missing that a look at
// everything finds. What it cannot tell of has everything looked at.
func TestEnclosed(t *testing.T) {
	for _, c := range []struct {
		name, line string
		partly     bool
	}{
		{"nothing", "cat src/a; ls -lR", true},
		{"a write", "echo more >> src/a", true},
		{"a write and back", "cp src/a big/k; echo more >> src/a; cat big/k > src/a", true},
		{"times set back", "touch -r src/b big/ref; echo c > src/b; touch -r big/ref src/b", true},
		{"truncated", "truncate -s 1 src/a; truncate -s 0 src/deep/x", true},
		{"a mode", "chmod 600 src/a; chmod 700 src/deep", true},
		{"touched out of scope", "touch -d 1999-01-01 other/o", true},
		{"new", "echo n > src/deep/new; ln -s x src/deep/l; mkfifo src/pipe", true},
		{"gone", "rm src/a; rm -r src/deep", true},
		{"moved", "mv src/a src/z; mv src/b other/b; mv src/l other/l", true},
		{"moved over another", "mv src/a src/b", true},
		{"written beside and moved", "echo n > src/new; mv src/new src/a", true},
		{"sed -i", "sed -i s/a/z/ src/a", true},
		{"a file for a link", "rm src/l; echo l > src/l", true},
		{"of several files", "for i in $(seq 50); do echo $i > src/deep/$i; done", true},
		{"come and gone", "echo n > src/new; rm src/new", false},
		{"moved twice", "echo n > src/new; mv src/new src/newer; mv src/newer src/a", false},
		{"moved over what is new", "echo n > src/new; echo m > src/b; mv src/b src/new", false},
		{"another name", "ln src/a other/a", false},
		{"another name of a link", "ln src/l other/l", false},
		{"written by another name", "ln src/a other/a; echo evil > other/a; rm other/a", false},
		{"written by another name that took a place", "ln src/a other/a; mv other/a other/o; echo evil > other/o; echo o > other/n; mv other/n other/o", false},
		{"written by a name that came from elsewhere", "ln src/a ../a; mv ../a other/a; echo evil > other/a; rm other/a", false},
		{"written by a name that went elsewhere", "ln src/a other/a; mv other/a ../a; echo evil > ../a; rm ../a", false},
		{"a directory", "mkdir new; echo n > new/n", false},
		{"written by a name in a directory", "mkdir new; ln src/a new/a; echo evil > new/a; rm new/a", false},
		{"written by a name in a directory that is gone", "mkdir new; ln src/a new/a; echo evil > new/a; rm -r new", false},
		{"a directory moved", "mv src/deep deep; echo evil > deep/x", false},
		{"a directory moved and back", "mv src/deep deep; echo evil > deep/x; mv deep src/deep", false},
		{"a directory for a directory", "cp -r src/deep new; echo evil > new/x; rm -r src/deep; mv new src/deep", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, deaf := enclosedTree(t)
			partly := both(t, b, deaf, func() { b.run(c.line) })
			check.That(t, partly == c.partly, "a part was looked at: %t", partly)
			partly = both(t, b, deaf, func() { b.run("echo next >> src/next") })
			check.That(t, partly, "everything was looked at the next time")
		})
	}
}

// TestEnclosedCalls is TestEnclosed for what no shell can do.
func TestEnclosedCalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *bench, dir string)
		partly bool
	}{
		{"a mapping that stays open", func(b *bench, dir string) {
			// As of a descriptor that the kernel still disposes of: that it was opened is all that is told.
			f := check.Value(os.OpenFile(filepath.Join(dir, "src/a"), os.O_RDWR, 0))(b.t)
			memory := check.Value(unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))(b.t)
			b.t.Cleanup(func() { f.Close(); _ = unix.Munmap(memory) })
			memory[0] = 'z'
		}, true},
		{"an attribute", func(b *bench, dir string) {
			b.must(unix.Setxattr(filepath.Join(dir, "other/o"), "user.x", []byte("x"), 0))
		}, true},
		{"a file without a name", func(b *bench, dir string) {
			f := check.Value(unix.Open(filepath.Join(dir, "src"), unix.O_TMPFILE|unix.O_RDWR, 0o644))(b.t)
			defer unix.Close(f)
			check.Value(unix.Write(f, []byte("n")))(b.t)
			b.must(unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f), unix.AT_FDCWD, filepath.Join(dir, "src/new"), unix.AT_SYMLINK_FOLLOW))
		}, true},
		{"two exchanged", func(b *bench, dir string) {
			b.must(unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "src/a"), unix.AT_FDCWD, filepath.Join(dir, "other/o"), unix.RENAME_EXCHANGE))
		}, true},
		{"written by another name that was exchanged", func(b *bench, dir string) {
			one, other := filepath.Join(dir, "other/one"), filepath.Join(dir, "other/o")
			b.must(os.Link(filepath.Join(dir, "src/a"), one))
			b.must(unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE))
			b.must(os.WriteFile(other, []byte("evil"), 0o644))
			b.must(os.Remove(other))
		}, false},
		{"more notices than are kept", func(b *bench, dir string) {
			for i := range 20_000 {
				b.must(os.Chmod(filepath.Join(dir, "src/a"), 0o644+os.FileMode(i%2)))
				b.must(os.Chmod(filepath.Join(dir, "src/deep"), 0o755))
			}
		}, false},
		{"placeholders", func(b *bench, dir string) {
			for i, dir := range []string{dir, filepath.Join(dir, "src")} {
				b.placeholder(filepath.Join(dir, ".envrc"), i == 0)
			}
		}, true},
		{"the server's own", func(b *bench, dir string) {
			temporary := filepath.Join(dir, ".orchestration/new")
			b.must(os.MkdirAll(filepath.Join(dir, ".orchestration/cache/x"), 0o755))
			b.must(os.WriteFile(temporary, nil, 0o644))
			b.must(os.Rename(temporary, filepath.Join(dir, ".orchestration/intent_map.md")))
		}, true},
		{"names like those of placeholders", func(b *bench, dir string) {
			temporary := filepath.Join(dir, "src", ".orchestra-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp")
			b.must(os.Link(filepath.Join(dir, "src/a"), temporary))
			b.must(os.Rename(temporary, filepath.Join(dir, "src/.envrc")))
			b.must(os.WriteFile(filepath.Join(dir, "src/.envrc"), []byte("evil"), 0o644))
			b.must(os.Remove(filepath.Join(dir, "src/.envrc")))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, deaf := enclosedTree(t)
			partly := both(t, b, deaf, func() { c.change(b, b.dir) })
			check.That(t, partly == c.partly, "a part was looked at: %t", partly)
		})
	}
}

// placeholder puts one somewhere and takes it away, as the sandbox does.
func (b *bench) placeholder(path string, directory bool) {
	b.t.Helper()
	dir := filepath.Dir(path)
	temporary := filepath.Join(dir, placeholder.NewTemporary())
	if directory {
		b.must(os.Mkdir(temporary, 0o755))
		b.must(os.Rename(temporary, path))
		b.must(os.Remove(path))
		return
	}
	b.must(os.WriteFile(temporary, nil, 0o644))
	b.must(os.Rename(temporary, path))
	temporary = filepath.Join(dir, placeholder.NewTemporary())
	b.must(os.Rename(path, temporary))
	b.must(os.Remove(temporary))
}

// TestEnclosedNeedsAll: where the kernel does not tell of everything, or somebody else runs, everything is looked at.
func TestEnclosedNeedsAll(t *testing.T) {
	change := func(b *bench) func() { return func() { b.run("echo more >> src/a") } }
	t.Run("few watches", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		b.keeper = snapshot.Open(b.options)
		b.keeper.Watching(3)
		b.end(b.begin())
		check.That(t, !both(t, b, deaf, change(b)), "a part was looked at")
	})
	t.Run("no watches left", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		check.That(t, both(t, b, deaf, change(b)), "everything was looked at")
		check.That(t, b.keeper.RunsOut() == 3, "of six directories three are not given back")
		check.That(t, !both(t, b, deaf, change(b)), "a part was looked at")
	})
	t.Run("nobody tells what is opened", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		b.keeper = snapshot.Open(b.options)
		b.keeper.NoOpens()
		b.end(b.begin())
		check.That(t, !both(t, b, deaf, change(b)), "a part was looked at")
	})
	t.Run("a command that is not enclosed", func(t *testing.T) {
		b, _ := enclosedTree(t)
		b.want(b.changed("ln src/a ../a; echo evil > ../a; rm ../a"), "modified src/a")
		check.That(t, !b.keeper.Partly(), "a part was looked at")
	})
	t.Run("two commands", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		beside := b.scoped("other")
		beside.Enclosed()
		check.That(t, !both(t, b, deaf, change(b)), "a part was looked at")
		b.end(beside)
	})
	t.Run("another server's command", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		running := b.elsewhere()
		b.end(b.begin())
		check.That(t, !both(t, b, deaf, func() { running.begin("none"); change(b)() }), "a part was looked at")
	})
	t.Run("a gap", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		b.run("mkdir -p " + strings.Repeat("d/", workspace.MaxDepth+9))
		b.end(b.begin())
		b.end(b.begin())
		check.That(t, !both(t, b, deaf, change(b)), "a part was looked at")
	})
	t.Run("a mount", func(t *testing.T) {
		b, deaf := enclosedTree(t)
		if err := unix.Mount("tmpfs", filepath.Join(b.dir, "other"), "tmpfs", 0, ""); err != nil {
			t.Skip(err)
		}
		ended := false
		end := func() {
			if !ended {
				b.must(unix.Unmount(filepath.Join(b.dir, "other"), 0))
			}
			ended = true
		}
		t.Cleanup(end)
		b.end(b.begin())
		time.Sleep(50 * time.Millisecond) // more than the grain of a file's time of change
		check.That(t, !both(t, b, deaf, end), "a part was looked at")
	})
}
