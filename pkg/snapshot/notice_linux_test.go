//go:build linux && !portable

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// What somebody did between two commands is known before the second, so it is not taken for its work, and the content
// before is theirs.
func TestBetweenCommands(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":               ":",
		"a file written":        "echo editor > src/deep/a.txt",
		"times set back":        "touch -r src/b.txt ref; echo other > src/deep/a.txt; touch -r ref src/deep/a.txt; rm ref",
		"a file replaced":       "echo editor > new; mv new src/deep/a.txt",
		"a mode":                "chmod 600 src/deep/a.txt; chmod 700 src/deep",
		"a file gone":           "rm src/deep/a.txt",
		"a new tree":            "mkdir -p x/y/z; echo 1 > x/y/z/1; echo 2 > x/2",
		"a directory moved":     "mv src/deep moved; echo editor > moved/a.txt",
		"moved and back":        "mv src/deep moved; echo editor > moved/a.txt; mv moved src/deep",
		"a directory swapped":   "mv src/deep old; cp -r old src/deep; echo editor > src/deep/a.txt; rm -r old",
		"a directory gone":      "rm -r src/deep; mkdir src/deep; echo editor > src/deep/a.txt",
		"a link instead":        "rm src/deep/a.txt; ln -s ../b.txt src/deep/a.txt",
		"git":                   "git add -A; git commit -qm one; git checkout -qb two; echo editor > src/deep/a.txt; git commit -qam two; git checkout -q main",
		"by another name":       "echo editor > ../outside/linked.txt",
		"governance":            "echo '# more' >> .orchestration/active_intents.yaml",
		"a new name":            "ln src/deep/a.txt name; echo editor > name",
		"a new name that moved": "ln src/deep/a.txt name; echo editor > name; mkdir x; mv name x",
		"hooks":                 "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.run("git init -qb main .; mkdir -p ../outside src/deep; echo a > src/deep/a.txt; echo b > src/b.txt; echo l > ../outside/linked.txt; ln ../outside/linked.txt linked.txt")
			b.end(b.begin())
			b.end(b.begin())
			b.run(line)
			w := b.begin()
			if b.keeper.Partly() == strings.HasPrefix(name, "a new name") {
				t.Errorf("a part was looked at: %t", b.keeper.Partly())
			}
			before, _ := os.ReadFile(filepath.Join(b.dir, "src/deep/a.txt"))
			b.run("mkdir -p src/deep; echo command >> src/deep/a.txt")
			d := b.end(w)
			for _, c := range d.Changes {
				if kindOf(c) == snapshot.Directory || strings.HasSuffix(c.Path, "a.txt") || strings.HasSuffix(c.Path, "name") || c.Path == "src/b.txt" {
					continue
				}
				t.Errorf("%s %s is taken for the command's", c.Op, c.Path)
			}
			if c := d.Changes[len(d.Changes)-1]; before != nil && c.Before != nil && string(c.Before.Bytes) != string(before) {
				t.Errorf("before %s the command stood %q, not %q", c.Path, before, c.Before.Bytes)
			}
		})
	}
}

// More than the kernel keeps makes the look one at everything.
func TestTooManyNotices(t *testing.T) {
	b := newBench(t)
	b.run("mkdir src; echo a > src/a.txt")
	b.end(b.begin())
	// Each kind differs from the one before, else the kernel joins them.
	for i := range 20_000 {
		b.must(os.Chmod(filepath.Join(b.dir, "src/a.txt"), 0o644+os.FileMode(i%2)))
		b.must(os.Chmod(filepath.Join(b.dir, "src"), 0o755))
	}
	b.write("src/b.txt", "editor\n")
	b.want(b.changed("echo c > src/c.txt"), "created src/c.txt")
	if w := b.begin(); !b.keeper.Partly() {
		t.Error("it goes on looking at everything")
	} else {
		w.Discard()
	}
}

// A command that runs in the background writes through a mapping, or by a name elsewhere, of which no notice comes: the look
// for the next command is at everything.
func TestNoNoticesWhileACommandRuns(t *testing.T) {
	b := newBench(t)
	b.write("mapped", strings.Repeat("a", 4096))
	b.end(b.begin())
	running := b.begin()
	f, err := os.OpenFile(filepath.Join(b.dir, "mapped"), os.O_RDWR, 0)
	b.must(err)
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	b.must(err)
	defer unix.Munmap(memory)
	memory[0] = 'b'
	second := b.begin()
	check.That(t, !b.keeper.Partly(), "only a part was looked at")
	b.want(b.end(second))
	b.want(b.end(running), "modified mapped")
}

// A keeper with the kernel's notices and one without find the same, whatever happens between commands and in them. Those are enclosed
// that give no file one more name.
func TestNoticesChangeNothing(t *testing.T) {
	b := newBench(t)
	b.run("git init -qb main; git config core.createObject rename; git config gc.auto 0; git commit -q --allow-empty -m one")
	deaf := snapshot.Open(b.options)
	deaf.Deaf()
	steps := &steps{bench: b, random: rand.New(rand.NewPCG(1, 2))}
	partly, enclosed, single := 0, 0, 0
	for round := range 200 {
		for range steps.random.IntN(4) {
			steps.take(15)
		}
		silent, err := deaf.Begin(t.Context(), nil)
		b.must(err)
		w := b.begin()
		if b.keeper.Partly() {
			partly++
		}
		check.Must(t, !deaf.Partly(), "a keeper without notices looked at a part")
		links := false
		for range steps.random.IntN(4) {
			links = steps.take(16) || links
		}
		if !links {
			w.Enclosed()
			single++
		}
		got := told(b.end(w))
		if b.keeper.Partly() {
			enclosed++
		}
		all, err := silent.End(t.Context())
		b.must(err)
		if want := told(all); !slices.Equal(got, want) {
			t.Fatalf("round %d: with notices\n  %s\nwithout\n  %s", round, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	check.That(t, partly >= 160 && enclosed >= single*9/10, "of 200 looks before only %d were at a part, and of %d after %d", partly, single, enclosed)
}

// steps are what somebody does at random.
type steps struct {
	*bench
	random *rand.Rand
}

// take does one of the first of some ways, and reports whether a file got one more name.
func (s *steps) take(ways int) (links bool) {
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/f/a", "g/a", "g/d/a", ".git/objects/x", ".git/objects/zz/x", ".git/hooks/x", ".git/hooks/y/x"}
	name := func() string { return names[s.random.IntN(len(names))] }
	try := func(format string, args ...any) {
		s.run(fmt.Sprintf("{ "+format+"; } >/dev/null 2>&1 || true", args...))
	}
	one, other := name(), name()
	switch s.random.IntN(ways) {
	case 0, 1, 2:
		try("mkdir -p $(dirname %s); echo %d > %s", one, s.random.IntN(5), one)
	case 3:
		try("rm -rf ./%s", one)
	case 4:
		try("mv -T ./%s ./%s", one, other)
	case 5:
		if one, other = path.Dir(one), path.Dir(other); one != "." && one != ".git/objects" {
			try("mv -T ./%s ./%s", one, other)
		}
	case 6:
		try("ln -f ./%s ./%s", one, other)
		return true
	case 7:
		try("chmod %s ./%s", []string{"600", "644"}[s.random.IntN(2)], one)
	case 8:
		try("echo x > ./n && mv -T ./n ./%s", one)
	case 9:
		try("mv -T ./%s ./n && mkdir -p x && mv n x && echo moved > x/n && mv -T x/n ./%s; rm -rf ./n ./x", one, one)
	case 10:
		try("git add -A; git commit -qm more")
	case 11:
		try("git status; git diff")
	case 12:
		try("git checkout -qB b%d; git reset -q --hard HEAD~%d", s.random.IntN(3), s.random.IntN(3))
	case 13:
		try("git stash -qu; git stash pop -q")
	case 14:
		try("git pack-refs --all; git gc -q")
	case 15: // only by commands: see the package's documentation
		try("ln ./%s ./n && echo linked > ./n && rm ./n", one)
		return true
	}
	return false
}
