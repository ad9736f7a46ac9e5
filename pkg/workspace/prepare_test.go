package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestPrepareRefuses(t *testing.T) {
	files := map[string]string{"f": "old", "g": "2"}
	w, other := open(t, files), open(t, files)
	f, g, missing := resolve(t, w, "f"), resolve(t, w, "g"), resolve(t, w, "x/missing")
	top, err := w.ResolveDir(".")
	must(t, err)
	closed, err := w.Resolve("f")
	must(t, err)
	must(t, closed.Close())
	for _, c := range []struct {
		name    string
		changes []workspace.Change
		err     error
	}{
		{"no operation", []workspace.Change{{Target: f}}, workspace.ErrConflict},
		{"no target", []workspace.Change{{Op: change.Created}}, workspace.ErrConflict},
		{"the workspace", []workspace.Change{{Op: change.Deleted, Target: top, Before: hashOf("")}}, workspace.ErrConflict},
		{"closed target", []workspace.Change{{Op: change.Modified, Target: closed, Before: hashOf("old")}}, workspace.ErrConflict},
		{"no destination", []workspace.Change{{Op: change.Moved, Target: f, Before: hashOf("old")}}, workspace.ErrConflict},
		{"no hash", []workspace.Change{{Op: change.Modified, Target: f}}, workspace.ErrConflict},
		{"another workspace", []workspace.Change{{Op: change.Modified, Target: resolve(t, other, "f"), Before: hashOf("old")}}, workspace.ErrConflict},
		{"twice", []workspace.Change{
			{Op: change.Modified, Target: f, Before: hashOf("old")}, {Op: change.Moved, Target: g, To: resolve(t, w, "./f"), Before: hashOf("2")},
		}, workspace.ErrConflict},
		{"create over a file", []workspace.Change{{Op: change.Created, Target: f}}, workspace.ErrExists},
		{"move over a file", []workspace.Change{{Op: change.Moved, Target: f, To: g, Before: hashOf("old")}}, workspace.ErrExists},
		{"modify nothing", []workspace.Change{{Op: change.Modified, Target: missing, Before: hashOf("old")}}, workspace.ErrStale},
		{"delete what is gone", []workspace.Change{{Op: change.Deleted, Target: resolve(t, w, "gone"), Before: hashOf("old")}}, workspace.ErrStale},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := w.Prepare(context.Background(), c.changes); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			wantTree(t, w.Dir(), files)
		})
	}
}

// TestCreateMeetsForeignFile: somebody makes the file between the check and the commit.
func TestCreateMeetsForeignFile(t *testing.T) {
	variants(t, func(t *testing.T, opts ...workspace.Option) {
		w := open(t, map[string]string{"f": "old"}, opts...)
		p, err := w.Prepare(context.Background(), []workspace.Change{
			{Op: change.Modified, Target: resolve(t, w, "f"), Before: hashOf("old"), After: []byte("new")},
			{Op: change.Created, Target: resolve(t, w, "d/n"), After: []byte("ours")},
		})
		must(t, err)
		put(t, filepath.Join(w.Dir(), "d/n"), "theirs")
		if _, err := p.Commit(context.Background()); !errors.Is(err, workspace.ErrExists) {
			t.Errorf("got %v", err)
		}
		wantTree(t, w.Dir(), map[string]string{"f": "old", "d/n": "theirs"})
	})
}

// TestLinkInPlaceOfAMissingParent: the directory that was to be made is a link out of the workspace by then.
func TestLinkInPlaceOfAMissingParent(t *testing.T) {
	outside := t.TempDir()
	w := open(t, map[string]string{"f": "old"})
	p, err := w.Prepare(context.Background(), []workspace.Change{{Op: change.Created, Target: resolve(t, w, "d/e/n"), After: []byte("ours")}})
	must(t, err)
	must(t, os.Symlink(outside, filepath.Join(w.Dir(), "d")))
	if _, err := p.Commit(context.Background()); !errors.Is(err, workspace.ErrChangedDir) {
		t.Errorf("got %v", err)
	}
	wantTree(t, outside, map[string]string{})
}

// TestTwoNamesOfOneFile changes both hard links of one inode in one call.
func TestTwoNamesOfOneFile(t *testing.T) {
	w := open(t, map[string]string{"a": "old"})
	must(t, os.Link(filepath.Join(w.Dir(), "a"), filepath.Join(w.Dir(), "b")))
	done(t, w,
		workspace.Change{Op: change.Modified, Target: resolve(t, w, "a"), Before: hashOf("old"), After: []byte("1")},
		workspace.Change{Op: change.Modified, Target: resolve(t, w, "b"), Before: hashOf("old"), After: []byte("2")})
	wantTree(t, w.Dir(), map[string]string{"a": "1", "b": "2"})
}

// TestStateIsNotFollowed: a cloned repository brings a link where temporary files would go.
func TestStateIsNotFollowed(t *testing.T) {
	outside := t.TempDir()
	w := open(t, map[string]string{"f": "old", ".orchestration/active_intents.yaml": ""})
	must(t, os.Symlink(outside, filepath.Join(w.Dir(), ".orchestration/state")))
	p, err := w.Prepare(context.Background(), []workspace.Change{{Op: change.Modified, Target: resolve(t, w, "f"), Before: hashOf("old"), After: []byte("new")}})
	must(t, err)
	temp := p.Plan()[0].Temp
	check.That(t, !strings.Contains(temp, "/") && workspace.IsTemp(temp), "the temporary file is %s", temp)
	wantTree(t, outside, map[string]string{})
	s, err := p.Commit(context.Background())
	must(t, err)
	must(t, s.Close())
	if _, err := w.State(); err == nil {
		t.Error("State followed the link")
	}
}

func TestState(t *testing.T) {
	w := open(t, map[string]string{".orchestration/active_intents.yaml": ""})
	for range 2 {
		state, err := w.State()
		must(t, err)
		must(t, state.Close())
	}
	if info, err := os.Stat(filepath.Join(w.Dir(), ".orchestration/state")); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := open(t, nil).State(); !errors.Is(err, workspace.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestPlanNamesWhatIsOnDisk: a journal written between Prepare and Commit must find the files that it names.
func TestPlanNamesWhatIsOnDisk(t *testing.T) {
	w := open(t, map[string]string{"f": "old", "m": "1", ".orchestration/active_intents.yaml": ""})
	p, err := w.Prepare(context.Background(), []workspace.Change{
		{Op: change.Modified, Target: resolve(t, w, "f"), Before: hashOf("old"), After: []byte("new")},
		{Op: change.Moved, Target: resolve(t, w, "m"), To: resolve(t, w, "m2"), Before: hashOf("1"), After: []byte("2")},
	})
	must(t, err)
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join(w.Dir(), path))
		must(t, err)
		return string(b)
	}
	plan := p.Plan()
	if read(plan[0].Temp) != "new" || read(plan[1].Temp) != "2" || read("f") != "old" {
		t.Errorf("before: %q", tree(t, w.Dir()))
	}
	s, err := p.Commit(context.Background())
	must(t, err)
	if read(plan[0].Temp) != "old" || read(plan[1].Gone) != "1" || read("f") != "new" {
		t.Errorf("after: %q", tree(t, w.Dir()))
	}
	must(t, s.Close())
	must(t, s.Close())
}

func TestCancelledCommitChangesNothing(t *testing.T) {
	files := map[string]string{"f": "old"}
	w := open(t, files)
	ctx, cancel := context.WithCancel(context.Background())
	p, err := w.Prepare(ctx, []workspace.Change{{Op: change.Deleted, Target: resolve(t, w, "f"), Before: hashOf("old")}})
	must(t, err)
	cancel()
	if _, err := p.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Commit(context.Background()); err == nil {
		t.Error("committed after it was discarded")
	}
	wantTree(t, w.Dir(), files)
}
