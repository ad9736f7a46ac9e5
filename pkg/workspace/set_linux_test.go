package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// TestSetResolvesAsEver compares what a set makes of paths, in this order, with what each is by itself.
func TestSetResolvesAsEver(t *testing.T) {
	w, _ := hostile(t)
	put(t, filepath.Join(w.Dir(), "src/deep/er/b.txt"), "b")
	set := w.Set()
	defer set.Close()
	for _, path := range []string{
		"src/a.txt", "src/deep", "src/deep/er/b.txt", "src/deep/er/new/c.txt", "src/deep/x.txt", "src/up", "src/updir/d.txt", "src/a.txt/below",
		"docs/d.txt", "escape", "escape-dir/secret.txt", ".git/hooks/x", ".vscode/settings.json", "src/.git", "src", "a/b/c", "../x", "/x", "", ".", "src/../x", "loop",
		"src/deep/er/b.txt", "fifo", "src/a.txt",
	} {
		want, wantErr := w.ResolveExactly(path)
		got, err := set.ResolveExactly(path)
		check.That(t, (err == nil) == (wantErr == nil), "%q: %v, want %v", path, err, wantErr)
		if err != nil {
			continue
		}
		check.Equal(t, described(got), described(want))
		must(t, errors.Join(got.Close(), want.Close()))
	}
}

func described(t *workspace.Target) string {
	return fmt.Sprint(t.Path(), t.Kind(), t.Protection(), t.GitParts())
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// TestManyFilesShareDescriptors: of a file in a set of changes only its content before and after is held.
func TestManyFilesShareDescriptors(t *testing.T) {
	const files, dirs = 120, 3
	all := map[string]string{".orchestration/x": ""}
	for i := range files {
		all[fmt.Sprintf("src/%d/%d.txt", i/(files/dirs), i)] = "before"
	}
	w := open(t, all)
	write(t, w, "first.txt") // after which the process has its sign of life
	set := w.Set()
	begun := openFiles(t)
	var changes []workspace.Change
	for i := range files {
		target, err := set.ResolveExactly(fmt.Sprintf("src/%d/%d.txt", i/(files/dirs), i))
		must(t, err)
		defer target.Close()
		changes = append(changes, workspace.Change{Op: change.Modified, Target: target, Before: workspace.HashOf([]byte("before")), After: fmt.Append(nil, i)})
	}
	prepared, err := w.Prepare(context.Background(), changes)
	must(t, err)
	committed, err := prepared.Commit(context.Background())
	must(t, err)
	held := openFiles(t) - begun
	check.That(t, held <= 2*files+10, "%d descriptors for %d files", held, files)
	must(t, committed.Close())
	must(t, set.Close())
	check.Equal(t, openFiles(t), begun)
	for i := range files {
		check.Equal(t, string(check.Value(os.ReadFile(filepath.Join(w.Dir(), fmt.Sprintf("src/%d/%d.txt", i/(files/dirs), i))))(t)), fmt.Sprint(i))
	}
}

// TestSetOfMovedDirectory: a directory that somebody has moved away since is not written to by its descriptor.
func TestSetOfMovedDirectory(t *testing.T) {
	w := open(t, map[string]string{"a/1.txt": "1", "a/2.txt": "2"})
	set := w.Set()
	defer set.Close()
	var changes []workspace.Change
	for _, name := range []string{"a/1.txt", "a/2.txt"} {
		target, err := set.ResolveExactly(name)
		must(t, err)
		defer target.Close()
		changes = append(changes, workspace.Change{Op: change.Modified, Target: target, Before: workspace.HashOf([]byte(name[2:3])), After: []byte("new")})
	}
	must(t, os.Rename(filepath.Join(w.Dir(), "a"), filepath.Join(w.Dir(), "b")))
	must(t, os.Mkdir(filepath.Join(w.Dir(), "a"), 0o755))
	_, err := w.Prepare(context.Background(), changes)
	check.That(t, errors.Is(err, workspace.ErrChangedDir), "%v", err)
}

func write(t *testing.T, w *workspace.Workspace, path string) {
	t.Helper()
	prepared, err := w.Prepare(context.Background(), []workspace.Change{{Op: change.Created, Target: resolve(t, w, path)}})
	must(t, err)
	committed, err := prepared.Commit(context.Background())
	must(t, err)
	must(t, committed.Close())
}
