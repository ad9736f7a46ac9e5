package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrUnfit: the directory is one that nobody means as a workspace.
var ErrUnfit = errors.New("not a place for a workspace")

// CheckPlace refuses the root of a file system, the home directory and what lies above it: an agent governed there
// would have everything of the user in its workspace. Both paths are absolute.
func CheckPlace(dir, home string) error {
	dir, home = realPath(dir), realPath(home)
	if dir == filepath.Dir(dir) {
		return fmt.Errorf("%s is %w: it is the root of the file system", dir, ErrUnfit)
	}
	if home == "" {
		return nil
	}
	above, err := filepath.Rel(dir, home)
	if err == nil && filepath.IsLocal(above) {
		return fmt.Errorf("%s is %w: it holds your whole home directory", dir, ErrUnfit)
	}
	return nil
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// EnclosingRepository is the directory above dir that holds a git repository, or "" if there is none.
func EnclosingRepository(dir string) string {
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		if _, err := os.Lstat(filepath.Join(parent, ".git")); err == nil {
			return parent
		}
		if parent == filepath.Dir(parent) {
			return ""
		}
	}
}
