package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// forest is a workspace with many files at several depths.
func forest(t *testing.T) *workspace.Workspace {
	files := map[string]string{".gitignore": "*.log\n"}
	for i := range 300 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%7, i%3, i)] = fmt.Sprint(i)
		files[fmt.Sprintf("flat/f%d", i)] = fmt.Sprint(i)
		files[fmt.Sprintf("flat/f%d.log", i)] = "ignored"
		files[fmt.Sprintf("flat/f%d-d/x.y", i)] = fmt.Sprint(i)
	}
	return open(t, files)
}

// walked are the regular files that a walk visits, in its order.
func walked(t *testing.T, w *workspace.Workspace) (paths []string) {
	must(t, top(t, w).Walk(context.Background(), nil, func(e workspace.Entry) error {
		if e.Kind == workspace.Regular {
			paths = append(paths, e.Path)
		}
		return nil
	}))
	return paths
}

// collect visits files with what notes their paths.
func collect(visit func(workspace.Entry)) (visitor func() func(workspace.Entry), paths func() []string) {
	var mu sync.Mutex
	var all []string
	visitor = func() func(workspace.Entry) {
		return func(e workspace.Entry) {
			visit(e)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, e.Path)
		}
	}
	return visitor, func() []string { return slices.SortedFunc(slices.Values(all), workspace.CompareWalk) }
}

// A scan visits what a walk does, each file once, and CompareWalk is the walk's order.
func TestScanVisitsWhatAWalkDoes(t *testing.T) {
	w := forest(t)
	want := walked(t, w)
	check.That(t, len(want) == 901 && slices.IsSortedFunc(want, workspace.CompareWalk), "%d files, in another order than is compared by", len(want))
	visitor, got := collect(func(e workspace.Entry) {
		if c := contentOf(t, e); e.Name() != ".gitignore" && !strings.Contains(e.Path, c) {
			t.Errorf("%s: %q", e.Path, c)
		}
	})
	must(t, top(t, w).Scan(context.Background(), workspace.Scan{Visitor: visitor}))
	check.That(t, slices.Equal(got(), want), "%q, want %q", got(), want)
}

// Where what is behind a place is of no interest, all that is before it is visited, and not everything else.
func TestScanEndsEarly(t *testing.T) {
	w := forest(t)
	want := walked(t, w)
	var last atomic.Pointer[string]
	visitor, got := collect(func(e workspace.Entry) {
		if e.Path == want[99] {
			last.Store(&e.Path)
		}
	})
	past := func(path string) bool {
		last := last.Load()
		return last != nil && workspace.CompareWalk(path, *last) > 0
	}
	must(t, top(t, w).Scan(context.Background(), workspace.Scan{Visitor: visitor, Past: past}))
	paths := got()
	check.That(t, len(paths) >= 100 && slices.Equal(paths[:100], want[:100]) && len(paths) < 500, "%d files: %q", len(paths), paths)
}

func TestScanIsGivenUp(t *testing.T) {
	w := forest(t)
	ctx, cancel := context.WithCancel(context.Background())
	visitor, got := collect(func(workspace.Entry) { cancel() })
	err := top(t, w).Scan(ctx, workspace.Scan{Visitor: visitor})
	check.That(t, errors.Is(err, context.Canceled) && len(got()) < 200, "%v after %d files", err, len(got()))
	check.Is(t, top(t, w).Scan(ctx, workspace.Scan{Visitor: visitor}), context.Canceled)
}

// Directories that are exchanged for links to others while a scan is under way lead it nowhere else.
func TestScanStaysInTheWorkspace(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("d%d/e/f", i)] = "inside"
	}
	w := open(t, files)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "f"), "outside")
	put(t, filepath.Join(outside, "e", "f"), "outside")
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			at := filepath.Join(w.Dir(), fmt.Sprintf("d%d", i%50))
			if i%2 == 0 {
				at = filepath.Join(at, "e")
			}
			if os.Rename(at, at+"-away") == nil {
				_ = os.Symlink(outside, at)
				_ = os.Remove(at)
				_ = os.Rename(at+"-away", at)
			}
		}
	})
	for range check.Rounds(50, 2000) {
		visitor, _ := collect(func(e workspace.Entry) {
			f, err := e.Open()
			if err != nil {
				return // moved away
			}
			defer f.Close()
			content := make([]byte, 10)
			n, _ := f.ReadSome(content, 0)
			if string(content[:n]) != "inside" {
				t.Errorf("%s: %q", e.Path, content[:n])
			}
		})
		must(t, top(t, w).Scan(context.Background(), workspace.Scan{Visitor: visitor}))
	}
	close(stop)
	all.Wait()
}

// What a visitor panics with reaches who scans, so that a server stays.
func TestScanPanicsWhereItWasCalled(t *testing.T) {
	w := forest(t)
	defer func() {
		check.That(t, strings.Contains(fmt.Sprint(recover()), "a fault"), "the panic is lost")
	}()
	_ = top(t, w).Scan(context.Background(), workspace.Scan{Visitor: func() func(workspace.Entry) {
		return func(e workspace.Entry) {
			if strings.HasPrefix(e.Path, "flat") {
				panic("a fault")
			}
		}
	}})
	t.Error("no panic")
}
