//go:build unix

package workspace_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func wantMode(t *testing.T, w *workspace.Workspace, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(filepath.Join(w.Dir(), path))
	must(t, err)
	if info.Mode() != want {
		t.Errorf("%s has the mode %v, want %v", path, info.Mode(), want)
	}
}

// TestModes: a change can set permissions, alone too, and says what they were and are.
func TestModes(t *testing.T) {
	variants(t, func(t *testing.T, opts ...workspace.Option) {
		w := open(t, map[string]string{"a": "a", "b": "b", "c": "c"}, opts...)
		run, private := fs.FileMode(0o755), fs.FileMode(0o600)
		must(t, os.Chmod(filepath.Join(w.Dir(), "c"), 0o640))
		s, err := commit(t, w,
			workspace.Change{Op: change.Modified, Target: resolve(t, w, "a"), Before: hashOf("a"), After: []byte("a"), Mode: &run},
			workspace.Change{Op: change.Moved, Target: resolve(t, w, "b"), To: resolve(t, w, "d"), Before: hashOf("b"), Mode: &run},
			workspace.Change{Op: change.Modified, Target: resolve(t, w, "c"), Before: hashOf("c"), After: []byte("cc")},
			workspace.Change{Op: change.Created, Target: resolve(t, w, "e"), After: []byte("e"), Mode: &private})
		must(t, err)
		var got [][2]change.Mode
		for _, f := range s.Files() {
			got = append(got, [2]change.Mode{f.Before.Mode, f.After.Mode})
		}
		for i, want := range [][2]change.Mode{{"0644", "0755"}, {"0644", "0755"}, {"0640", "0640"}, {"", "0600"}} {
			if got[i] != want {
				t.Errorf("change %d says %v, want %v", i, got[i], want)
			}
		}
		must(t, s.Close())
		for path, mode := range map[string]fs.FileMode{"a": 0o755, "c": 0o640, "d": 0o755, "e": 0o600} {
			wantMode(t, w, path, mode)
		}
	})
}

// TestRecoverModes: a change of permissions alone leaves the content, and is told from the permissions.
func TestRecoverModes(t *testing.T) {
	const before, after = fs.FileMode(0o644), fs.FileMode(0o755)
	plan := plannedChange(change.Modified, "f", "", "same", "same", temp, "")
	plan.Before.Mode, plan.After.Mode = change.ModeOf(before), change.ModeOf(after)
	for name, c := range map[string]struct {
		found map[string]fs.FileMode
		fate  workspace.Fate
	}{
		"not yet":                    {map[string]fs.FileMode{"f": before, temp: after}, workspace.Undone},
		"given up":                   {map[string]fs.FileMode{"f": before}, workspace.Undone},
		"done":                       {map[string]fs.FileMode{"f": after, temp: before}, workspace.Done},
		"done and tidied":            {map[string]fs.FileMode{"f": after}, workspace.Done},
		"done, and set since":        {map[string]fs.FileMode{"f": 0o600, temp: before}, workspace.Done},
		"without exchange, halfway":  {map[string]fs.FileMode{"f": after, tmpDir + ".orchestra-a-old.tmp": before}, workspace.Done},
		"gone":                       {nil, workspace.Undone},
		"not yet, and removed since": {map[string]fs.FileMode{temp: after}, workspace.Undone},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, nil)
			for path, mode := range c.found {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(w.Dir(), path)), 0o700))
				put(t, filepath.Join(w.Dir(), path), "same")
				must(t, os.Chmod(filepath.Join(w.Dir(), path), mode))
			}
			for range 2 {
				r, err := w.Recover(context.Background(), []change.Planned{plan})
				must(t, err)
				if r.Files[0].Fate != c.fate {
					t.Errorf("fate %v, want %v", r.Files[0].Fate, c.fate)
				}
			}
			_, err := w.Tidy([]change.Planned{plan})
			must(t, err)
		})
	}
}
