package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
)

// TestPlaceholdersOfAllNames: what a sandbox has standing where nothing is comes unnoticed; what says something else, or
// stands where no sandbox puts one, is a change.
func TestPlaceholdersOfAllNames(t *testing.T) {
	b := newBench(t)
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
	check.That(t, len(paths) == 2 && paths[0] == ".envrc" && paths[1] == "other", "%q", paths)
}

// TestPlaceholdersOnTheirWay: a command is not charged with what the sandbox of another makes and takes away at the same
// time; what it says itself under such a name is told.
func TestPlaceholdersOnTheirWay(t *testing.T) {
	b := newBench(t)
	w := b.begin()
	b.must(os.Mkdir(filepath.Join(b.dir, placeholder.NewTemporary()), 0o755))
	going := ""
	for _, content := range placeholder.Contents() {
		going = placeholder.NewTemporary()
		b.write(going, content)
	}
	other := placeholder.NewTemporary()
	b.write(other, "something else")
	found := b.end(w).Changes
	check.That(t, len(found) == 1 && found[0].Path == other, "%+v", found)
	w = b.begin()
	b.must(os.Remove(filepath.Join(b.dir, going)))
	if found := b.end(w).Changes; len(found) != 0 {
		t.Errorf("%+v", found)
	}
}
