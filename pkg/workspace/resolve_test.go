//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// hostile is a workspace with everything in it that a path can trip over. secret lies outside.
func hostile(t *testing.T) (w *workspace.Workspace, secret string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	secret = filepath.Join(base, "secret.txt")
	put(t, secret, "secret")
	put(t, filepath.Join(base, "ws2", "sibling.txt"), "sibling")
	put(t, filepath.Join(dir, "src", "a.txt"), "a")
	put(t, filepath.Join(dir, "docs", "d.txt"), "d")
	for link, to := range map[string]string{
		"escape":          "../secret.txt",
		"escape-dir":      "..",
		"escape-abs":      secret,
		"absolute":        filepath.Join(dir, "src", "a.txt"),
		"absolute-dir":    filepath.Join(dir, "src"),
		"around":          "../ws/src/a.txt",
		"sibling":         "../ws2/sibling.txt",
		"dangling":        "src/not-yet.txt",
		"dangling-deep":   "src/no/such/file.txt",
		"dangling-out":    "../nothing.txt",
		"loop":            "loop",
		"ping":            "pong",
		"pong":            "ping",
		"src/up":          "../docs/d.txt",
		"src/updir":       "../docs",
		"through-missing": "nowhere/../src/a.txt",
		"to-git":          ".git/hooks",
		"to-dev":          "/dev/null",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	if os.Geteuid() == 0 {
		must(t, syscall.Mknod(filepath.Join(dir, "device"), syscall.S_IFCHR|0o666, 0x103))
	}
	return openAt(t, dir), secret
}

func TestResolve(t *testing.T) {
	w, secret := hostile(t)
	long := strings.Repeat("n", 300)
	for _, c := range []struct {
		name, requested string
		path            string
		kind            workspace.Kind
		err             error
	}{
		{"plain", "src/a.txt", "src/a.txt", workspace.Regular, nil},
		{"untidy", ".//src/../src/./a.txt", "src/a.txt", workspace.Regular, nil},
		{"absolute", filepath.Join(w.Dir(), "src/a.txt"), "src/a.txt", workspace.Regular, nil},
		{"directory", "src", "src", workspace.Directory, nil},
		{"missing", "src/new.txt", "src/new.txt", workspace.Missing, nil},
		{"missing parents", "x/y/z.txt", "x/y/z.txt", workspace.Missing, nil},
		{"absolute link", "absolute", "src/a.txt", workspace.Regular, nil},
		{"absolute link to a directory", "absolute-dir/a.txt", "src/a.txt", workspace.Regular, nil},
		{"link that goes round", "around", "src/a.txt", workspace.Regular, nil},
		{"link upward inside", "src/up", "docs/d.txt", workspace.Regular, nil},
		{"directory link upward inside", "src/updir/new", "docs/new", workspace.Missing, nil},
		{"dangling link", "dangling", "src/not-yet.txt", workspace.Missing, nil},
		{"dangling link, missing parents", "dangling-deep", "src/no/such/file.txt", workspace.Missing, nil},
		{"name that starts with dots", "..x", "..x", workspace.Missing, nil},
		{"name of 255 bytes", long[:255], long[:255], workspace.Missing, nil},
		{"fifo", "fifo", "fifo", workspace.Other, nil},
		{"socket", "socket", "socket", workspace.Other, nil},

		{"traversal", "../secret.txt", "", 0, workspace.ErrOutside},
		{"deep traversal", "src/../../secret.txt", "", 0, workspace.ErrOutside},
		{"parent", "..", "", 0, workspace.ErrNotRegular},
		{"absolute outside", secret, "", 0, workspace.ErrOutside},
		{"absolute prefix sibling", w.Dir() + "2/sibling.txt", "", 0, workspace.ErrOutside},
		{"absolute traversal", w.Dir() + "/../secret.txt", "", 0, workspace.ErrOutside},
		{"root", "/etc/passwd", "", 0, workspace.ErrOutside},
		{"link out", "escape", "", 0, workspace.ErrOutside},
		{"link out by a directory", "escape-dir/secret.txt", "", 0, workspace.ErrOutside},
		{"absolute link out", "escape-abs", "", 0, workspace.ErrOutside},
		{"link to a sibling", "sibling", "", 0, workspace.ErrOutside},
		{"dangling link out", "dangling-out", "", 0, workspace.ErrOutside},
		{"link to a device", "to-dev", "", 0, workspace.ErrOutside},
		{"link through nothing", "through-missing", "", 0, workspace.ErrNotExist},
		{"loop", "loop", "", 0, workspace.ErrInvalidPath},
		{"loop of two", "ping", "", 0, workspace.ErrInvalidPath},
		{"empty", "", "", 0, workspace.ErrInvalidPath},
		{"dot", ".", "", 0, workspace.ErrNotRegular},
		{"trailing slash", "src/a.txt/", "", 0, workspace.ErrNotRegular},
		{"trailing dot", "src/.", "", 0, workspace.ErrNotRegular},
		{"file as a directory", "src/a.txt/b", "", 0, workspace.ErrNotRegular},
		{"nul", "src/a.txt\x00.png", "", 0, workspace.ErrInvalidPath},
		{"newline", "src/a\nb", "", 0, workspace.ErrInvalidPath},
		{"escape sequence", "src/\x1b[2J", "", 0, workspace.ErrInvalidPath},
		{"not utf-8", "src/\xff", "", 0, workspace.ErrInvalidPath},
		{"name of 300 bytes", long, "", 0, workspace.ErrInvalidPath},
		{"directory name of 300 bytes", long + "/x", "", 0, workspace.ErrInvalidPath},
		{"path of 5000 bytes", strings.Repeat("abcd/", 1000), "", 0, workspace.ErrInvalidPath},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := w.Resolve(c.requested)
			if c.err != nil {
				check.Must(t, errors.Is(err, c.err), "got %v, want %v", err, c.err)
				var named *workspace.PathError
				check.That(t, errors.As(err, &named) && named.Path == c.requested, "%v does not name the path", err)
				return
			}
			must(t, err)
			defer target.Close()
			check.That(t, target.Path() == c.path && target.Kind() == c.kind, "got %s %v", target.Path(), target.Kind())
		})
	}
}

func TestResolveDir(t *testing.T) {
	w, _ := hostile(t)
	for _, c := range []struct{ requested, path string }{
		{".", "."}, {"./", "."}, {"src/", "src"}, {"src/..", "."}, {w.Dir(), "."}, {"absolute-dir", "src"}, {"src/updir/", "docs"},
	} {
		target, err := w.ResolveDir(c.requested)
		must(t, err)
		if target.Path() != c.path || target.Kind() != workspace.Directory {
			t.Errorf("%s: got %s %v", c.requested, target.Path(), target.Kind())
		}
		entries := 0
		if err := target.Walk(context.Background(), nil, func(workspace.Entry) error { entries++; return nil }); err != nil || entries == 0 {
			t.Errorf("%s: %d, %v", c.requested, entries, err)
		}
		must(t, target.Close())
	}
	if _, err := w.ResolveDir("escape-dir"); !errors.Is(err, workspace.ErrOutside) {
		t.Errorf("got %v", err)
	}
}

func TestOpenedThroughALink(t *testing.T) {
	base := t.TempDir()
	put(t, filepath.Join(base, "real", "a.txt"), "a")
	must(t, os.Symlink("real", filepath.Join(base, "link")))
	must(t, os.Symlink("real", filepath.Join(base, "other")))
	must(t, os.Symlink(filepath.Join(base, "link", "a.txt"), filepath.Join(base, "real", "by-link")))
	w := openAt(t, filepath.Join(base, "link"))
	for _, requested := range []string{
		filepath.Join(base, "link", "a.txt"), filepath.Join(base, "real", "a.txt"), filepath.Join(base, "other", "a.txt"), "by-link",
	} {
		if target := resolve(t, w, requested); target.Path() != "a.txt" || target.Kind() != workspace.Regular {
			t.Errorf("%s: %s %v", requested, target.Path(), target.Kind())
		}
	}
}

// TestNothingBlocks tries every operation on what is not a regular file. A blocking open would hang.
func TestNothingBlocks(t *testing.T) {
	w, _ := hostile(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range []string{"fifo", "socket", "device", "src"} {
			target, err := w.Resolve(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if target.Kind() == workspace.Missing {
				continue // the device, where we may not make one
			}
			if _, err := target.Read(100); !errors.Is(err, workspace.ErrNotRegular) {
				t.Errorf("read %s: %v", path, err)
			}
			for _, c := range []workspace.Change{
				{Op: change.Modified, Before: hashOf("")}, {Op: change.Deleted, Before: hashOf("")},
			} {
				c.Target = target
				if _, err := w.Prepare(context.Background(), []workspace.Change{c}); !errors.Is(err, workspace.ErrNotRegular) {
					t.Errorf("%v %s: %v", c.Op, path, err)
				}
			}
			if _, err := commit(t, w, workspace.Change{Op: change.Created, Target: target}); !errors.Is(err, workspace.ErrExists) {
				t.Errorf("create %s: %v", path, err)
			}
			target.Close()
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("blocked")
	}
}

// TestDirectorySwap puts a link in the place of a checked directory at every moment at which it could matter.
func TestDirectorySwap(t *testing.T) {
	for _, c := range []struct {
		name string
		swap func(t *testing.T, dir, outside string)
	}{
		{"link out", func(t *testing.T, dir, outside string) {
			must(t, os.Rename(dir, dir+"-old"))
			must(t, os.Symlink(outside, dir))
		}},
		{"another directory", func(t *testing.T, dir, _ string) {
			must(t, os.Rename(dir, dir+"-old"))
			must(t, os.Mkdir(dir, 0o755))
			put(t, filepath.Join(dir, "f"), "old")
		}},
	} {
		for _, moment := range []string{"after resolve", "after prepare"} {
			t.Run(c.name+" "+moment, func(t *testing.T) {
				outside := t.TempDir()
				put(t, filepath.Join(outside, "f"), "old")
				w := open(t, map[string]string{"sub/f": "old"})
				sub := filepath.Join(w.Dir(), "sub")
				changes := []workspace.Change{
					{Op: change.Modified, Target: resolve(t, w, "sub/f"), Before: hashOf("old"), After: []byte("new")},
					{Op: change.Created, Target: resolve(t, w, "sub/n"), After: []byte("new")},
				}
				if moment == "after resolve" {
					c.swap(t, sub, outside)
				}
				p, err := w.Prepare(context.Background(), changes)
				if moment == "after resolve" {
					check.Must(t, errors.Is(err, workspace.ErrChangedDir), "got %v", err)
				} else {
					must(t, err)
					c.swap(t, sub, outside)
					if _, err := p.Commit(context.Background()); !errors.Is(err, workspace.ErrChangedDir) {
						t.Errorf("got %v", err)
					}
				}
				wantTree(t, outside, map[string]string{"f": "old"})
				wantTree(t, sub+"-old", map[string]string{"f": "old"})
			})
		}
	}
}

func TestRead(t *testing.T) {
	w := open(t, map[string]string{"a": "12345", "empty": ""})
	c, err := resolve(t, w, "a").Read(5)
	must(t, err)
	check.That(t, string(c.Bytes) == "12345" && c.Hash == hashOf("12345") && c.Info.Size() == 5, "%+v", c)
	if c, err := resolve(t, w, "empty").Read(5); err != nil || len(c.Bytes) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := resolve(t, w, "a").Read(4); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	for _, missing := range []string{"b", "x/y"} {
		if _, err := resolve(t, w, missing).Read(4); !errors.Is(err, workspace.ErrNotExist) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v", missing, err)
		}
	}
}

func TestParseHash(t *testing.T) {
	good := string(hashOf("x"))
	if h, err := workspace.ParseHash(good); err != nil || string(h) != good {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{"", "sha256:", good[7:], good + "0", good[:70], strings.ToUpper(good), "sha256:" + strings.ToUpper(good[7:]), "sha1:" + good[7:], good[:70] + "g"} {
		if _, err := workspace.ParseHash(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
