//go:build unix

package server_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/images"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

// runs runs a line as an agent does, and gives the record's id.
func (b *bench) runs(line string) string {
	b.t.Helper()
	return b.ok("execute_command", args{"command": line}).str("record_id")
}

// committed is a workspace under git with all of its files committed.
func committed(t *testing.T) *bench {
	t.Helper()
	dir := newWorkspace(t)
	write(t, dir, "src/b.txt", "b\n")
	write(t, dir, "src/bin", "\x00\x01")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	b := start(t, dir, withoutSandbox).connect()
	b.selects("INT-005")
	return b
}

func TestUndoOfCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line string }{
		{"one file", "sed -i s/two/2/ src/a.txt"},
		{"several", "sed -i s/two/2/ src/a.txt; rm src/b.txt src/bin; echo new > src/new.txt; mv docs/other.md docs/moved.md"},
		{"a file overwritten by a move", "mv src/b.txt src/a.txt"},
		{"a directory moved", "mv src source"},
		{"an untracked file", "echo more >> src/untracked"},
		{"contents and permissions", "chmod 755 src/b.txt; echo x >> src/a.txt; chmod 644 src/b.txt"},
		{"git rm", "git rm -q src/b.txt"},
		{"a file became a directory", "rm src/a.txt; mkdir src/a.txt; cp src/b.txt src/a.txt/in; rm src/a.txt/in; rmdir src/a.txt; cp src/b.txt src/a.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := committed(t)
			write(t, b.dir, "src/untracked", "untracked\n")
			before := b.tree()
			id := b.runs(c.line)
			after := b.tree()
			undone := b.undoes(id)
			b.hasTree(before)
			again := b.undoes(undone) // does the work again
			b.hasTree(after)
			b.undoes(again)
			b.hasTree(before)
		})
	}
}

// tree has the content of every file but of those of git and the server.
func (b *bench) tree() map[string]string {
	b.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".orchestration"):
			return filepath.SkipDir
		case d.Type().IsRegular():
			content, err := os.ReadFile(path)
			name, _ := filepath.Rel(b.dir, path)
			found[name] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func (b *bench) hasTree(want map[string]string) {
	b.t.Helper()
	if got := b.tree(); !maps.Equal(got, want) {
		b.t.Errorf("the files are\n%q\nwant\n%q", got, want)
	}
}

// conflict demands that a plan cannot be carried out, and why.
func (b *bench) conflict(p *undo.Plan, path, reason string) {
	b.t.Helper()
	for _, c := range p.Conflicts {
		if c.Path == path && strings.Contains(c.Reason, reason) && !p.Ready() {
			return
		}
	}
	b.t.Errorf("no conflict of %s that says %q: %+v", path, reason, p)
}

// What came after a command stays; where both touch the same lines nothing is
// changed.
func TestUndoOfACommandThatWasGoneOnFrom(t *testing.T) {
	t.Parallel()
	b := committed(t)
	write(t, b.dir, "src/long", strings.Repeat("line\n", 20))
	id := b.runs("sed -i '2s/.*/by the command/' src/long")
	later := exec.Command("sed", "-i", "15s/.*/by a person/", filepath.Join(b.dir, "src/long"))
	if out, err := later.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	b.undoes(id)
	if got := b.read("src/long"); strings.Contains(got, "by the command") || !strings.Contains(got, "by a person") {
		t.Errorf("%q", got)
	}
	id = b.runs("sed -i '2s/.*/by the command/' src/long")
	b.runs("sed -i '2s/.*/by another/' src/long")
	b.conflict(b.plan(id), "src/long", "the same lines have changed since")
}

// Where the content before is not there, undo says so and changes nothing.
func TestUndoOfACommandWithoutBeforeImage(t *testing.T) {
	t.Parallel()
	b := committed(t)
	write(t, b.dir, "src/untracked", "nobody has this\n")
	b.runs("true") // it is read, and kept
	id := b.runs("echo over > src/untracked; echo x >> src/a.txt")
	b.hangUp()
	b.close()
	if err := os.RemoveAll(filepath.Join(b.dir, ".orchestration/cache/images")); err != nil {
		t.Fatal(err)
	}
	again := start(t, b.dir).connect()
	again.conflict(again.plan(id), "src/untracked", "is no longer kept, and git does not have it either")
	again.reads("src/a.txt", "one\ntwo\nthree\nx\n")

	for _, c := range []struct{ line, why string }{
		{"ln -s a.txt src/link", "a symbolic link"},
		{"rm src/link", "a symbolic link"},
		{"mkfifo src/pipe", "a FIFO"},
		{"rm src/pipe", "a FIFO"},
	} {
		line, why := c.line, c.why
		again.selects("INT-005")
		id := again.runs(line)
		p := again.plan(id)
		if p.Ready() || len(p.Conflicts) == 0 || !strings.Contains(p.Conflicts[0].Reason, why) {
			t.Errorf("%s: %+v", line, p)
		}
	}
}

// What nobody had read is said in the result, in the record, and by undo.
func TestChangeOfALargeFileSaysThatItCannotBeUndone(t *testing.T) {
	t.Parallel()
	b := committed(t)
	write(t, b.dir, "src/large", strings.Repeat("0123456789abcdef", images.DefaultLargest/64))
	b.runs("true")
	r := b.ok("execute_command", args{"command": "echo x >> src/large"})
	if !strings.Contains(r.Text, "undo cannot bring it back") {
		t.Errorf("%.500s", r.Text)
	}
	p := b.plan(r.str("record_id"))
	if p.Ready() || len(p.Conflicts) != 1 {
		t.Errorf("%+v", p)
	}
}
