package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// TestTouched: of what is out of scope it is told that something of it changed that is neither content nor rights.
func TestTouched(t *testing.T) {
	for _, c := range []struct {
		name, line string
		attributes []string // files that get an extended attribute
		want       []string // path and a part of what is said
	}{
		{name: "nothing", line: "cat docs/a; ls -R; ls docs/dir"},
		{name: "in scope", line: "touch src/a; chmod 700 src/dir; chmod 755 src/dir"},
		{name: "touch", line: "touch -d 1999-01-01 docs/a", want: []string{"docs/a: time of modification"}},
		{name: "an attribute of a file", attributes: []string{"docs/a"}, want: []string{"docs/a: extended attribute"}},
		{name: "an attribute of a directory", attributes: []string{"docs/dir"}, want: []string{"docs/dir: extended attribute"}},
		{name: "rights and back", line: "chmod 600 docs/a; chmod 644 docs/a", want: []string{"docs/a: written back"}},
		{name: "written and written back", line: "cp docs/a src/k; echo x > docs/a; cat src/k > docs/a", want: []string{"docs/a: time of modification"}},
		{name: "another name", line: "ln docs/a src/k", want: []string{"docs/a: names (1 before, 2 now)"}},
		{name: "made anew", line: "cp docs/a docs/b; mv docs/b docs/a", want: []string{"docs/a: made anew"}},
		{name: "a new name in a directory", line: "echo x > docs/dir/new"},
		{name: "a name that comes and goes", line: "echo x > docs/dir/new; rm docs/dir/new"},
		{name: "changed too", line: "echo x >> docs/a; touch -d 1999-01-01 docs/a"},
		{name: "a directory renamed and back", line: "mv docs/dir docs/e; mv docs/e docs/dir", want: []string{"docs/dir: name and back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			for _, name := range []string{"docs/a", "docs/dir/b", "src/a", "src/dir/b"} {
				b.write(name, "x\n")
			}
			b.end(b.begin())
			w := b.scoped("src")
			for _, name := range c.attributes {
				b.must(unix.Setxattr(filepath.Join(b.dir, name), "user.x", []byte("x"), 0))
			}
			b.run(c.line)
			d := b.end(w)
			var got []string
			for _, one := range d.Touched {
				got = append(got, one.Path+": "+one.What)
			}
			check.Must(t, len(got) == len(c.want), "told %q, want %q", got, c.want)
			for i, want := range c.want {
				path, what, _ := strings.Cut(want, ": ")
				if !strings.HasPrefix(got[i], path+": ") || !strings.Contains(got[i], what) {
					t.Errorf("told %q, want %q", got[i], want)
				}
			}
			again := b.changed("true")
			check.That(t, len(again.Touched) == 0, "told again: %v", again.Touched)
		})
	}
}

// TestTouchedByTwo: what two commands may have touched is told of both, if none of them may.
func TestTouchedByTwo(t *testing.T) {
	b := newBench(t)
	b.write("docs/a", "x\n")
	b.write("src/a", "x\n")
	one, two := b.scoped("src"), b.scoped("other")
	b.run("touch -d 1999-01-01 docs/a src/a")
	for _, w := range []*snapshot.Window{one, two} {
		d := b.end(w)
		check.That(t, len(d.Touched) == 1 && d.Touched[0].Path == "docs/a" && d.Touched[0].Shared, "%v", d.Touched)
	}
}

// TestLinked: the files with several names are known from the walk, with the number of all their names.
func TestLinked(t *testing.T) {
	b := newBench(t)
	b.write("src/a", "a\n")
	b.write("src/b", "b\n")
	b.write("docs/c", "c\n")
	b.must(os.Link(filepath.Join(b.dir, "docs/c"), filepath.Join(b.dir, "src/c")))
	b.must(os.Link(filepath.Join(b.dir, "src/b"), filepath.Join(t.TempDir(), "elsewhere")))
	told := func() []string {
		var names []string
		w := b.begin()
		for _, l := range w.Linked().Files {
			names = append(names, fmt.Sprintf("%s/%s %d", l.Dir, l.Name, l.Links))
		}
		b.end(w)
		slices.Sort(names)
		return names
	}
	want := []string{"docs/c 2", "src/b 2", "src/c 2"}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	b.must(os.Link(filepath.Join(b.dir, "src/a"), filepath.Join(t.TempDir(), "elsewhere"))) // no directory here changes by it
	if got := told(); !slices.Equal(got, append([]string{"docs/c 2", "src/a 2"}, want[1:]...)) {
		t.Errorf("%q", got)
	}
}
