package workspace_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// temps lists the temporary files of a workspace and the signs of life.
func temps(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, place := range []string{"", "sub", "sub/deeper", ".orchestration/state/tmp"} {
		entries, err := os.ReadDir(filepath.Join(dir, place))
		check.Must(t, err == nil || place == "sub/deeper", "%v", err)
		for _, e := range entries {
			if workspace.IsTemp(e.Name()) || strings.HasSuffix(e.Name(), ".owner") {
				found = append(found, filepath.Join(place, e.Name()))
			}
		}
	}
	return found
}

// TestSweep: what a process that is gone left goes at once, wherever it is;
// what a living one has, or a plan names, stays.
func TestSweep(t *testing.T) {
	for name, opts := range map[string][]workspace.Option{"shared": nil, "beside": {workspace.BesideTarget()}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, ".orchestration/active_intents.yaml"), "")
			put(t, filepath.Join(dir, "sub/old"), "old")
			prepare := func(w *workspace.Workspace, path string) *workspace.Prepared {
				at := resolve(t, w, path)
				p, err := w.Prepare(context.Background(), []workspace.Change{{Op: change.Created, Target: at, After: []byte("new")}})
				must(t, err)
				t.Cleanup(func() {
					_ = p.Discard() // waits for the flush that is under way; what was swept is not there any more
					at.Close()
				})
				return p
			}
			dead, looks := openAt(t, dir, opts...), openAt(t, dir, opts...)
			lives, err := workspace.Open(dir, opts...)
			must(t, err)
			prepare(dead, "top")
			named := prepare(dead, "sub/named").Plan()
			prepare(dead, "sub/deeper/still")
			mine := prepare(lives, "sub/mine")
			before := temps(t, dir)
			check.Must(t, len(before) == 6, "%v: want four temporary files and two signs of life", before)
			sweep := func(plans ...change.Planned) []string {
				a, err := looks.Abandoned()
				must(t, err)
				a.Sweep(plans)
				must(t, a.Close())
				return temps(t, dir)
			}
			if left := sweep(); !slices.Equal(left, before) {
				t.Errorf("files of the living were taken: %v of %v", left, before)
			}
			dead.Die()
			left := sweep(named...)
			if len(left) != 4 || !slices.Contains(left, named[0].Temp) || !slices.Contains(left, mine.Plan()[0].Temp) {
				t.Errorf("left %v, want those of the living and %s", left, named[0].Temp)
			}
			if left := sweep(); len(left) != 2 || !slices.Contains(left, mine.Plan()[0].Temp) {
				t.Errorf("left %v, want those of the living", left)
			}
			must(t, mine.Discard())
			must(t, lives.Close())
			if left := temps(t, dir); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestSweepBelievesNoOne: the list of directories in a dead process's file
// leads nowhere else, and takes nothing but temporary files of that process.
func TestSweepBelievesNoOne(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	w := openAt(t, dir)
	files := map[string]string{
		"sub/.orchestra-AAAAAAAAAA-x.tmp": "its own", "sub/.orchestra-BBBBBBBBBB-x.tmp": "of another", "sub/file": "x",
		".orchestration/state/tmp/AAAAAAAAAA.owner": "./sub\n../" + filepath.Base(outside) + "\n" + outside + "\n./link\n./none\n\n./sub/file\n",
	}
	for name, content := range files {
		put(t, filepath.Join(dir, name), content)
	}
	put(t, filepath.Join(outside, ".orchestra-AAAAAAAAAA-x.tmp"), "outside")
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	a, err := w.Abandoned()
	must(t, err)
	a.Sweep(nil)
	must(t, a.Close())
	if _, err := os.Stat(filepath.Join(outside, ".orchestra-AAAAAAAAAA-x.tmp")); err != nil {
		t.Errorf("a file outside of the workspace was removed: %v", err)
	}
	want := maps.Clone(files)
	delete(want, "sub/.orchestra-AAAAAAAAAA-x.tmp")
	delete(want, ".orchestration/state/tmp/AAAAAAAAAA.owner")
	for name := range files {
		_, err := os.Stat(filepath.Join(dir, name))
		if _, stays := want[name]; stays != (err == nil) {
			t.Errorf("%s: stays %v, want %v", name, err == nil, stays)
		}
	}
}
