//go:build linux && !portable

package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/fileclock"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// TestLinksOfPlaces: a directory of our own is read again exactly when it has changed, and a link that comes to it counts
// at once.
func TestLinksOfPlaces(t *testing.T) {
	own := t.TempDir()
	w := open(t, map[string]string{"a": "", "b": ""}, workspace.SettledAtOnce(),
		workspace.WithPlaces([]workspace.Place{{Path: own, Protection: workspace.ProtectOwn}}))
	link := func(name string) {
		for before := fileclock.Now(); fileclock.Now() == before; time.Sleep(time.Millisecond) { // the time of change has to differ
		}
		must(t, os.Symlink(filepath.Join(w.Dir(), name), filepath.Join(own, name)))
	}
	protections := func() [2]workspace.Protection {
		return [2]workspace.Protection{resolve(t, w, "a").Protection(), resolve(t, w, "b").Protection()}
	}
	link("a")
	for range 3 {
		check.That(t, protections() == [2]workspace.Protection{workspace.ProtectOwn, workspace.ProtectNone}, "with one link: %v", protections())
	}
	check.That(t, w.LooksAtPlaces() == 1, "read %d times", w.LooksAtPlaces())
	link("b")
	check.That(t, protections() == [2]workspace.Protection{workspace.ProtectOwn, workspace.ProtectOwn}, "with two links: %v", protections())
	must(t, os.Remove(filepath.Join(own, "a")))
	link("c")
	check.That(t, protections() == [2]workspace.Protection{workspace.ProtectNone, workspace.ProtectOwn}, "with one gone: %v", protections())
}

// TestLinksOfUnsettledPlaces: a directory that has just changed may change again without a sign of it.
func TestLinksOfUnsettledPlaces(t *testing.T) {
	own := t.TempDir()
	w := open(t, map[string]string{"a": ""}, workspace.WithPlaces([]workspace.Place{{Path: own, Protection: workspace.ProtectOwn}}))
	looks := w.LooksAtPlaces()
	for range 3 {
		resolve(t, w, "a")
	}
	check.That(t, w.LooksAtPlaces() == looks+3, "read %d times for 3 paths", w.LooksAtPlaces()-looks)
}
