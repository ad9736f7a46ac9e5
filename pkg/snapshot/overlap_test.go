package snapshot_test

import (
	"context"
	"fmt"
	stdhash "hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func hash(content string) string { return string(workspace.HashOf([]byte(content))) }

// writes makes a change as the server's own tools do.
func (b *bench) writes(path, before, after string) {
	b.t.Helper()
	w := snapshot.Write{Path: path, After: hash(after)}
	if before != "" {
		w.Before = hash(before)
	}
	writing := b.keeper.Writing([]snapshot.Write{w})
	b.write(path, after)
	writing.Done()
}

// TestToolsWriteMeanwhile: what the server's tools write while a command runs is theirs, whatever the command does beside
// it.
func TestToolsWriteMeanwhile(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"tool", "both", "covered", "back", "removed"} {
		b.write(name, "0\n")
	}
	b.end(b.begin())
	early := b.keeper.Writing([]snapshot.Write{{Path: "early", After: hash("early\n")}})
	w := b.begin()
	b.write("early", "early\n") // announced before the command began
	early.Done()
	b.writes("tool", "0\n", "1\n")
	b.writes("tool", "1\n", "2\n")
	b.writes("made", "", "made\n")
	b.writes("both", "0\n", "tool\n")
	b.run("echo command >> both")
	b.run("echo command > covered")
	b.writes("covered", "command\n", "tool\n")
	b.writes("back", "0\n", "1\n")
	b.writes("back", "1\n", "0\n")
	b.writes("removed", "0\n", "1\n")
	b.run("rm removed")
	b.run("echo alone > alone")
	d := b.end(w)
	b.want(d, "created alone", "modified both", "deleted removed")
	b.holds(d, "both", func(c snapshot.Change) bool {
		return c.Before.Hash == hash("tool\n") && c.After.Hash == hash("tool\ncommand\n")
	})
	b.holds(d, "removed", func(c snapshot.Change) bool { return c.Before.Hash == hash("1\n") })
	b.want(b.changed("true"))
}

// scoped begins a window whose command may change what is below a directory.
func (b *bench) scoped(dir string) *snapshot.Window {
	b.t.Helper()
	w, err := b.keeper.Begin(context.Background(), func(path string) bool { return strings.HasPrefix(path, dir) })
	b.must(err)
	return w
}

// TestOverlap: of two commands at once each gets what is in its scope; what both could have changed stands in one account
// and is marked; what only one of them can have seen is not.
func TestOverlap(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a/x", "b/x", "both/x", "both/y"} {
		b.write(name, "0\n")
	}
	one := b.scoped("")
	b.run("echo first > both/x; echo first > b/x")
	two := b.scoped("b")
	b.run("echo a > a/x; echo b >> b/x; echo new > both/new")
	d := b.end(one)
	b.want(d, "modified a/x", "modified b/x", "created both/new", "modified both/x")
	marked := map[string]bool{}
	for _, c := range d.Changes {
		marked[c.Path] = c.Shared
	}
	check.That(t, marked["both/new"] && marked["b/x"] && !marked["both/x"], "marked: %v", marked)
	b.run("echo later > both/new")
	d = b.end(two)
	b.want(d, "modified both/new")
	b.holds(d, "both/new", func(c snapshot.Change) bool { return !c.Shared && c.Before.Hash == hash("new\n") })
	check.That(t, slices.Contains(d.Given, "b/x") && slices.Contains(d.Given, "both/new"), "given: %v", d.Given)

	left, right := b.scoped("a"), b.scoped("b")
	b.run("echo left > a/x; echo right > b/x")
	d = b.end(left)
	b.want(d, "modified a/x")
	check.That(t, slices.Equal(d.Given, []string{"b/x"}), "given: %v", d.Given)
	b.want(b.end(right), "modified b/x")
}

// TestNobodys: what is new and out of the scope of all that run is marked so, and stays in the account of each until it is
// gone, also where it was made before the second began or is written again between. What is in the scope of one is his.
func TestNobodys(t *testing.T) {
	b := newBench(t)
	b.write("a/x", "0\n")
	b.end(b.begin())
	long := b.scoped("a")
	b.run("echo 1 > early; echo 1 > rewritten; mkfifo pipe")
	short := b.scoped("b")
	b.run("echo 1 > new; echo 2 > rewritten; echo 1 > a/own")
	d := b.end(short)
	b.want(d, "created new", "created rewritten")
	check.That(t, slices.Equal(d.Given, []string{"a/own"}), "given: %v", d.Given)
	for _, c := range d.Changes {
		check.That(t, c.Nobodys && c.Shared && (c.After.Ino != 0 || c.After.Dev != 0), "%+v", c)
	}
	taken := b.keeper.Writing([]snapshot.Write{{Path: "new", Before: hash("1\n")}})
	b.must(os.Remove(filepath.Join(b.dir, "new")))
	taken.Done()
	d = b.end(long)
	b.want(d, "created a/own", "created early", "created pipe (special file)", "created rewritten")
	b.holds(d, "a/own", func(c snapshot.Change) bool { return !c.Nobodys })
}

// TestDisplaced: a file that stands at a new path, and whose own has another, is said to have been there.
func TestDisplaced(t *testing.T) {
	b := newBench(t)
	b.write("kept/x", "governance\n")
	b.end(b.begin())
	d := b.changed("mkdir decoy; echo decoy > decoy/x; mv kept k; mv decoy kept; mv k decoy")
	b.holds(d, "decoy/x", func(c snapshot.Change) bool { return c.Op == change.Created && c.Was == "kept/x" })
	b.write("freed", "one\n")
	d = b.changed("rm freed; echo another > other; echo one > freed")
	for _, c := range d.Changes {
		check.That(t, c.Was == "", "%+v", c)
	}
}

// TestTwice: a file that a look finds at two paths, because somebody renames it while the look is made, was not made at
// the second.
func TestTwice(t *testing.T) {
	b := newBench(t)
	b.write("kept/x", "governance\n")
	b.write("kept/sub/deep/y", "another\n")
	const read = "read when kept has been looked into, and deep has not\n"
	named := b.options.NewBlobHash
	b.options.NewBlobHash = func(size int64) stdhash.Hash {
		if size == int64(len(read)) {
			for _, name := range []string{"x", "made"} {
				b.must(os.Rename(filepath.Join(b.dir, "kept", name), filepath.Join(b.dir, "kept/sub/deep", name)))
			}
		}
		return named(size)
	}
	b.keeper = snapshot.Open(b.options)
	w := b.begin()
	b.write("kept/made", "by the command\n")
	b.write("kept/sub/n", read)
	d := b.end(w)
	b.holds(d, "kept/sub/deep/x", func(c snapshot.Change) bool { return c.Op == change.Created && c.Was == "kept/x" })
	for _, made := range []string{"kept/sub/n", "kept/made", "kept/sub/deep/made"} {
		b.holds(d, made, func(c snapshot.Change) bool { return c.Op == change.Created && c.Was == "" })
	}
}

// TestForAMoment: what a command finds that another one has made, or taken away, for a moment is no change of its own when
// it is put back, be it asked at its end or after a crash. What it did before the other began stays its own.
func TestForAMoment(t *testing.T) {
	for _, crash := range []bool{false, true} {
		b := newBench(t)
		b.write("a/x", "0\n")
		b.write("b/x", "0\n")
		b.write("early/x", "0\n")
		b.end(b.begin())
		early := b.scoped("early")
		b.run("echo 1 > early/x")
		one := b.scoped("a")
		b.run("echo temporary > a/temp; mv a/x a/away; echo 2 > early/x; echo done > a/done")
		two := b.scoped("b")
		saved := two.Saved
		b.run("rm a/temp; mv a/away a/x; echo 1 > early/x; echo 1 > b/x")
		b.want(b.end(one), "created a/done")
		if !crash {
			b.want(b.end(two), "modified b/x")
			b.want(b.end(early), "modified early/x")
			continue
		}
		state, err := b.state()
		b.must(err)
		theirs := []snapshot.Write{{Path: "a/done", After: hash("done\n"), Since: true}}
		d, err := snapshot.Recover(t.Context(), b.options, state, saved, func(path string) bool { return strings.HasPrefix(path, "b/") },
			func(context.Context, time.Time, []string) (snapshot.Foreign, error) {
				return snapshot.Foreign{Writes: theirs, Running: []snapshot.Running{{Began: early.Began, InScope: func(path string) bool { return strings.HasPrefix(path, "early/") }}}}, nil
			})
		b.must(err)
		b.want(d, "modified b/x")
		b.want(b.end(early), "modified early/x")
		state.Close()
	}
}

// TestManyAtOnce lets commands begin and end side by side, each in a directory of its own.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for n := range 5 {
				dir := fmt.Sprintf("dir%d/", i)
				w, err := b.keeper.Begin(context.Background(), func(path string) bool { return strings.HasPrefix(path, dir) })
				if err != nil {
					t.Error(err)
					return
				}
				b.write(fmt.Sprintf("%s%d", dir, n), "x\n")
				d, err := w.End(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				got, want := told(d), []string{fmt.Sprintf("created %s%d", dir, n)}
				check.That(t, slices.Equal(got, want), "%v, want %v", got, want)
			}
		})
	}
	all.Wait()
}

// TestOthers: what another process recorded meanwhile is its own.
func TestOthers(t *testing.T) {
	b := newBench(t)
	b.write("theirs", "0\n")
	b.write("ours", "0\n")
	o := b.options
	var asked []string
	o.Mark = func(context.Context) (snapshot.Others, []string, error) {
		return func(_ context.Context, paths []string) (snapshot.Foreign, error) {
			asked = paths
			return snapshot.Foreign{Writes: []snapshot.Write{{Path: "theirs", Before: hash("0\n"), After: hash("1\n")}}}, nil
		}, nil, nil
	}
	b.keeper = snapshot.Open(o)
	b.want(b.changed("echo 1 > theirs; echo 1 > ours"), "modified ours")
	check.That(t, slices.Equal(asked, []string{"ours", "theirs"}), "asked about %v", asked)
}

// TestOthersBefore: of what is told of others, nothing counts that was done before the content that a command found.
func TestOthersBefore(t *testing.T) {
	b := newBench(t)
	b.write("file", "2\n")
	o := b.options
	o.Mark = func(context.Context) (snapshot.Others, []string, error) {
		return func(context.Context, []string) (snapshot.Foreign, error) {
			return snapshot.Foreign{Writes: []snapshot.Write{
				{Path: "file", Before: hash("0\n"), After: hash("1\n"), Since: true}, // as of a record that only says when it was made at the latest
				{Path: "file", Before: hash("edited\n"), After: hash("2\n")},
				{Path: "file", Before: hash("2\n"), After: hash("3\n"), Since: true},
			}}, nil
		}, nil, nil
	}
	b.keeper = snapshot.Open(o)
	for after, before := range map[string]string{"4\n": "3\n", "1\n": "3\n"} {
		b.write("file", "2\n")
		w := b.begin()
		b.write("file", after)
		d := b.end(w)
		b.want(d, "modified file")
		c := b.find(d, "file")
		check.That(t, c.Before.Hash == hash(before), "%q begins with %s, not with %q", after, c.Before.Hash, before)
	}
}

// TestUnreadBefore: a file that was not read before the command, and is gone after it, was not taken away by who made it.
func TestUnreadBefore(t *testing.T) {
	made, gone := &snapshot.Write{Path: "file", After: hash("1")}, &snapshot.Write{Path: "file", Before: hash("1")}
	last, ok := snapshot.ExplainedUnread("", made)
	check.That(t, !ok && last == made, "its removal is explained by %+v: %t", last, ok)
	_, ok = snapshot.ExplainedUnread("", made, gone)
	check.That(t, ok, "a recorded removal explains nothing")
	_, ok = snapshot.ExplainedUnread(hash("1"), made)
	check.That(t, ok, "what was recorded explains nothing")
}

// TestRunningElsewhere: what a command of another process may have changed, and ours may not, is left to it, unless it was
// changed before that one began.
func TestRunningElsewhere(t *testing.T) {
	b := newBench(t)
	b.run("mkdir ours theirs nobodys; echo 0 > theirs/old; echo 0 > theirs/gone")
	o := b.options
	var began time.Time
	o.Mark = func(context.Context) (snapshot.Others, []string, error) {
		return func(context.Context, []string) (snapshot.Foreign, error) {
			return snapshot.Foreign{Running: []snapshot.Running{{Began: began, InScope: func(path string) bool { return strings.HasPrefix(path, "theirs/") }}}}, nil
		}, nil, nil
	}
	b.keeper = snapshot.Open(o)
	inScope := func(path string) bool { return strings.HasPrefix(path, "ours/") }
	w, err := b.keeper.Begin(t.Context(), inScope)
	b.must(err)
	b.run("echo 1 > ours/new; echo 1 > theirs/early")
	time.Sleep(100 * time.Millisecond) // more than the grain of a file's time of change
	began = time.Now()
	b.run("echo 1 > theirs/old; echo 1 > theirs/new; rm theirs/gone; echo 1 > nobodys/new")
	d := b.end(w)
	b.want(d, "created nobodys/new", "created ours/new", "created theirs/early")
	want := []string{"theirs/gone", "theirs/new", "theirs/old"}
	check.That(t, slices.Equal(d.Given, want), "left to the other: %v, want %v", d.Given, want)
}
