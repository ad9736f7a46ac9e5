//go:build !portable

// Links and directories change together with files only where commands have layers.

package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// shapesOf is what stands in a workspace, a line each: directories with their permissions, links with their texts.
func shapesOf(t *testing.T, w *workspace.Workspace) []string {
	t.Helper()
	var lines []string
	check.OK(t, filepath.WalkDir(w.Dir(), func(at string, d fs.DirEntry, err error) error {
		check.OK(t, err)
		way, _ := filepath.Rel(w.Dir(), at)
		if way == "." || strings.HasPrefix(way, ".orchestration") || way == "ready" || strings.HasPrefix(way, "ready/") {
			return nil
		}
		info := check.Value(d.Info())(t)
		switch {
		case d.IsDir():
			lines = append(lines, fmt.Sprintf("%s/ %o", way, info.Mode().Perm()))
		case info.Mode()&fs.ModeSymlink != 0:
			lines = append(lines, fmt.Sprintf("%s -> %s", way, check.Value(os.Readlink(at))(t)))
		default:
			lines = append(lines, fmt.Sprintf("%s %o %s", way, info.Mode().Perm(), check.Value(os.ReadFile(at))(t)))
		}
		return nil
	}))
	slices.Sort(lines)
	return lines
}

// all is a set of changes that has everything become something else.
type all struct {
	w       *workspace.Workspace
	changes []workspace.Change
	shapes  []workspace.Shape
}

func (a *all) exactly(t *testing.T, path string) *workspace.Target {
	t.Helper()
	target := check.Value(a.w.ResolveExactly(path))(t)
	t.Cleanup(func() { target.Close() })
	return target
}

// lies puts a content where the layer of a command would have it.
func (a *all) lies(t *testing.T, name, content string, mode fs.FileMode) *workspace.Ready {
	t.Helper()
	at := filepath.Join(a.w.Dir(), "ready", name)
	put(t, at, content)
	check.OK(t, os.Chmod(at, mode))
	root := check.Value(os.OpenRoot(filepath.Dir(at)))(t)
	t.Cleanup(func() { root.Close() })
	dir := check.Value(durable.OpenRoot(root))(t)
	t.Cleanup(func() { dir.Close() })
	return &workspace.Ready{Dir: dir, Name: name, Hash: hashOf(content)}
}

func everything(t *testing.T) *all {
	t.Helper()
	w := open(t, map[string]string{
		".orchestration/active_intents.yaml": "", "file": "old", "gone": "old", "dir/a": "old", "dir/sub/b": "old", "becomes/in": "old", "flat": "old", "moved": "old", "mode": "old", "link-target": "t",
	})
	at := func(name string) string { return filepath.Join(w.Dir(), name) }
	for _, link := range []string{"link", "turned", "cut", "filled"} {
		check.OK(t, os.Symlink("link-target", at(link)))
	}
	for _, dir := range []string{"dir", "dir/sub", "becomes"} {
		check.OK(t, os.Chmod(at(dir), 0o755))
	}
	a := &all{w: w}
	mode := fs.FileMode(0o750)
	del := func(path string) workspace.Change {
		return workspace.Change{Op: change.Deleted, Target: a.exactly(t, path), Before: hashOf("old")}
	}
	a.changes = []workspace.Change{
		{Op: change.Modified, Target: a.exactly(t, "file"), Before: hashOf("old"), Ready: a.lies(t, "file", "new", 0o755)},
		{Op: change.Modified, Target: a.exactly(t, "mode"), Before: hashOf("old"), Ready: a.lies(t, "mode", "old", 0o700)},
		del("gone"), del("dir/a"), del("dir/sub/b"), del("becomes/in"), del("flat"),
		{Op: change.Created, Target: a.exactly(t, "becomes"), Ready: a.lies(t, "becomes", "new", 0o644)},
		{Op: change.Created, Target: a.exactly(t, "flat/deep/c"), Ready: a.lies(t, "c", "new", 0o644)},
		{Op: change.Created, Target: a.exactly(t, "filled"), Ready: a.lies(t, "filled", "new", 0o644)},
		{Op: change.Moved, Target: a.exactly(t, "moved"), To: a.exactly(t, "flat/here"), Before: hashOf("old")},
	}
	a.shapes = []workspace.Shape{
		{Path: "turned", Kind: workspace.Symlink, From: "link-target", To: "file"},
		{Path: "cut", Kind: workspace.Symlink, From: "link-target"},
		{Path: "filled", Kind: workspace.Symlink, From: "link-target"},
		{Path: "flat/link", Kind: workspace.Symlink, To: "../file"},
		{Path: "dir", Kind: workspace.Directory, Gone: true},
		{Path: "dir/sub", Kind: workspace.Directory, Gone: true},
		{Path: "becomes", Kind: workspace.Directory, Gone: true, Needed: true},
		{Path: "flat", Kind: workspace.Directory, Mode: &mode},
		{Path: "flat/deep", Kind: workspace.Directory, Mode: &mode},
		{Path: "empty", Kind: workspace.Directory, Mode: &mode},
	}
	return a
}

func becameEverything() []string {
	return []string{
		"becomes 644 new", "empty/ 750", "file 755 new", "filled 644 new", "flat/ 750", "flat/deep/ 750", "flat/deep/c 644 new", "flat/here 644 old", "flat/link -> ../file",
		"link -> link-target", "link-target 644 t", "mode 700 old", "turned -> file",
	}
}

// Files, links and directories become each other in one change, and back.
func TestShapesChangeTogether(t *testing.T) {
	a := everything(t)
	was := shapesOf(t, a.w)
	prepared := check.Value(a.w.PrepareWith(context.Background(), a.changes, a.shapes))(t)
	check.Equal(t, fmt.Sprint(shapesOf(t, a.w)), fmt.Sprint(was), "something is visible before it is committed")
	committed := check.Value(prepared.Commit(context.Background()))(t)
	check.Equal(t, withoutDirs(strings.Join(shapesOf(t, a.w), "\n")), withoutDirs(strings.Join(becameEverything(), "\n")), "not all took effect")
	check.OK(t, committed.Rollback(context.Background()))
	check.OK(t, committed.Close())
	check.Equal(t, strings.Join(shapesOf(t, a.w), "\n"), strings.Join(was, "\n"), "not all was taken back")

	a = everything(t)
	prepared = check.Value(a.w.PrepareWith(context.Background(), a.changes, a.shapes))(t)
	committed = check.Value(prepared.Commit(context.Background()))(t)
	check.OK(t, committed.Close())
	check.Equal(t, strings.Join(shapesOf(t, a.w), "\n"), strings.Join(becameEverything(), "\n"), "not all took effect")
	left := check.Value(os.ReadDir(filepath.Join(a.w.Dir(), ".orchestration/state/tmp")))(t)
	left = slices.DeleteFunc(left, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".owner" })
	check.That(t, len(left) == 0, "left over: %v", left)
}

// A path that no tool may change, or that leads out of the workspace, is no link's and no directory's either.
func TestShapesAreBelowTheWorkspace(t *testing.T) {
	w := open(t, nil)
	for _, path := range []string{"", ".", "..", "../x", "a/../..", "a/../b", "a//b", "a/", "/x", ".git/x", "a/.orchestration/x"} {
		_, err := w.PrepareWith(context.Background(), nil, []workspace.Shape{{Path: path, Kind: workspace.Symlink, To: "x"}})
		check.Is(t, err, workspace.ErrInvalidPath, path)
	}
}

// What others do meanwhile is never lost: where it stands in the way nothing changes, and below a directory that goes it stays.
func TestShapesKeepWhatOthersMake(t *testing.T) {
	for name, c := range map[string]struct {
		others func(dir string) error
		stays  string // "" where nothing changes
	}{
		"a file below a directory that goes": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "dir/sub/theirs"), []byte("x"), 0o644) }, "dir/sub/theirs"},
		"a file in a directory whose place is needed": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "becomes/theirs"), []byte("x"), 0o644)
		}, ""},
		"another link": {func(dir string) error {
			os.Remove(filepath.Join(dir, "turned"))
			return os.Symlink("gone", filepath.Join(dir, "turned"))
		}, ""},
		"a file in the place of a new link": {func(dir string) error {
			os.Remove(filepath.Join(dir, "cut"))
			return os.WriteFile(filepath.Join(dir, "cut"), []byte("x"), 0o644)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := everything(t)
			prepared := check.Value(a.w.PrepareWith(context.Background(), a.changes, a.shapes))(t)
			check.OK(t, c.others(a.w.Dir()))
			was := shapesOf(t, a.w)
			committed, err := prepared.Commit(context.Background())
			if c.stays == "" {
				check.That(t, err != nil, "it took effect")
				check.Equal(t, strings.Join(shapesOf(t, a.w), "\n"), strings.Join(was, "\n"), "something changed")
				return
			}
			check.OK(t, err)
			check.OK(t, committed.Close())
			check.That(t, strings.Contains(strings.Join(shapesOf(t, a.w), "\n"), c.stays), "gone: %v", shapesOf(t, a.w))
		})
	}
}

// TestShapesAfterACrash stops at each step, and settles: all of it stands, or nothing.
func TestShapesAfterACrash(t *testing.T) {
	for stop := 0; ; stop++ {
		a := everything(t)
		was := strings.Join(shapesOf(t, a.w), "\n")
		prepared := check.Value(a.w.PrepareWith(context.Background(), a.changes, a.shapes))(t)
		plan := prepared.Plan()
		whole := workspace.ApplySteps(prepared, stop)
		recovered := check.Value(a.w.Recover(context.Background(), plan))(t)
		done := recovered.Files[0].Fate == workspace.Done
		for _, f := range recovered.Files {
			check.That(t, f.Err == nil && (f.Fate == workspace.Done) == done && (f.Fate == workspace.Undone) == !done, "after %d steps %s has the fate %v (%v)", stop, f.Path, f.Fate, f.Err)
		}
		kept, err := a.w.Tidy(plan)
		check.OK(t, err)
		check.That(t, len(kept) == 0 && (done || !whole), "after %d steps: %v, %v", stop, done, kept)
		want := was
		if done {
			want = strings.Join(becameEverything(), "\n")
		}
		// Directories have no place in a journal.
		check.Equal(t, withoutDirs(strings.Join(shapesOf(t, a.w), "\n")), withoutDirs(want), "after %d steps", stop)
		if whole {
			return
		}
	}
}

func withoutDirs(shapes string) string {
	lines := strings.Split(shapes, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "/ ") }), "\n")
}
