package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// OpenOwn opens the directory name of parent, which must be a directory and no link: a cloned repository could have a
// link there that leads among its sources. With a perm that is not 0 it is made where it is missing.
func OpenOwn(parent *os.Root, name string, perm fs.FileMode) (*os.Root, error) {
	if perm != 0 {
		if err := parent.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s is not a directory of its own; remove it, it is made again when needed", name)
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", name)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
