package profile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// guardedNames are the names that must not come into being at the top of a workspace: its governance, its repository,
// and the files that make other programs run code.
const guardedNames = ".orchestration/ .intentignore .git/ .mcp.json .envrc .roomodes .cursor/ .roo/ .vscode/ .claude/"

// frozen are names with blanks between them, those of directories with a slash at their end.
func frozen(names string) (all []sandbox.Frozen) {
	for name := range strings.FieldsSeq(names) {
		path, directory := strings.CutSuffix(name, "/")
		all = append(all, sandbox.Frozen{Path: path, Directory: directory})
	}
	return all
}

// Sweep removes what commands left standing where guarded files were to stay
// absent, when they and their server were killed.
func (m *Builder) Sweep() {
	all := frozen(guardedNames)
	for i := range all {
		all[i].Path = filepath.Join(m.root, all[i].Path)
	}
	if repo, _ := findRepository(m.root); repo != nil {
		all = append(all, repo.guarded()...)
	}
	sandbox.Sweep(all)
}

// absent are the guarded names that do not exist. Those that do are found by the walk.
func absent(root string) []sandbox.Frozen {
	return slices.DeleteFunc(frozen(guardedNames), func(f sandbox.Frozen) bool {
		_, err := os.Lstat(filepath.Join(root, f.Path))
		return !os.IsNotExist(err)
	})
}
