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
	b.run("mkdir -p src/deep other big; echo a > src/a; echo b > src/b; echo x > src/deep/x; echo o > other/o; ln -s a src/l; seq 9999 > big/n")
	b.run("git init -qb main; git config core.createObject rename; git add src other big; git commit -qm one")
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
	change()
	w.Enclosed()
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
// everything finds.
func TestEnclosed(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"nothing", "cat src/a; ls -lR"},
		{"a write", "echo more >> src/a"},
		{"a write and back", "cp src/a big/k; echo more >> src/a; cat big/k > src/a"},
		{"times set back", "touch -r src/b big/ref; echo c > src/b; touch -r big/ref src/b"},
		{"truncated", "truncate -s 1 src/a; truncate -s 0 src/deep/x"},
		{"a mode", "chmod 600 src/a; chmod 700 src/deep"},
		{"touched out of scope", "touch -d 1999-01-01 other/o"},
		{"new", "echo n > src/deep/new; ln -s x src/deep/l; mkfifo src/pipe"},
		{"gone", "rm src/a; rm -r src/deep"},
		{"moved", "mv src/a src/z; mv src/b other/b; mv src/l other/l"},
		{"moved over another", "mv src/a src/b"},
		{"written beside and moved", "echo n > src/new; mv src/new src/a"},
		{"sed -i", "sed -i s/a/z/ src/a"},
		{"a file for a link", "rm src/l; echo l > src/l"},
		{"of several files", "for i in $(seq 50); do echo $i > src/deep/$i; done"},
		{"come and gone", "echo n > src/new; rm src/new"},
		{"moved twice", "echo n > src/new; mv src/new src/newer; mv src/newer src/a"},
		{"moved over what is new", "echo n > src/new; echo m > src/b; mv src/b src/new"},
		{"moved, written and moved back", "mv src/a other/a; echo evil > other/a; mv other/a src/a"},
		{"moved, written and gone", "mv src/a other/a; echo evil > other/a; rm other/a"},
		{"moved elsewhere, written and moved back", "mv src/a ../a; echo evil > ../a; mv ../a src/a"},
		{"a directory", "mkdir -p new/deep; echo n > new/deep/n"},
		{"a directory come and gone", "mkdir new; echo n > new/n; rm -r new"},
		{"a directory moved", "mv src/deep deep; echo evil > deep/x"},
		{"a directory moved and back", "mv src/deep deep; echo evil > deep/x; mv deep src/deep"},
		{"a directory moved elsewhere and back", "mv src/deep ../deep; echo evil > ../deep/x; mv ../deep src/deep"},
		{"a directory for a directory", "cp -r src/deep new; echo evil > new/x; rm -r src/deep; mv new src/deep"},
		{"a directory anew", "rm -r src/deep; mkdir src/deep; echo n > src/deep/n"},
		{"a directory where one was", "mv src/deep new; mv other src/deep; mv new other; echo evil > other/x"},
		{"written in a new directory", "mkdir new; mv src/a new/a; echo evil > new/a; mv new/a src/a; rmdir new"},
		{"a directory written in a new one", "mkdir new; mv src/deep new; echo evil > new/deep/x; mv new/deep src; rmdir new"},
		{"a commit", "echo more >> src/a; git add -A; git commit -qm two"},
		{"git's status", "touch src/a src/b; git status -s"},
		{"a branch", "git switch -qc feature/x; echo more >> src/a; git commit -qam two; git switch -q main"},
		{"another branch's directory", "git switch -qc two; mkdir two; echo 2 > two/2; git add .; git commit -qm two; git switch -q main; git switch -q two"},
		{"stashed", "echo more >> src/a; git stash -q; git stash pop -q"},
		{"packed", "git gc -q; git pack-refs --all"},
		{"a hook", "echo x > .git/hooks/pre-commit; mv .git/config .git/objects/config; echo >> .git/objects/config; mv .git/objects/config .git/config"},
		{"written in git's store", "mv src/a .git/objects/a; echo evil > .git/objects/a; mv .git/objects/a src/a"},
		{"written deep in git's store", "mkdir .git/objects/zz; mv src/a .git/objects/zz; echo evil > .git/objects/zz/a; mv .git/objects/zz/a src/a"},
		{"a directory written in git's store", "mv src/deep .git/objects/zz; echo evil > .git/objects/zz/x; mv .git/objects/zz src/deep"},
		{"out of git's store", "mv .git/objects src/objects; echo n > src/objects/n"},
		{"another repository", "git init -q sub; git -C sub commit -q --allow-empty -m one"},
		{"no repository", "rm -rf .git"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, deaf := enclosedTree(t)
			check.That(t, both(t, b, deaf, func() { b.run(c.line) }), "everything was looked at")
			check.That(t, both(t, b, deaf, func() { b.run("echo next >> src/next") }), "everything was looked at the next time")
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
		{"a mapping that stays open", func(b *bench, dir string) { b.mapsOpen("src/a") }, true},
		{"an attribute", func(b *bench, dir string) {
			b.must(unix.Setxattr(filepath.Join(dir, "other/o"), "user.x", []byte("x"), 0))
		}, true},
		{"two exchanged", func(b *bench, dir string) {
			b.must(unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "src/a"), unix.AT_FDCWD, filepath.Join(dir, "other/o"), unix.RENAME_EXCHANGE))
		}, true},
		{"two directories exchanged", func(b *bench, dir string) {
			one, other := filepath.Join(dir, "src/deep"), filepath.Join(dir, "other")
			b.must(unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE))
			b.must(os.WriteFile(filepath.Join(other, "x"), []byte("evil"), 0o644))
		}, true},
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
	} {
		t.Run(c.name, func(t *testing.T) {
			b, deaf := enclosedTree(t)
			partly := both(t, b, deaf, func() { c.change(b, b.dir) })
			check.That(t, partly == c.partly, "a part was looked at: %t", partly)
		})
	}
}

// mapsOpen writes a file as by a descriptor of which the kernel still disposes: that it was opened is all that is told.
func (b *bench) mapsOpen(name string) {
	b.t.Helper()
	f := check.Value(os.OpenFile(filepath.Join(b.dir, name), os.O_RDWR, 0))(b.t)
	memory := check.Value(unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))(b.t)
	b.t.Cleanup(func() { f.Close(); _ = unix.Munmap(memory) })
	memory[0] = 'z'
}

// TestOpensOfADirectoryAnew: a directory that takes the place and the number of one is told of as that was.
func TestOpensOfADirectoryAnew(t *testing.T) {
	for _, enclosed := range []bool{true, false} {
		b, deaf := enclosedTree(t)
		anew := func() { b.run("rm -r src/deep; mkdir src/deep; echo x > src/deep/x") }
		if enclosed {
			check.That(t, both(t, b, deaf, anew), "everything was looked at")
		} else {
			anew()
		}
		b.end(b.begin())
		b.keeper.Age()
		check.That(t, both(t, b, deaf, func() { b.mapsOpen("src/deep/x") }), "everything was looked at")
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
		before, left := b.keeper.RunsOut()
		check.That(t, left == before/2, "of %d directories %d are left", before, left)
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
		for _, line := range []string{
			"ln src/a other/n; echo evil > other/n; rm other/n", "ln src/a .git/objects/a; echo evil > .git/objects/a; rm .git/objects/a",
			"ln src/a ../a; echo evil > ../a; rm ../a", "mkdir new; ln src/a new/a; echo evil > new/a; rm -r new",
		} {
			b, _ := enclosedTree(t)
			b.want(b.changed(line), "modified src/a")
			check.That(t, !b.keeper.Partly(), "a part was looked at")
		}
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
