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
// would have everything of the user in its workspace. Both paths are absolute. A directory counts for what it is: a mount of
// the home directory in another place is one.
func CheckPlace(dir, home string) error {
	dir, home = realPath(dir), realPath(home)
	if dir == filepath.Dir(dir) {
		return fmt.Errorf("%s is %w: it is the root of the file system", dir, ErrUnfit)
	}
	if home == "" {
		return nil
	}
	if holds(dir, home) {
		return fmt.Errorf("%s is %w: it holds your whole home directory", dir, ErrUnfit)
	}
	return nil
}

// holds reports whether dir is a directory, or one above it.
func holds(dir, inside string) bool {
	if way, err := filepath.Rel(dir, inside); err == nil && filepath.IsLocal(way) {
		return true
	}
	info, err := os.Stat(dir)
	for ; err == nil && inside != filepath.Dir(inside); inside = filepath.Dir(inside) {
		if at, statErr := os.Stat(inside); statErr == nil && os.SameFile(info, at) {
			return true
		}
	}
	return false
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
