package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func listing(t *testing.T) *workspace.Target {
	t.Helper()
	w := open(t, map[string]string{"b/2": "two", "a": "one", "b/c/3": "three", "z": "", ".orchestra-XYZ.tmp": "hidden", "b/.orchestra-1.tmp": "hidden"})
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "secret")
	must(t, os.Symlink(outside, filepath.Join(w.Dir(), "b", "link")))
	top, err := w.ResolveDir(".")
	must(t, err)
	t.Cleanup(func() { top.Close() })
	return top
}

func TestWalk(t *testing.T) {
	top := listing(t)
	var got []string
	must(t, top.Walk(context.Background(), func(e workspace.Entry) error {
		line := fmt.Sprint(e.Path, " ", e.Kind)
		if e.Kind == workspace.Regular {
			c, err := e.Read(10)
			must(t, err)
			line += " " + string(c.Bytes)
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
			err := top.Walk(context.Background(), func(e workspace.Entry) error {
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
	if err := top.Walk(ctx, func(workspace.Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestReadDir(t *testing.T) {
	entries, err := listing(t).ReadDir()
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"a", "b", "z"}
	check.That(t, slices.Equal(names, want), "got %q", names)
	if _, err := entries[0].Read(10); err == nil {
		t.Error("an entry without its directory was read")
	}
	w := open(t, map[string]string{"f": ""})
	if _, err := resolve(t, w, "f").ReadDir(); !errors.Is(err, workspace.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
	if _, err := resolve(t, w, "g").ReadDir(); !errors.Is(err, workspace.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
