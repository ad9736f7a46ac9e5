package fileclock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/fileclock"
)

// TestNow: no change has a time before the one that was told ahead of it.
func TestNow(t *testing.T) {
	dir := t.TempDir()
	for range 200 {
		before := fileclock.Now()
		name := filepath.Join(dir, "x")
		check.OK(t, os.WriteFile(name, nil, 0o600))
		info := check.Value(os.Stat(name))(t)
		at := info.ModTime().UnixNano()
		check.Must(t, at >= before, "written at %d, told %d before", at, before)
	}
}
