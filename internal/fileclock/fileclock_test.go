package fileclock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/fileclock"
)

// TestNow: no change has a time before the one that was told ahead of it.
func TestNow(t *testing.T) {
	dir := t.TempDir()
	for range 200 {
		before := fileclock.Now()
		name := filepath.Join(dir, "x")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := info.ModTime().UnixNano(); at < before {
			t.Fatalf("written at %d, told %d before", at, before)
		}
	}
}
