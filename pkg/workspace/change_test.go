package workspace_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// open makes a workspace with the given files in a real directory.
func open(t testing.TB, files map[string]string, opts ...workspace.Option) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		put(t, filepath.Join(dir, name), content)
	}
	return openAt(t, dir, opts...)
}

func openAt(t testing.TB, dir string, opts ...workspace.Option) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(dir, opts...)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

func put(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	check.OK(t, err)
}

func resolve(t testing.TB, w *workspace.Workspace, path string) *workspace.Target {
	t.Helper()
	target, err := w.Resolve(path)
	must(t, err)
	t.Cleanup(func() { target.Close() })
	return target
}

func hashOf(s string) workspace.Hash { return workspace.HashOf([]byte(s)) }

// tree reads every file below dir, temporary ones included, so that a leftover is a difference.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".owner" || d.Name() == "files.lock" { // of living processes
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if !d.Type().IsRegular() {
			files[filepath.ToSlash(rel)] = "<" + d.Type().String() + ">"
			return nil
		}
		b, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	}))
	return files
}

func wantTree(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	for name, content := range want {
		if have, ok := got[name]; !ok || have != content {
			t.Errorf("%s: have %q (there: %v), want %q", name, have, ok, content)
		}
	}
	for name, content := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("left over: %s = %q", name, content)
		}
	}
}

func commit(t testing.TB, w *workspace.Workspace, changes ...workspace.Change) (*workspace.Committed, error) {
	t.Helper()
	p, err := w.Prepare(context.Background(), changes)
	if err != nil {
		return nil, err
	}
	return p.Commit(context.Background())
}

// done carries changes out, to their end.
func done(t testing.TB, w *workspace.Workspace, changes ...workspace.Change) {
	t.Helper()
	s, err := commit(t, w, changes...)
	must(t, err)
	must(t, s.Close())
}

// variants are the ways a change can be carried out, which must not differ in what a caller sees.
func variants(t *testing.T, test func(t *testing.T, opts ...workspace.Option)) {
	for name, opts := range map[string][]workspace.Option{
		"full":        nil,
		"unflushed":   {workspace.WithDurability(workspace.OS)},
		"no exchange": {workspace.WithoutExchange()},
		"no lease":    {workspace.WithoutLease()},
		"neither":     {workspace.WithoutExchange(), workspace.WithoutLease()},
	} {
		t.Run(name, func(t *testing.T) { test(t, opts...) })
	}
}

func TestEachOperation(t *testing.T) {
	for name, initialised := range map[string]bool{"initialised": true, "uninitialised": false} {
		t.Run(name, func(t *testing.T) {
			variants(t, func(t *testing.T, opts ...workspace.Option) {
				files := map[string]string{"a.txt": "old", "b.txt": "bye", "c.txt": "moved", "d.txt": "changed"}
				if initialised {
					files[".orchestration/active_intents.yaml"] = ""
				}
				w := open(t, files, opts...)
				s, err := commit(t, w,
					workspace.Change{Op: change.Modified, Target: resolve(t, w, "a.txt"), Before: hashOf("old"), After: []byte("new")},
					workspace.Change{Op: change.Deleted, Target: resolve(t, w, "b.txt"), Before: hashOf("bye")},
					workspace.Change{Op: change.Moved, Target: resolve(t, w, "c.txt"), To: resolve(t, w, "x/y/c.txt"), Before: hashOf("moved")},
					workspace.Change{Op: change.Moved, Target: resolve(t, w, "d.txt"), To: resolve(t, w, "x/d.txt"), Before: hashOf("changed"), After: []byte("more")},
					workspace.Change{Op: change.Created, Target: resolve(t, w, "n/e/w.txt"), After: []byte("fresh")},
				)
				must(t, err)
				for i, want := range []string{"old", "bye", "moved", "changed"} {
					b, err := io.ReadAll(s.Before(i))
					must(t, err)
					check.That(t, string(b) == want, "before-image %d is %q, want %q", i, b, want)
				}
				check.That(t, s.Before(4) == nil, "a created file has a before-image")
				must(t, s.Close())
				want := map[string]string{"a.txt": "new", "x/y/c.txt": "moved", "x/d.txt": "more", "n/e/w.txt": "fresh"}
				if initialised {
					want[".orchestration/active_intents.yaml"] = ""
				}
				wantTree(t, w.Dir(), want)
				for i, f := range s.Files() {
					if b, err := os.ReadFile(filepath.Join(w.Dir(), f.Path)); f.After.Hash != "" && (err != nil || workspace.HashOf(b) != f.After.Hash) {
						t.Errorf("file %d: %+v does not describe the disk: %q, %v", i, f, b, err)
					}
				}
			})
		})
	}
}

func TestStaleChangesNothing(t *testing.T) {
	variants(t, func(t *testing.T, opts ...workspace.Option) {
		files := map[string]string{"a": "1", "b": "2", "c": "3"}
		w := open(t, files, opts...)
		_, err := commit(t, w,
			workspace.Change{Op: change.Modified, Target: resolve(t, w, "a"), Before: hashOf("1"), After: []byte("x")},
			workspace.Change{Op: change.Modified, Target: resolve(t, w, "c"), Before: hashOf("older"), After: []byte("x")},
		)
		var stale *workspace.StaleError
		check.Must(t, errors.As(err, &stale) && errors.Is(err, workspace.ErrStale), "got %v", err)
		if stale.Path != "c" || stale.Have != hashOf("3") || string(stale.Content) != "3" || stale.Want != hashOf("older") {
			t.Errorf("%+v", stale)
		}
		wantTree(t, w.Dir(), files)
	})
}

func TestRollbackAfterLateFailure(t *testing.T) {
	variants(t, func(t *testing.T, opts ...workspace.Option) {
		files := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
		w := open(t, files, opts...)
		p, err := w.Prepare(context.Background(), []workspace.Change{
			{Op: change.Modified, Target: resolve(t, w, "a"), Before: hashOf("1"), After: []byte("x")},
			{Op: change.Deleted, Target: resolve(t, w, "b"), Before: hashOf("2")},
			{Op: change.Created, Target: resolve(t, w, "dir/new"), After: []byte("y")},
			{Op: change.Moved, Target: resolve(t, w, "d"), To: resolve(t, w, "moved/d"), Before: hashOf("4")},
			{Op: change.Modified, Target: resolve(t, w, "c"), Before: hashOf("3"), After: []byte("x")},
		})
		must(t, err)
		// An editor renames its own version into place between the check and the swap.
		put(t, filepath.Join(w.Dir(), "editor"), "theirs")
		must(t, os.Rename(filepath.Join(w.Dir(), "editor"), filepath.Join(w.Dir(), "c")))
		if _, err := p.Commit(context.Background()); !errors.Is(err, workspace.ErrStale) {
			t.Fatalf("got %v", err)
		}
		files["c"] = "theirs"
		wantTree(t, w.Dir(), files)
		if _, err := os.Stat(filepath.Join(w.Dir(), "dir")); !errors.Is(err, os.ErrNotExist) {
			t.Error("a directory that was made for a change taken back is still there")
		}
	})
}

func TestCommittedRollback(t *testing.T) {
	variants(t, func(t *testing.T, opts ...workspace.Option) {
		files := map[string]string{"a": "1", "b": "2", "d": "4"}
		w := open(t, files, opts...)
		s, err := commit(t, w,
			workspace.Change{Op: change.Modified, Target: resolve(t, w, "a"), Before: hashOf("1"), After: []byte("x")},
			workspace.Change{Op: change.Deleted, Target: resolve(t, w, "b"), Before: hashOf("2")},
			workspace.Change{Op: change.Created, Target: resolve(t, w, "dir/new"), After: []byte("y")},
			workspace.Change{Op: change.Moved, Target: resolve(t, w, "d"), To: resolve(t, w, "moved/d"), Before: hashOf("4"), After: []byte("44")},
		)
		must(t, err)
		must(t, s.Rollback(context.Background()))
		must(t, s.Close())
		wantTree(t, w.Dir(), files)
	})
}
