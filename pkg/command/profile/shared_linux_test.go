package profile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// linked are the names in a workspace of files that have several, as a walk finds them.
func linked(t *testing.T, top string) []profile.Name {
	t.Helper()
	var names []profile.Name
	if err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		raw := info.Sys().(*syscall.Stat_t)
		if raw.Nlink > 1 {
			way, _ := filepath.Rel(top, path)
			dir := filepath.Dir(way)
			if dir == "." {
				dir = ""
			}
			names = append(names, profile.Name{Dir: dir, Name: d.Name(), Dev: uint64(raw.Dev), Inode: raw.Ino, Links: uint64(raw.Nlink)})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestNamesElsewhere: a file that has a name out of the scope cannot be written by its names in it.
func TestNamesElsewhere(t *testing.T) {
	for _, c := range []struct {
		name     string
		scope    []string
		writable []string    // of commands.writable
		links    [][2]string // made from, to; to begins with / for outside
		want     []string    // that are closed
		open     []string    // that are not
		wide     int         // how many files are linked one by one with names outside, each in a directory of its own
	}{
		{name: "none", scope: []string{"src/**"}, open: []string{"src/a"}},
		{name: "both in scope", scope: []string{"src/**"}, links: [][2]string{{"src/a", "src/z"}}, open: []string{"src/a", "src/z"}},
		{name: "one out of scope", scope: []string{"src/**"}, links: [][2]string{{"docs/b", "src/b"}}, want: []string{"src/b"}, open: []string{"src/a"}},
		{name: "one outside", scope: []string{"src/**"}, links: [][2]string{{"src/a", "/a"}}, want: []string{"src/a"}, open: []string{"src/new"}},
		{name: "one of three outside", links: [][2]string{{"src/a", "src/z"}, {"src/a", "/a"}}, want: []string{"src/a", "src/z"}, open: []string{"docs/b"}},
		{name: "one in .orchestration", links: [][2]string{{".orchestration/active_intents.yaml", "src/i"}}, want: []string{"src/i"}, open: []string{"src/a"}},
		{name: "all of a scope that is one file", scope: []string{"src/a"}, links: [][2]string{{"src/a", "/a"}}, want: []string{"src/a"}},
		{name: "two out of scope", scope: []string{"gen/**"}, links: [][2]string{{"src/a", "docs/a"}}, want: []string{"src/a", "docs/a"}, open: []string{"gen/x"}},
		{name: "in a build place", scope: []string{"src/**"}, links: [][2]string{{"node_modules/.cache/x", "node_modules/.cache/y"}}, open: []string{"node_modules/.cache/x", "node_modules/.cache/y"}},
		{name: "a build place with a name outside", scope: []string{"src/**"}, links: [][2]string{{"node_modules/.cache/x", "/x"}}, want: []string{"node_modules/.cache/x"}, open: []string{"node_modules/.cache/new"}},
		{name: "where the operator lets it", writable: []string{"src"}, links: [][2]string{{"src/a", "/a"}}, open: []string{"src/a"}},
		{name: "packages by the hundred", wide: 600, want: []string{"node_modules/p7/index.js", "node_modules/new"}, open: []string{"node_modules/.cache/x", "src/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := []string{"src/a", "docs/b", "gen/x", "node_modules/.cache/x", "package.json", ".orchestration/active_intents.yaml"}
			for i := range c.wide {
				name := fmt.Sprintf("node_modules/p%d/index.js", i)
				names = append(names, name)
				c.links = append(c.links, [2]string{name, fmt.Sprint("/", i)})
			}
			top, outside := tree(t, names...), t.TempDir()
			for _, link := range c.links {
				to := filepath.Join(top, link[1])
				if strings.HasPrefix(link[1], "/") {
					to = filepath.Join(outside, link[1])
				}
				check.OK(t, os.Link(filepath.Join(top, link[0]), to))
			}
			r := made(t, top, profile.Request{Level: sandbox.Full, Scope: c.scope, Writable: c.writable})
			r.CloseShared(linked(t, top), nil)
			for _, name := range c.want {
				if r.CanWrite(filepath.Join(top, name)) {
					t.Errorf("%s can be written: %v, frozen %v", name, r.Sandbox.Writable, r.Sandbox.Frozen)
				}
			}
			for _, name := range c.open {
				if !r.CanWrite(filepath.Join(top, name)) {
					t.Errorf("%s cannot be written: %v, frozen %v", name, r.Sandbox.Writable, r.Sandbox.Frozen)
				}
			}
			told := slices.ContainsFunc(r.Warnings, func(w string) bool {
				return strings.Contains(w, "hard links") && strings.Contains(w, "write_to_file and edit_file")
			})
			closes := len(c.want) > 0 && c.name != "two out of scope"
			check.Equal(t, told, closes, "%v", r.Warnings)
			check.That(t, len(r.Sandbox.Frozen) <= 300, "%d masks", len(r.Sandbox.Frozen))
		})
	}
}

// TestMoreNamesThanCounted: a directory of which not all such files were counted is closed.
func TestMoreNamesThanCounted(t *testing.T) {
	top := tree(t, "src/a", "lib/b")
	r := made(t, top, profile.Request{Level: sandbox.Full, Scope: []string{"src/**", "lib/**"}})
	r.CloseShared(nil, []string{"src", "docs"})
	if r.CanWrite(filepath.Join(top, "src/a")) || !r.CanWrite(filepath.Join(top, "lib/b")) {
		t.Errorf("%v, frozen %v", r.Sandbox.Writable, r.Sandbox.Frozen)
	}
}
