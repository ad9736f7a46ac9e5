package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// needle is what the tests look for.
func needle(text []byte) (at int, what string, found bool) {
	at = bytes.Index(text, []byte("needle"))
	return at, "needle", at >= 0
}

func TestSearch(t *testing.T) {
	long := strings.Repeat("hay\n", 600_000)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":                   {map[string]string{"a": "hay", "b/c": ""}, "<nil>"},
		"deep":                      {map[string]string{"a": "hay", "b/c/d.txt": "hay\nhay needle\n"}, "b/c/d.txt:2 needle"},
		"own":                       {map[string]string{"own.go": "needle", "b/own.go": "hay"}, "<nil>"},
		"far behind":                {map[string]string{"long": long + "needle"}, "long:600001 needle"},
		"between two pieces":        {map[string]string{"long": long[:1<<20-3] + "needle" + long}, "long:262144 needle"},
		"git's own files":           {map[string]string{".git/config": "needle", "sub/.git": "needle"}, "<nil>"},
		"the server's own":          {map[string]string{".orchestration/agent_trace.jsonl": "needle"}, "<nil>"},
		"another's .orchestration":  {map[string]string{"b/.orchestration/x": "needle"}, "b/.orchestration/x:1 needle"},
		"called as the server's":    {map[string]string{"b/.orchestra-1.tmp": "needle"}, "b/.orchestra-1.tmp:1 needle"},
		"an ignored directory":      {map[string]string{".gitignore": "/out/\n", "out/x": "needle"}, "<nil>"},
		"ignored below":             {map[string]string{"b/.gitignore": "out/\n", "b/c/out/x": "needle"}, "<nil>"},
		"not ignored elsewhere":     {map[string]string{"b/.gitignore": "out/\n", "out/x": "needle"}, "out/x:1 needle"},
		"an ignored text":           {map[string]string{".gitignore": "*.log\n", "x.log": "needle"}, "x.log:1 needle"},
		"an ignored binary":         {map[string]string{".gitignore": "*.o\n", "x.o": "\x00needle"}, "<nil>"},
		"a binary":                  {map[string]string{"x.o": "\x00\nneedle"}, "x.o:2 needle"},
		"a secret":                  {map[string]string{"secret.env": "hay"}, "a secret file is not looked into"},
		"an ignored secret":         {map[string]string{".gitignore": "*.env", "secret.env": "needle"}, "<nil>"},
		"hidden files and settings": {map[string]string{".github/x.yml": "needle"}, ".github/x.yml:1 needle"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, c.files)
			found, err := w.Search(context.Background(), workspace.Search{
				Find: needle, Overlap: 6,
				Skip:   func(path string) bool { return path == "own.go" },
				Secret: func(path string) bool { return strings.HasPrefix(path, "secret") },
			})
			got := "<nil>"
			switch {
			case err != nil:
				got = err.Error()
			case found != nil:
				got = fmt.Sprintf("%s:%d %s", found.Path, found.Line, found.What)
			}
			check.That(t, got == c.want, "%s, want %s", got, c.want)
		})
	}
}

// Many files in many directories are each looked into once.
func TestSearchLooksIntoEachFile(t *testing.T) {
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%7, i%13, i)] = "hay"
	}
	for i := range 50 {
		files[fmt.Sprintf("flat%d", i)] = "hay"
	}
	for _, at := range []string{"d3/e5/f395", "flat0", "flat49", "d0/e0/f0"} {
		files[at] = "needle"
		w := open(t, files)
		found, err := w.Search(context.Background(), workspace.Search{Find: needle})
		check.That(t, err == nil && found != nil && found.Path == at, "%s: %v %v", at, found, err)
		files[at] = "hay"
	}
}

func TestSearchFollowsNoLink(t *testing.T) {
	w := open(t, map[string]string{"a/b": "hay"})
	outside := t.TempDir()
	put(t, filepath.Join(outside, "x"), "needle")
	must(t, os.Symlink(outside, filepath.Join(w.Dir(), "a", "dir")))
	must(t, os.Symlink(filepath.Join(outside, "x"), filepath.Join(w.Dir(), "a", "file")))
	found, err := w.Search(context.Background(), workspace.Search{Find: needle})
	check.That(t, found == nil && err == nil, "%v %v", found, err)
}

// A search that ends too early does not say that there is nothing.
func TestSearchThatIsGivenUp(t *testing.T) {
	w := open(t, map[string]string{"a": "hay", "b": "needle"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	found, err := w.Search(ctx, workspace.Search{Find: needle})
	check.That(t, found == nil && errors.Is(err, context.Canceled), "%v %v", found, err)
}
