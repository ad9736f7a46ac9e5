package tools

import (
	"errors"
	"io/fs"
	"os"
	"path"
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
	return siftBelow(at, func(name string, file *os.File) bool {
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
	return siftBelow(at, a.deps.Snapshots.Secret)
}

// maxSiftDepth bounds the descriptors that one sifting holds.
const maxSiftDepth = 256

func siftBelow(at *os.Root, secret func(path string, file *os.File) bool) error {
	dir, err := durable.OpenRoot(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	return sift(dir, "", maxSiftDepth, secret)
}

// sift removes entries of a tree, which it opens to its owner, and what cannot
// be looked into, or is too deep for it. Links, FIFOs and the like have no
// content.
func sift(dir *durable.Dir, at string, depth int, secret func(path string, file *os.File) bool) error {
	entries, err := dir.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		switch {
		case e.IsDir():
			if depth > 0 && !secret(name+"/", nil) && siftInto(dir, name, depth-1, secret) == nil {
				continue
			}
		case !e.Type().IsRegular() || !isSecret(dir, name, secret):
			continue
		}
		if err := dir.RemoveTree(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func siftInto(dir *durable.Dir, name string, depth int, secret func(path string, file *os.File) bool) error {
	if err := unlock(dir, path.Base(name), 0o700); err != nil {
		return err
	}
	inner, err := dir.OpenDir(path.Base(name))
	if err != nil {
		return err
	}
	defer inner.Close()
	return sift(inner, name, depth, secret)
}

func isSecret(dir *durable.Dir, name string, secret func(path string, file *os.File) bool) bool {
	if unlock(dir, path.Base(name), 0o400) != nil {
		return true
	}
	file, err := dir.Open(path.Base(name))
	if err != nil {
		return true
	}
	defer file.Close()
	info, err := file.Stat()
	return err != nil || !info.Mode().IsRegular() || secret(name, file)
}

// unlock gives the owner of an entry the rights that are missing.
func unlock(dir *durable.Dir, name string, rights fs.FileMode) error {
	held, err := dir.Hold(name)
	if err != nil {
		return err
	}
	defer held.Close()
	st, err := held.Stat()
	if err != nil || st.Mode&rights == rights {
		return err
	}
	return held.Chmod(st.Mode | rights)
}
