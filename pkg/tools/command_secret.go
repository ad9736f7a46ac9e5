package tools

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// DropSecrets removes from what was taken away from commands, and is kept for a
// while, what is secret now: by the path where it stood, of which a directory's
// ends in a slash and comes without a file, or by its content.
func DropSecrets(root *os.Root, secret func(path string, file *os.File) bool) error {
	at := root
	for _, name := range strings.Split(removedDir, "/") {
		next, err := durable.OpenOwn(at, name, 0)
		if at != root {
			at.Close()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		at = next
	}
	defer at.Close()
	return sift(at, func(name string, file *os.File) bool {
		_, path, below := strings.Cut(name, "/") // the first name is the command's
		return below && path != "" && secret(path, file)
	})
}

// dropTaken removes secrets from what was taken away unseen.
func (a *account) dropTaken() error {
	at, err := a.deps.Workspace.Root().OpenRoot(a.kept.dir + "/")
	if err != nil {
		return err
	}
	defer at.Close()
	return sift(at, a.deps.Snapshots.Secret)
}

// sift removes entries of a tree, which it opens to its owner, and what cannot
// be looked into. Links, FIFOs and the like have no content.
func sift(at *os.Root, secret func(path string, file *os.File) bool) error {
	return fs.WalkDir(at.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." || err == nil && !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		if err == nil && opened(at, name, d) && !isSecret(at, name, d, secret) {
			return nil
		}
		if err := at.RemoveAll(name); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

func isSecret(at *os.Root, name string, d fs.DirEntry, secret func(path string, file *os.File) bool) bool {
	if d.IsDir() {
		return secret(name+"/", nil)
	}
	file, _, err := durable.OpenRegularIn(at, name, os.O_RDONLY)
	if err != nil {
		return true
	}
	defer file.Close()
	return secret(name, file)
}

// opened lets an entry be read by its owner.
func opened(at *os.Root, name string, d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil {
		return false
	}
	if mode := info.Mode().Perm(); mode&0o400 == 0 || d.IsDir() && mode&0o700 != 0o700 {
		return at.Chmod(name, mode|0o700) == nil
	}
	return true
}
