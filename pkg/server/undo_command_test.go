//go:build unix

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

// runs runs a line as an agent does, and gives the record's id.
func (b *bench) runs(line string) string {
	b.t.Helper()
	r := b.OK("execute_command", args{"command": line})
	if taken, is := r.Object["change_record_id"].(string); is {
		return taken
	}
	return r.Str("record_id")
}

// committed is a workspace under git with all of its files committed.
func committed(t *testing.T) *bench {
	t.Helper()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/b.txt", "b\n")
	check.Write(t, dir, "src/bin", "\x00\x01")
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	b, _ := start(t, dir, withoutSandbox).under("INT-005")
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
			check.Write(t, b.dir, "src/untracked", "untracked\n")
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
	check.OK(b.t, filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
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
	}))
	return found
}

func (b *bench) hasTree(want map[string]string) {
	b.t.Helper()
	got := b.tree()
	check.That(b.t, maps.Equal(got, want), "the files are\n%q\nwant\n%q", got, want)
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

// What came after a command stays; where both touch the same lines nothing is changed.
func TestUndoOfACommandThatWasGoneOnFrom(t *testing.T) {
	t.Parallel()
	b := committed(t)
	check.Write(t, b.dir, "src/long", strings.Repeat("line\n", 20))
	id := b.runs("sed -i '2s/.*/by the command/' src/long")
	later := exec.Command("sed", "-i", "15s/.*/by a person/", filepath.Join(b.dir, "src/long"))
	out, err := later.CombinedOutput()
	check.Must(t, err == nil, "%v %s", err, out)
	b.undoes(id)
	got := b.read("src/long")
	check.That(t, !strings.Contains(got, "by the command") && strings.Contains(got, "by a person"), "%q", got)
	id = b.runs("sed -i '2s/.*/by the command/' src/long")
	b.runs("sed -i '2s/.*/by another/' src/long")
	b.conflict(b.plan(id), "src/long", "the same lines have changed since")
}

// Where the content before is not there, undo says so and changes nothing.
func TestUndoOfACommandWithoutBeforeImage(t *testing.T) {
	t.Parallel()
	b := committed(t)
	check.Write(t, b.dir, "src/untracked", "nobody has this\n")
	b.runs("true") // it is read, and kept
	id := b.runs("echo over > src/untracked; echo x >> src/a.txt")
	b.hangUp()
	b.close()
	check.OK(t, os.RemoveAll(filepath.Join(b.dir, ".orchestration/cache/images")))
	again := start(t, b.dir, direct).connect()
	again.conflict(again.plan(id), "src/untracked", "is no longer kept, and git does not have it either")
	again.reads("src/a.txt", "one\ntwo\nthree\nx\n")

	for _, c := range []struct{ line, why string }{
		{"ln -s a.txt src/link", "a symbolic link"},
		{"rm src/link", "a symbolic link"},
		{"mkfifo src/pipe", "a FIFO"},
		{"rm src/pipe", "a FIFO"},
	} {
		line, why := c.line, c.why
		again.Selects("INT-005")
		id := again.runs(line)
		p := again.plan(id)
		check.That(t, !p.Ready() && len(p.Conflicts) != 0 && strings.Contains(p.Conflicts[0].Reason, why), "%s: %+v", line, p)
	}
}

// What nobody had read is said in the result, in the record, and by undo.
func TestChangeOfALargeFileSaysThatItCannotBeUndone(t *testing.T) {
	t.Parallel()
	b := committed(t)
	check.Write(t, b.dir, "src/large", strings.Repeat("0123456789abcdef", kept.DefaultLargest/64))
	b.runs("true")
	r := b.OK("execute_command", args{"command": "echo x >> src/large"})
	check.That(t, strings.Contains(r.Text, "undo cannot bring it back"), "%.500s", r.Text)
	p := b.plan(r.Str("record_id"))
	check.That(t, !p.Ready() && len(p.Conflicts) == 1, "%+v", p)
}

// undoEnv makes this test binary undo and redo all that INT-005 did in the
// workspace that it names, again and again, until it is killed.
const undoEnv = "ORCHESTRA_TEST_UNDO"

func undoAsChild(dir string) error {
	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults()})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if err := undoOrRedo(context.Background(), srv); err != nil {
			return err
		}
	}
}

// undoOrRedo undoes the intent; where nothing of it stands, it undoes the last undo.
func undoOrRedo(ctx context.Context, srv *server.Server) error {
	p, err := srv.PlanUndo(ctx, undo.Request{IntentID: "INT-005"})
	if err == nil && len(p.Records) == 0 {
		var last ledger.Result
		last, err = srv.Ledger().Query(ctx, record.Filter{IntentID: "INT-005", Kinds: record.ChangeKinds(), Newest: true, Limit: 1})
		if err == nil {
			p, err = srv.PlanUndo(ctx, undo.Request{Records: []string{last.Entries[0].ID}})
		}
	}
	if err != nil {
		return err
	}
	if !p.Ready() {
		return fmt.Errorf("not ready: %+v", p)
	}
	_, _, err = srv.Undo(ctx, p)
	return err
}

// TestKilledUndoIsAllOrNothing kills a process at random moments while it undoes and redoes changes of six files, of
// one only the mode. What the disk shows is then what the ledger tells, and one of the two states.
func TestKilledUndoIsAllOrNothing(t *testing.T) {
	t.Parallel()
	kills := check.Rounds(8, 100)
	b, _ := start(t, newWorkspace(t), withoutSandbox).under("INT-005")
	check.Write(t, b.dir, "src/b.txt", "b\n")
	check.Write(t, b.dir, "src/gone.txt", "gone\n")
	check.Write(t, b.dir, "src/run.sh", "#!/bin/sh\n")
	b.chmod("src/gone.txt", 0o750)
	a := newAudit(t, b.dir)
	b.OK("read_file", args{"path": "src/gone.txt"})
	b.writes("src/a.txt", "ONE\n")
	b.writes("src/new.txt", "new\n")
	b.patches("*** Update File: src/b.txt", "*** Move to: src/c.txt", "@@", "-b", "+c", "*** Delete File: src/gone.txt", "*** Add File: src/d.txt", "+d")
	b.runs("chmod 755 src/run.sh")
	b.hangUp()
	b.close()
	undone, done := a.start, a.files()
	seen := map[bool]int{}
	for kill := range kills {
		when := fmt.Sprintf("after kill %d", kill)
		killUndo(t, b.dir)
		settleOnce(t, b.dir)
		a.check(when)
		now := a.files()
		isUndone, isDone := fmt.Sprint(now) == fmt.Sprint(undone), fmt.Sprint(now) == fmt.Sprint(done)
		check.Must(t, isUndone != isDone, "%s: neither undone nor done: %v", when, now)
		seen[isUndone]++
	}
	t.Logf("%d kills: %d times undone, %d times done, %d records, %d of them recovered", kills, seen[true], seen[false], a.records, a.recovered)
}

// killUndo lets a process undo and redo for a moment.
func killUndo(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), undoEnv+"="+dir)
	out := check.Value(cmd.StdoutPipe())(t)
	said, err := os.CreateTemp(t.TempDir(), "stderr")
	check.OK(t, err)
	defer said.Close()
	cmd.Stderr = said
	check.OK(t, cmd.Start())
	ready := make([]byte, len("ready\n"))
	_, err = out.Read(ready)
	time.Sleep(rand.N(longestLife)) // the moment of the kill, not a wait for something
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait()
	text, _ := os.ReadFile(said.Name())
	check.Must(t, len(text) == 0 && err == nil, "%v: the process ended by itself: %s", err, text)
}

// settleOnce does what the next process would do first.
func settleOnce(t *testing.T, dir string) {
	t.Helper()
	srv := check.Value(server.New(server.Options{Dir: dir, Settings: settings.Defaults()}))(t)
	_, err := srv.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"})
	check.NoError(t, err)
	check.NoError(t, srv.Close())
}
