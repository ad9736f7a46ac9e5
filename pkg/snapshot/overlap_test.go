package snapshot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

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
	if c := b.find(d, "both"); c.Before.Hash != hash("tool\n") || c.After.Hash != hash("tool\ncommand\n") {
		t.Errorf("%+v", c)
	}
	if c := b.find(d, "removed"); c.Before.Hash != hash("1\n") {
		t.Errorf("%+v", c)
	}
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
	if !marked["both/new"] || !marked["b/x"] || marked["both/x"] {
		t.Errorf("marked: %v", marked)
	}
	b.run("echo later > both/new")
	d = b.end(two)
	b.want(d, "modified both/new")
	if c := b.find(d, "both/new"); c.Shared || c.Before.Hash != hash("new\n") {
		t.Errorf("%+v", c)
	}
	if !slices.Contains(d.Given, "b/x") || !slices.Contains(d.Given, "both/new") {
		t.Errorf("given: %v", d.Given)
	}

	left, right := b.scoped("a"), b.scoped("b")
	b.run("echo left > a/x; echo right > b/x")
	d = b.end(left)
	b.want(d, "modified a/x")
	if !slices.Equal(d.Given, []string{"b/x"}) {
		t.Errorf("given: %v", d.Given)
	}
	b.want(b.end(right), "modified b/x")
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
				if got, want := told(d), []string{fmt.Sprintf("created %s%d", dir, n)}; !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
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
	o.Mark = func(context.Context) (snapshot.Others, error) {
		return func(_ context.Context, paths []string) ([]snapshot.Write, error) {
			asked = paths
			return []snapshot.Write{{Path: "theirs", Before: hash("0\n"), After: hash("1\n")}}, nil
		}, nil
	}
	b.keeper = snapshot.Open(o)
	b.want(b.changed("echo 1 > theirs; echo 1 > ours"), "modified ours")
	if !slices.Equal(asked, []string{"ours", "theirs"}) {
		t.Errorf("asked about %v", asked)
	}
}
