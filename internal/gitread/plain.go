package gitread

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// ErrOdd is returned, wrapped, where a file of git's is none: on a pipe git would wait for ever.
var ErrOdd = errors.New("git cannot be asked")

// patience bounds how long git may be silent. It is for what [Repository.Plain] does not look at: a pipe among the objects,
// the branches or the files of the work tree.
const patience = 20 * time.Second

// Plain returns an error that wraps ErrOdd if one of the files that git reads for almost every question is there and is not
// a regular file.
func (r Repository) Plain() error {
	dot, err := enclosing(r.Dir)
	if dot == "" || err != nil {
		return err
	}
	own, err := follow(dot, "gitdir: ")
	if err != nil {
		return err
	}
	common, err := follow(filepath.Join(own, "commondir"), "")
	if err != nil {
		return err
	}
	for _, dir := range []string{own, common} {
		for _, name := range []string{
			"HEAD", "index", "config", "config.worktree", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts",
			"objects/info/alternates",
		} {
			if err := plain(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	return nil
}

// enclosing is the nearest .git upward from a directory, "" if there is none.
func enclosing(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		dot := filepath.Join(dir, ".git")
		if _, err := os.Stat(dot); err == nil {
			return dot, nil
		}
		if filepath.Dir(dir) == dir {
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}

// follow gives the directory that a file points to; where there is no such file, the one that it would stand in, and a
// directory is itself.
func follow(name, prefix string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return filepath.Dir(name), nil
	case err != nil:
		return "", err
	case info.IsDir():
		return name, nil
	}
	if err := plain(name); err != nil {
		return "", err
	}
	text, err := durable.ReadRegular(name, 8<<10)
	if err != nil {
		return "", err
	}
	to := strings.TrimPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(name), to)
	}
	return to, nil
}

func plain(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%w: %s is not a regular file (%v): look at it, and remove it", ErrOdd, name, info.Mode().Type())
}
