package profile

import (
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// guardedNames are the names that must not come into being at the top of a
// workspace: its governance, its repository, and the files that make other
// programs run code.
func guardedNames() []sandbox.Frozen {
	return []sandbox.Frozen{
		{Path: ".orchestration", Directory: true}, {Path: ".intentignore"}, {Path: ".git", Directory: true},
		{Path: ".mcp.json"}, {Path: ".envrc"}, {Path: ".roomodes"},
		{Path: ".cursor", Directory: true}, {Path: ".roo", Directory: true}, {Path: ".vscode", Directory: true},
		{Path: ".claude", Directory: true},
	}
}

// Sweep removes what commands left standing where guarded files were to stay
// absent, when they and their server were killed.
func (m *Builder) Sweep() {
	frozen := guardedNames()
	for i := range frozen {
		frozen[i].Path = filepath.Join(m.root, filepath.FromSlash(frozen[i].Path))
	}
	if repo, _ := findRepository(m.root); repo != nil {
		frozen = append(frozen, repo.guarded()...)
	}
	sandbox.Sweep(frozen)
}

// absent are the guarded names that do not exist. Those that do are found by
// the walk.
func absent(root string) []sandbox.Frozen {
	var frozen []sandbox.Frozen
	for _, name := range guardedNames() {
		if _, err := os.Lstat(filepath.Join(root, name.Path)); os.IsNotExist(err) {
			frozen = append(frozen, name)
		}
	}
	return frozen
}
