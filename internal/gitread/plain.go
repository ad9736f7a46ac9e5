package gitread

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
)

// ErrOdd is returned, wrapped, where a file of git's is none: on a pipe git would wait for ever.
var ErrOdd = errors.New("git cannot be asked")

// patience bounds how long git may be silent. It is for what [Repository.Plain] does not look at: a pipe among the objects,
// the branches or the files of the work tree.
const patience = 20 * time.Second

// Plain returns an error that wraps ErrOdd if one of the files that git reads for almost every question is there and is not
// a regular file.
func (r Repository) Plain() error {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	top, own := gitdir.New(dir).Find()
	if top == "" {
		return nil
	}
	if own == "" { // where a pointer to it stands
		return plain(filepath.Join(top, ".git"))
	}
	for _, dir := range []string{own, gitdir.CommonDir(own)} {
		for _, name := range []string{
			"commondir", "HEAD", "index", "config", "config.worktree", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts",
			"objects/info/alternates",
		} {
			if err := plain(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	return nil
}

func plain(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%w: %s is not a regular file (%v): look at it, and remove it", ErrOdd, name, info.Mode().Type())
}
