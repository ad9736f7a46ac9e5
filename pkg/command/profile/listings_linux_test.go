package profile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

func box(t *testing.T, m *profile.Builder, req profile.Request) *sandbox.Profile {
	t.Helper()
	req.Dir = "."
	r := check.Value(m.Make(req))(t)
	check.OK(t, r.Close())
	r.Sandbox.Temp = ""
	return r.Sandbox
}

// TestKeptListings: a directory that did not change is not listed again, and one that did is.
func TestKeptListings(t *testing.T) {
	root := tree(t, "src/a/b/x", "src/c/y", "docs/z")
	m := profile.New(root, home(t))
	m.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	req := profile.Request{Level: sandbox.Full, Scope: []string{"**"}}
	box(t, m, req)
	if m.Kept() != 6 {
		t.Fatalf("%d directories are kept", m.Kept())
	}
	before := check.Value(os.Lstat(filepath.Join(root, "src/a/b")))(t)
	frozen := filepath.Join(root, "src/a/b/.vscode")
	for changed := false; !changed; { // until the clock of the file system has moved on
		os.Remove(frozen)
		check.OK(t, os.Mkdir(frozen, 0o755))
		after := check.Value(os.Lstat(filepath.Join(root, "src/a/b")))(t)
		changed = !after.ModTime().Equal(before.ModTime())
	}
	if got := fmt.Sprint(box(t, m, req).Frozen); !strings.Contains(got, frozen) {
		t.Error(got)
	}
	m.SetClock(time.Now)
	check.OK(t, os.Remove(frozen))
	if got := fmt.Sprint(box(t, m, req).Frozen); strings.Contains(got, frozen) {
		t.Error(got)
	}
}

// TestListingsAgree: whatever changes between two commands, a Builder that remembers makes the profile of one that does not.
func TestListingsAgree(t *testing.T) {
	root := tree(t, "src/a/b/x", "src/c/y.ts", "docs/z", "link -> docs")
	environ := home(t)
	m := profile.New(root, environ)
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"src", "src/a", "src/a/b", "src/c", "docs", "new", "src/.vscode", "src/c/y.ts", "docs/.env", "docs/n", "src/a/.git"}
	requests := []profile.Request{
		{Level: sandbox.Full, Scope: []string{"**"}}, {Level: sandbox.Full, Scope: []string{"src/**"}}, {Level: sandbox.Full, Scope: []string{"src/**/*.ts"}},
		{Level: sandbox.Landlock, Scope: []string{"src/**"}},
		{Level: sandbox.Full, Rules: profile.Rules{Secret: func(p string) bool { return filepath.Base(p) == ".env" }}},
	}
	for i := range 40 {
		name := filepath.Join(root, names[random.IntN(len(names))])
		other := filepath.Join(root, names[random.IntN(len(names))])
		switch random.IntN(5) { // some of these fail, which is as well
		case 0:
			os.Mkdir(name, 0o755)
		case 1:
			os.WriteFile(name, nil, 0o644)
		case 2:
			os.RemoveAll(name)
		case 3:
			os.Rename(name, other)
		case 4:
			os.Symlink(other, name)
		}
		for j, req := range requests {
			got, want := box(t, m, req), box(t, profile.New(root, environ), req)
			check.Must(t, reflect.DeepEqual(got, want), "step %d, request %d:\n%+v, without memory\n%+v", i, j, got, want)
		}
	}
}
