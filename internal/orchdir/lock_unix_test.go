//go:build unix

package orchdir_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// holdLock locks the directory as another process would and returns what unlocks it.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Join(path, "state"), 0o700))
	file := check.Value(os.OpenFile(filepath.Join(path, "state", orchdir.LockName), os.O_RDONLY|os.O_CREATE, 0o600))(t)
	check.OK(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	return func() { check.OK(t, file.Close()) }
}
