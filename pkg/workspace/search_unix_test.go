//go:build unix

package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// A FIFO is not waited for, and a directory that cannot be looked into is said.
func TestSearchAmongWhatIsNoFile(t *testing.T) {
	w := open(t, map[string]string{"a/b": "hay"})
	must(t, syscall.Mkfifo(filepath.Join(w.Dir(), "a", "fifo"), 0o644))
	if found, err := w.Search(context.Background(), workspace.Search{Find: needle}); found != nil || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if os.Geteuid() == 0 {
		return // root opens everything
	}
	must(t, os.Chmod(filepath.Join(w.Dir(), "a"), 0))
	t.Cleanup(func() { must(t, os.Chmod(filepath.Join(w.Dir(), "a"), 0o755)) })
	if _, err := w.Search(context.Background(), workspace.Search{Find: needle}); err == nil || !strings.Contains(err.Error(), "a: ") {
		t.Errorf("%v", err)
	}
}
