package observe

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// DropSecrets removes from what was taken away from commands, and is kept for a while, what is secret now: by the path
// where it stood, of which a directory's ends in a slash and comes without a file, or by its content.
func DropSecrets(root *os.Root, secret func(path string, file *os.File) bool) error {
	all, err := durable.OpenRoot(root)
	if err != nil {
		return err
	}
	for _, name := range strings.Split(removedDir, "/") {
		next, err := all.OpenDir(name)
		all.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		all = next
	}
	defer all.Close()
	commands, err := all.ReadDir()
	if err != nil {
		return err
	}
	for _, c := range commands {
		if !c.IsDir() || siftInto(all, c.Name(), "", secret) == nil {
			continue
		}
		if err := all.RemoveTree(c.Name()); err != nil {
			return err
		}
	}
	return nil
}

// sift removes entries of a tree, which it opens to its owner, what cannot be looked into, and what is so deep that no
// rule speaks of it. Links, FIFOs and the like have no content.
func sift(dir *durable.Dir, at string, secret func(path string, file *os.File) bool) error {
	entries, err := dir.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		gone := workspace.TooDeep(name)
		switch {
		case gone:
		case e.IsDir():
			gone = secret(name+"/", nil) || siftInto(dir, e.Name(), name, secret) != nil
		case e.Type().IsRegular():
			gone = isSecret(dir, e.Name(), name, secret)
		}
		if !gone {
			continue
		}
		if err := dir.RemoveTree(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func siftInto(dir *durable.Dir, name, at string, secret func(path string, file *os.File) bool) error {
	if err := dir.Allow(name, 0o700); err != nil {
		return err
	}
	inner, err := dir.OpenDir(name)
	if err != nil {
		return err
	}
	defer inner.Close()
	return sift(inner, at, secret)
}

func isSecret(dir *durable.Dir, name, at string, secret func(path string, file *os.File) bool) bool {
	if dir.Allow(name, 0o400) != nil {
		return true
	}
	file, err := dir.Open(name)
	if err != nil {
		return true
	}
	defer file.Close()
	info, err := file.Stat()
	return err != nil || !info.Mode().IsRegular() || secret(at, file)
}
