//go:build !linux || portable

package profile

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// maxStore bounds the entries of one git directory.
const maxStore = 100_000

var errStore = errors.New("it has too many entries to look for files with other names (git gc makes them fewer)")

// makePrivate makes nothing: without an exchange of names that could lose what git writes meanwhile. It returns the files of a git
// directory that have other names (hard links), packs included, as those that could not be replaced: they have to stay closed.
func makePrivate(gitDir string, skip func(name string) bool) (shared []string, err error) {
	seen := 0
	err = filepath.WalkDir(gitDir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || path == gitDir {
			return nil
		}
		if seen++; err == nil && seen > maxStore {
			err = errStore
		}
		name, inside := below(gitDir, path)
		switch {
		case err != nil || !inside:
			return err
		case skip(name) && e.IsDir():
			return fs.SkipDir
		case skip(name) || !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err == nil && names(info) > 1 {
			shared = append(shared, name)
		}
		return nil
	})
	return shared, err
}
