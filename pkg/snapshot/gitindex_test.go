package snapshot_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// TestGitAgreesOnTheIndex reads indexes of both shapes as git does.
func TestGitAgreesOnTheIndex(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		b := newBench(t)
		for _, name := range []string{"a", "ab", "abc/def", "abc/deg", "long/" + strings.Repeat("n", 200)} {
			b.write(name, name+"\n")
		}
		b.run("git init -q --template= && git add . && echo x > intended && git add -N intended && git update-index --index-version " + version)
		cmd := exec.Command("git", "ls-files", "-s")
		cmd.Dir = b.dir
		out, err := cmd.Output()
		b.must(err)
		want := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			want[strings.Fields(line)[1]] = true
		}
		index, err := os.ReadFile(filepath.Join(b.dir, ".git/index"))
		b.must(err)
		got := snapshot.BlobsOf(index, 20)
		check.That(t, maps.Equal(got, want), "version %s: %v, want %v", version, got, want)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("x", 60) + "\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff" + strings.Repeat("\x80", 100)))
	f.Add([]byte("DIRC"))
	f.Fuzz(func(t *testing.T, index []byte) {
		named := snapshot.BlobsOf(index, 20)
		check.That(t, len(named)*62 <= len(index), "%d names from %d bytes", len(named), len(index))
	})
}

// TestIndex: the description of the index is another where other contents would be committed, and only there.
func TestIndex(t *testing.T) {
	b := newBench(t)
	b.write("a", "one\n")
	b.write("b", "one\n")
	b.run("git init -q -b main && git add . && git commit -qm one")
	first := b.keeper.Index()
	check.Must(t, first != "", "there is none")
	for _, step := range []struct {
		line string
		same bool
	}{
		{"touch a b; git status -s", true},
		{"git update-index --refresh", true},
		{"git commit -q --allow-empty -m two", true},
		{"echo two > a", true},
		{"git add a", false},
		{"git reset -q", true},
		{"git rm -q --cached b", false},
		{"git read-tree HEAD", true},
		{"git update-index --chmod=+x a", false},
		{"rm .git/index", false},
	} {
		b.run(step.line)
		if same := b.keeper.Index() == first; same != step.same {
			t.Errorf("after %s: the same %v", step.line, same)
		}
	}
}
