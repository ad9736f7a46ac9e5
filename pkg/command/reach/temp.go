package reach

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeTemp makes the private directory of one command. Its path is free of
// links, and short, because Unix sockets are made below it.
func makeTemp() (string, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "orchestra-")
}

// removeTemp removes it with all that the command left, also where the command
// took the rights to do so away.
func removeTemp(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// What cannot be entered is opened up from the top down; links are not followed.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock(root, ".")
	return os.RemoveAll(dir)
}

func unlock(root *os.Root, dir string) {
	info, err := root.Lstat(dir)
	if err != nil || !info.IsDir() || root.Chmod(dir, 0o700) != nil {
		return
	}
	opened, err := root.Open(dir)
	if err != nil {
		return
	}
	defer opened.Close()
	entries, _ := opened.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() {
			unlock(root, filepath.Join(dir, e.Name()))
		}
	}
}
