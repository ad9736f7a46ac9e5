package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func listing(t *testing.T) *workspace.Target {
	t.Helper()
	w := open(t, map[string]string{"b/2": "two", "a": "one", "b/c/3": "three", "z": "", ".orchestra-XYZ.tmp": "hidden", "b/.orchestra-1.tmp": "hidden", ".git/x": "git's", "b/.GIT/x": "git's"})
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "secret")
	must(t, os.Symlink(outside, filepath.Join(w.Dir(), "b", "link")))
	return top(t, w)
}

func top(t *testing.T, w *workspace.Workspace) *workspace.Target {
	t.Helper()
	top, err := w.ResolveDir(".")
	must(t, err)
	t.Cleanup(func() { top.Close() })
	return top
}

func contentOf(t *testing.T, e workspace.Entry) string {
	t.Helper()
	f, err := e.Open()
	must(t, err)
	defer f.Close()
	content := make([]byte, f.Size+1)
	return string(content[:check.Value(f.ReadSome(content, 0))(t)])
}

func TestWalk(t *testing.T) {
	var got []string
	must(t, listing(t).Walk(context.Background(), nil, func(e workspace.Entry) error {
		line := fmt.Sprint(e.Path, " ", e.Kind)
		if e.Kind == workspace.Regular {
			line += " " + contentOf(t, e)
		}
		got = append(got, line)
		return nil
	}))
	want := []string{"a file one", "b directory", "b/2 file two", "b/c directory", "b/c/3 file three", "b/link symlink", "z file "}
	check.That(t, slices.Equal(got, want), "got %q, want %q", got, want)
}

func TestWalkStops(t *testing.T) {
	top := listing(t)
	for name, c := range map[string]struct {
		at   string
		stop error
		want []string
		err  error
	}{
		"skip directory": {"b", fs.SkipDir, []string{"a", "b", "z"}, nil},
		"skip siblings":  {"b/2", fs.SkipDir, []string{"a", "b", "b/2", "z"}, nil},
		"skip all":       {"b/2", fs.SkipAll, []string{"a", "b", "b/2"}, nil},
		"error":          {"b/c", fs.ErrInvalid, []string{"a", "b", "b/2", "b/c"}, fs.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := top.Walk(context.Background(), nil, func(e workspace.Entry) error {
				got = append(got, e.Path)
				if e.Path == c.at {
					return c.stop
				}
				return nil
			})
			check.That(t, slices.Equal(got, c.want) && errors.Is(err, c.err), "got %q, %v", got, err)
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := top.Walk(ctx, nil, func(workspace.Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWalkOfNoDirectory(t *testing.T) {
	w := open(t, map[string]string{"f": ""})
	for name, want := range map[string]error{"f": workspace.ErrNotRegular, "g": workspace.ErrNotExist} {
		target := resolve(t, w, name)
		check.Is(t, target.Walk(context.Background(), nil, func(workspace.Entry) error { return nil }), want)
		check.Is(t, target.Scan(context.Background(), workspace.Scan{Visitor: func() func(workspace.Entry) { return func(workspace.Entry) {} }}), want)
	}
}

// What .gitignore files hide is not visited, by those above the directory, those in it and those below; nor is what the
// caller leaves out.
func TestWalkSeesWhatGitSees(t *testing.T) {
	w := open(t, map[string]string{
		".gitignore": "*.log\nout/\n/top\n!keep.log\nfar/*/deep\n", "a.log": "", "keep.log": "", "top": "", "out/x": "",
		"sub/.gitignore": "/only\n!b.log\n*.md\n", "sub/only": "", "sub/top": "", "sub/b.log": "", "sub/c/only": "", "sub/c/b.log": "", "sub/c/x.md": "", "sub/out/b.log": "",
		"far/x/deep/f": "", "far/x/y/deep/f": "", "left/x": "", "linked/x.tmp": "", "linked/x": "", "bad/.gitignore": "[\n*.c\n", "bad/x.c": "", "bad/x": "",
	})
	put(t, filepath.Join(w.Dir(), "rules"), "*.tmp\n")
	must(t, os.Symlink("../rules", filepath.Join(w.Dir(), "linked", ".gitignore")))
	visited := func(dir string) (walked []string) {
		target, err := w.ResolveDir(dir)
		must(t, err)
		defer target.Close()
		must(t, target.Walk(context.Background(), func(path string) bool { return path == "left" }, func(e workspace.Entry) error {
			if e.Kind == workspace.Regular && e.Name() != ".gitignore" {
				walked = append(walked, e.Path)
			}
			return nil
		}))
		return walked
	}
	for dir, want := range map[string]string{
		".": "bad/x far/x/y/deep/f keep.log linked/x rules sub/b.log sub/c/b.log sub/c/only sub/top", "sub": "sub/b.log sub/c/b.log sub/c/only sub/top",
		"sub/c": "sub/c/b.log sub/c/only", "out": "", "sub/out": "", "far/x": "far/x/y/deep/f", "linked": "linked/x", "far/x/deep": "",
	} {
		check.Equal(t, strings.Join(visited(dir), " "), want, "%s", dir)
	}
}
