//go:build unix

package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

func (b *bench) chmod(name string, mode os.FileMode) {
	b.t.Helper()
	check.OK(b.t, os.Chmod(filepath.Join(b.dir, name), mode))
}

func (b *bench) hasMode(name string, want os.FileMode) {
	b.t.Helper()
	info := check.Value(os.Stat(filepath.Join(b.dir, name)))(b.t)
	check.Equal(b.t, info.Mode(), want, "%s has the mode", name)
}

func (b *bench) commits(paths ...string) {
	b.t.Helper()
	check.Git(b.t, b.dir, append([]string{"add"}, paths...)...)
	check.Git(b.t, b.dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "by a person")
}

func modesOf(e record.Entry, path string) string {
	for _, c := range e.Changes {
		if c.Path == path {
			return fmt.Sprintf("%s %s", c.Before.Mode, c.After.Mode)
		}
	}
	return "none"
}

// A deleted file comes back with its permissions, a private one as private; what a call makes says its own.
func TestRecordsHaveModes(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Write(t, b.dir, "src/run.sh", "#!/bin/sh\n")
	check.Write(t, b.dir, "src/key", "private\n")
	b.chmod("src/run.sh", 0o755)
	b.chmod("src/key", 0o600)
	b.OK("read_file", args{"path": "src/run.sh"})
	b.OK("read_file", args{"path": "src/key"})
	id := b.patches("*** Delete File: src/key", "*** Add File: src/new.txt", "+new", "*** Update File: src/run.sh", "*** Move to: src/go.sh", "@@", "-#!/bin/sh", "+#!/bin/bash")
	e := b.entry(id)
	for path, want := range map[string]string{"src/key": "0600 ", "src/new.txt": " 0644", "src/go.sh": "0755 0755"} {
		check.Equal(t, modesOf(e, path), want, "%s", path)
	}
	check.That(t, !strings.Contains(string(e.Raw), `"before_mode":"0755","after_mode"`), "a mode that stayed is said twice: %s", e.Raw)
	undone := b.undoes(id)
	b.hasMode("src/key", 0o600)
	b.hasMode("src/run.sh", 0o755)
	b.chmod("src/key", 0o640)
	b.undoes(undone)
	b.gone("src/key")
	b.hasMode("src/go.sh", 0o755)
	b.hasMode("src/new.txt", 0o644)
}

func TestUndoOfPermissions(t *testing.T) {
	t.Parallel()
	b := committed(t)
	check.Write(t, b.dir, "src/run.sh", "#!/bin/sh\n")
	b.chmod("src/run.sh", 0o750)
	alone := b.runs("chmod 600 src/run.sh")
	check.Equal(t, modesOf(b.entry(alone), "src/run.sh"), "0750 0600")
	undone := b.undoes(alone)
	b.hasMode("src/run.sh", 0o750)
	b.undoes(undone)
	b.hasMode("src/run.sh", 0o600)
	b.undoes(alone)

	both := b.runs("chmod 600 src/run.sh; echo more >> src/run.sh; mv src/run.sh src/moved.sh; chmod 640 src/a.txt")
	later := filepath.Join(b.dir, "src/moved.sh")
	check.OK(t, os.WriteFile(later, []byte("#!/bin/sh\nmore\nby hand\n"), 0))
	b.conflict(b.plan(both), "src/moved.sh", "changed since")
	check.OK(t, os.WriteFile(later, []byte("#!/bin/sh\nmore\n"), 0))
	b.chmod("src/a.txt", 0o604)
	p := b.plan(both)
	b.carriesOut(p)
	b.hasMode("src/run.sh", 0o750)
	b.hasMode("src/a.txt", 0o604) // somebody has set it since
	b.reads("src/run.sh", "#!/bin/sh\n")

	b.chmod("src/run.sh", 0o755|os.ModeSetuid)
	id := b.runs("chmod 755 src/run.sh")
	check.Equal(t, modesOf(b.entry(id), "src/run.sh"), "4755 0755")
	if p := b.plan(id); len(p.Files) != 0 {
		t.Errorf("undo would set set-user-ID: %+v", p.Files)
	}
	b.runs("chmod u+s src/run.sh")
	b.undoes(b.lastRecord(record.KindCommand).ID)
	b.hasMode("src/run.sh", 0o755)
}

// What cannot be taken back is named, and does not keep the rest from it.
func TestUndoInPart(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	var lines []string
	for i := range 120 {
		lines = append(lines, fmt.Sprintf("*** Add File: src/many/%d.txt", i), "+by the agent")
	}
	lines = append(lines, "*** Update File: src/a.txt", "*** Move to: src/moved.txt", "@@", "-two", "+TWO")
	b.OK("read_file", args{"path": "src/a.txt"})
	id := b.patches(lines...)
	on := b.writes("src/moved.txt", "one\nTWO\nthree\nfour\n") // goes with what it stands on
	check.Write(t, b.dir, "src/many/7.txt", "by hand\n")
	check.Write(t, b.dir, "src/moved.txt", "one\nTWO, by hand\nthree\nfour\n")
	p := b.plan(id, on)
	check.Must(t, !p.Ready() && len(p.Files) == 119 && len(p.Conflicts) == 2, "%d files, %+v", len(p.Files), p.Conflicts)
	b.conflict(p, "src/many/7.txt", "has changed since")
	b.conflict(p, "src/moved.txt", "the same lines have changed since")
	undone := b.carriesOut(p.Partial())
	b.reads("src/many/7.txt", "by hand\n")
	b.reads("src/moved.txt", "one\nTWO, by hand\nthree\nfour\n")
	b.gone("src/many/8.txt")
	e := b.entry(undone)
	check.That(t, fmt.Sprint(e.Detail["undoes"]) == "["+id+"]" && fmt.Sprint(e.Detail["undoes_in_part"]) == "["+id+"]", "%v", e.Detail)

	// The record is not undone: the rest of it goes when nothing is in its way any more.
	b.conflict(b.plan(id, on), "src/many/7.txt", "has changed since")
	check.Write(t, b.dir, "src/many/7.txt", "by the agent\n")
	check.Write(t, b.dir, "src/moved.txt", "one\nTWO\nthree\nfour\n")
	p, err := b.server.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"})
	check.Must(t, err == nil && len(p.Files) == 2 && !slices.Contains(p.Records, undone), "%v %d files, records %v", err, len(p.Files), p.Records)
	b.carriesOut(p)
	b.gone("src/many/7.txt")
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	if p := b.plan(id); len(p.Already) != 1 {
		t.Errorf("%+v", p)
	}
}

// Files that took each other's places stay together where one of them has to stay.
func TestUndoInPartKeepsWhatHangsTogether(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Write(t, b.dir, "src/b.txt", "b\n")
	b.OK("read_file", args{"path": "src/a.txt"})
	b.OK("read_file", args{"path": "src/b.txt"})
	first := b.patches("*** Update File: src/a.txt", "@@", "-one", "+ONE", "*** Update File: src/b.txt", "@@", "-b", "+B")
	second := b.patches("*** Update File: src/a.txt", "*** Move to: src/c.txt", "*** Update File: src/b.txt", "@@", "-B", "+BB")
	b.writes("src/a.txt", "another\n")
	p := b.plan(first, second)
	check.Must(t, len(p.Files) == 1 && p.Files[0].Path == "src/b.txt", "%+v", p)
	b.conflict(p, "src/a.txt", "another file stands where it was moved from")
	b.carriesOut(p.Partial())
	b.reads("src/b.txt", "b\n")
	b.reads("src/a.txt", "another\n")
	b.reads("src/c.txt", "ONE\ntwo\nthree\n")
}

func TestUndoFollowsGit(t *testing.T) {
	t.Parallel()
	text := func(two string) string {
		return "one\n" + two + "\nthree\nfour\nfive\nsix\nseven\neight\n"
	}
	for name, move := range map[string]func(b *bench){
		"staged": func(b *bench) { check.Git(b.t, b.dir, "mv", "src/x.txt", "docs/y.txt") },
		"committed": func(b *bench) {
			check.Git(b.t, b.dir, "mv", "src/x.txt", "docs/y.txt")
			b.commits("docs")
		},
		"committed with a change": func(b *bench) {
			check.Git(b.t, b.dir, "mv", "src/x.txt", "docs/y.txt")
			check.Write(b.t, b.dir, "docs/y.txt", strings.Replace(b.read("docs/y.txt"), "eight", "EIGHT", 1))
			b.commits("docs")
		},
		"a directory, twice": func(b *bench) {
			check.Git(b.t, b.dir, "mv", "src", "lib")
			b.commits("lib")
			check.Git(b.t, b.dir, "mv", "lib/x.txt", "docs/y.txt")
			b.commits("docs")
		},
		"on a branch that was merged": func(b *bench) {
			check.Git(b.t, b.dir, "checkout", "-qb", "side")
			check.Git(b.t, b.dir, "mv", "src/x.txt", "docs/y.txt")
			b.commits("docs")
			check.Git(b.t, b.dir, "checkout", "-q", "-")
			check.Write(b.t, b.dir, "other", "x\n")
			b.commits("other")
			check.Git(b.t, b.dir, "-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "side")
		},
		"and by a record": func(b *bench) {
			check.Git(b.t, b.dir, "mv", "src/x.txt", "src/z.txt")
			b.commits("src")
			b.OK("read_file", args{"path": "src/z.txt"})
			b.patches("*** Update File: src/z.txt", "*** Move to: docs/y.txt")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := undoBench(t)
			check.Write(t, b.dir, "src/x.txt", text("two"))
			check.Write(t, b.dir, "src/stays.txt", "stays\n")
			b.commits(".")
			id := b.writes("src/x.txt", text("TWO"))
			b.commits("src")
			move(b)
			want := strings.Replace(b.read("docs/y.txt"), "TWO", "two", 1)
			p := b.plan(id)
			check.Must(t, p.Ready() && len(p.Files) == 1 && strings.Contains(strings.Join(p.Files[0].Notes, ""), "git moved it from"), "%+v", p)
			b.carriesOut(p)
			b.reads("docs/y.txt", want)
		})
	}
}

// A file that a record deleted, and another that git takes for it, are two.
func TestUndoFollowsNoDeletedFileByGit(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Write(t, b.dir, "src/x.txt", "one\ntwo\nthree\nfour\nfive\n")
	b.commits(".")
	id := b.writes("src/x.txt", "one\nTWO\nthree\nfour\nfive\n")
	b.patches("*** Delete File: src/x.txt")
	check.Write(t, b.dir, "docs/like.txt", "one\nTWO\nthree\nfour\nfive\n")
	b.commits(".")
	b.conflict(b.plan(id), "src/x.txt", "the file is gone")
}

func TestUndoSeesThroughWhiteSpace(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	check.Write(t, b.dir, "src/x.go", "package x\n\nfunc f() {\n\tone()\n\ttwo()\n\tthree()\n\tfour()\n}\n")
	b.commits(".")
	id := b.writes("src/x.go", "package x\n\nfunc f() {\n\tone()\n\tTWO()\n\tthree()\n\tfour()\n}\n")
	check.Write(t, b.dir, "src/x.go", "package x\r\n\r\nfunc f() {\r\n    if true {\r\n        one()\r\n        TWO()\r\n        three()\r\n        four()\r\n    }\r\n}\r\n")
	p := b.plan(id)
	check.Must(t, len(p.Files) == 1 && p.Files[0].Merged, "%+v", p)
	b.carriesOut(p)
	b.reads("src/x.go", "package x\r\n\r\nfunc f() {\r\n    if true {\r\n        one()\r\n        two()\r\n        three()\r\n        four()\r\n    }\r\n}\r\n")
}

func TestUndoSaysLinks(t *testing.T) {
	t.Parallel()
	b := committed(t)
	id := b.runs("echo more >> src/b.txt; ln src/b.txt src/hard")
	check.OK(t, os.Link(filepath.Join(b.dir, "src/b.txt"), filepath.Join(b.dir, "docs/outside")))
	p := b.plan(id)
	check.Must(t, len(p.Files) == 2 && strings.Contains(strings.Join(p.Files[0].Notes, ""), "3 names (hard links)"), "%+v", p)
	b.carriesOut(p)
	b.reads("src/b.txt", "b\n")
	b.reads("docs/outside", "b\nmore\n")
	b.gone("src/hard")

	for _, change := range []func() string{
		func() string { return b.runs("rm docs/outside") },
		func() string {
			b.OK("read_file", args{"path": "docs/outside"})
			return b.patches("*** Delete File: docs/outside")
		},
	} {
		check.OK(t, os.Link(filepath.Join(b.dir, "docs/outside"), filepath.Join(b.dir, "docs/other name")))
		id = change()
		check.Equal(t, fmt.Sprint(b.entry(id).Detail["hard_links"]), "[docs/outside]", "hard_links")
		if p = b.plan(id); len(p.Files) != 1 || !strings.Contains(strings.Join(p.Files[0].Notes, ""), "several names (hard links), and becomes one of its own") {
			t.Errorf("%+v", p)
		}
		b.carriesOut(p)
		b.reads("docs/outside", "b\nmore\n")
		check.OK(t, os.Remove(filepath.Join(b.dir, "docs/other name")))
	}

	id = b.runs("ln -s b.txt src/soft; echo x >> src/a.txt")
	p = b.plan(id)
	b.conflict(p, "src/soft", "is or was a symbolic link")
	b.carriesOut(p.Partial())
	b.reads("src/a.txt", "one\ntwo\nthree\n")
	_, err := os.Lstat(filepath.Join(b.dir, "src/soft"))
	check.NoError(t, err)
	id = b.writes("src/c/deep.txt", "x\n")
	check.OK(t, os.Rename(filepath.Join(b.dir, "src/c"), filepath.Join(b.dir, "src/d")))
	check.OK(t, os.Symlink("d", filepath.Join(b.dir, "src/c")))
	b.conflict(b.plan(id), "src/c/deep.txt", "a symbolic link stands there or on the way, and the path leads to src/d/deep.txt now")
}

func TestUndoTellsNotKeptFromNotYet(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, _ := start(t, dir, withoutSandbox).under("INT-005")
	check.Write(t, dir, "src/b.txt", "first\n")
	id := b.writes("src/b.txt", "second\n")
	began := b.OK("execute_command", args{"command": "echo x > src/by.txt; mkfifo src/wait; read line < src/wait", "background": true})
	if _, err := b.server.PlanUndo(t.Context(), undo.Request{Records: []string{began.Str("record_id")}}); !errors.Is(err, undo.ErrNotYet) {
		t.Errorf("%v, want %v", err, undo.ErrNotYet)
	}
	p, err := b.server.PlanUndo(t.Context(), undo.Request{IntentID: "INT-005"})
	check.That(t, err == nil && len(p.UnderWay) == 1 && p.UnderWay[0].Call == "execute_command", "%v %+v", err, p.UnderWay)
	if _, err := b.server.PlanUndo(t.Context(), undo.Request{Records: []string{p.UnderWay[0].Record[:12]}}); !errors.Is(err, undo.ErrNotYet) {
		t.Errorf("%v, want %v", err, undo.ErrNotYet)
	}
	check.OK(t, os.RemoveAll(filepath.Join(dir, ".orchestration/cache/images")))
	b.conflict(b.plan(id), "src/b.txt", "no longer kept, and git does not have it either (kept are at most 256MiB, for 30 days)")

	none := start(t, dir, func(o *server.Options) { o.Settings.Undo.KeepSize = 0 })
	defer none.server.Close()
	none.conflict(none.plan(id), "src/b.txt", "was not kept (undo.keep_size is 0)")
}
