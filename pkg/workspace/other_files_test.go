package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The judge is shown regular files only, and nothing that is secret.
func TestOtherFiles(t *testing.T) {
	w := open(t, map[string]string{"a/b.go": "b", "a/c.go": "c", "a/d/e.go": "e", "a/secret.go": "s"})
	if err := os.Symlink("c.go", filepath.Join(w.Dir(), "a", "link.go")); err != nil {
		t.Skip(err)
	}
	around := w.OtherFiles(func(path string) bool { return path == "a/secret.go" })
	if content, err := around.Read("a/b.go"); err != nil || string(content) != "b" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := around.Read("a/secret.go"); !errors.Is(err, workspace.ErrSecret) {
		t.Errorf("a secret: %v", err)
	}
	if _, err := around.Read("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}
