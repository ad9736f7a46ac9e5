package reach

import (
	"os"
	"path"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// guardedInGit is what makes git run programs, or look in another place.
// Writing commondir alone makes the operator's own git run a foreign alias.
func guardedInGit() []sandbox.Frozen {
	return []sandbox.Frozen{
		{Path: "hooks", Directory: true}, {Path: "config"}, {Path: "config.worktree"}, {Path: "commondir"},
		{Path: "modules", Directory: true}, {Path: "worktrees", Directory: true},
		{Path: "info/attributes"}, {Path: "objects/info/alternates"},
	}
}

// gitDir reports whether .git is a directory whose guarded files can be
// guarded, and if it is there but is none, why not.
func gitDir(root string) (open bool, why string) {
	info, err := os.Lstat(filepath.Join(root, ".git"))
	if err != nil {
		return false, ""
	}
	if !info.IsDir() {
		return false, "it is a pointer to a directory elsewhere, which stays closed; the operator can name that one in commands.writable"
	}
	for _, guarded := range guardedInGit() {
		for name := guarded.Path; name != "."; name = path.Dir(name) {
			info, err := os.Lstat(filepath.Join(root, ".git", filepath.FromSlash(name)))
			if err == nil && info.Mode()&os.ModeSymlink != 0 {
				return false, ".git/" + name + " is a link, which nothing can guard"
			}
		}
	}
	return true, ""
}

// guarded are the files of .git to freeze. Where the directory of one is
// missing, that directory must not come into being.
func guarded(root string) []sandbox.Frozen {
	frozen := guardedInGit()
	for i := range frozen {
		for dir := path.Dir(frozen[i].Path); dir != "."; dir = path.Dir(dir) {
			if _, err := os.Lstat(filepath.Join(root, ".git", filepath.FromSlash(dir))); err != nil {
				frozen[i] = sandbox.Frozen{Path: dir, Directory: true}
			}
		}
		frozen[i].Path = path.Join(".git", frozen[i].Path)
	}
	return frozen
}
