//go:build linux && !portable

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
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

// A keeper with the kernel's notices and one without find the same, whatever happens between commands and in them, which are
// enclosed.
func TestNoticesChangeNothing(t *testing.T) {
	b := newBench(t)
	deaf := snapshot.Open(b.options)
	deaf.Deaf()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/f/a", "g/a", "g/d/a"}
	step := func(ways int) {
		one, other := names[random.IntN(len(names))], names[random.IntN(len(names))]
		switch random.IntN(ways) {
		case 0, 1, 2:
			b.run(fmt.Sprintf("mkdir -p $(dirname %s) 2>/dev/null; echo %d > %s || true", one, random.IntN(5), one))
		case 3:
			b.run(fmt.Sprintf("rm -rf ./%s", one))
		case 4:
			b.run(fmt.Sprintf("mv -T ./%s ./%s 2>/dev/null || true", one, other))
		case 5:
			b.run(fmt.Sprintf("mv -T ./$(dirname %s) ./$(dirname %s) 2>/dev/null || true", one, other))
		case 6:
			b.run(fmt.Sprintf("ln -f ./%s ./%s 2>/dev/null || true", one, other))
		case 7:
			b.run(fmt.Sprintf("chmod %s ./%s 2>/dev/null || true", []string{"600", "644"}[random.IntN(2)], one))
		case 8:
			b.run(fmt.Sprintf("echo x > ./n && mv -T ./n ./%s 2>/dev/null || true", one))
		case 9: // only by commands: see the package's documentation
			b.run(fmt.Sprintf("ln ./%s ./n 2>/dev/null && echo linked > ./n && rm ./n || true", one))
		}
	}
	partly, enclosed := 0, 0
	for round := range 120 {
		for range random.IntN(4) {
			step(9)
		}
		silent, err := deaf.Begin(t.Context(), nil)
		b.must(err)
		w := b.begin()
		w.Enclosed()
		if b.keeper.Partly() {
			partly++
		}
		check.Must(t, !deaf.Partly(), "a keeper without notices looked at a part")
		for range random.IntN(4) {
			step(10)
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
	check.That(t, partly >= 100 && enclosed >= 20, "of 120 looks before only %d were at a part, and of those after %d", partly, enclosed)
}
