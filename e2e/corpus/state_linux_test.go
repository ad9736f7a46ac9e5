package corpus_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// entry is all that is compared of one name.
type entry struct {
	mode    fs.FileMode
	owner   [2]uint32
	content string // of a link its target
	marks   string // extended attributes of the user
	mtime   time.Time
}

// state is what there is, by path below the world's top.
type state map[string]entry

// look reads everything below a directory but what skip leaves out.
func look(t *testing.T, top string, skip func(path string) bool) state {
	t.Helper()
	found := state{}
	check.OK(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(top, path)
		if name == "." || skip(name) {
			return nil // the server may remove it at this moment
		}
		if err != nil {
			return err
		}
		e, err := read(path)
		found[name] = e
		return err
	}))
	return found
}

func read(path string) (entry, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return entry{}, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	e := entry{mode: info.Mode(), owner: [2]uint32{stat.Uid, stat.Gid}}
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			return entry{}, err
		}
		e.content, e.mtime = string(content), info.ModTime()
	case info.Mode()&fs.ModeSymlink != 0:
		if e.content, err = os.Readlink(path); err != nil {
			return entry{}, err
		}
		return e, nil
	}
	names := make([]byte, 4096)
	if n, err := unix.Llistxattr(path, names); err == nil {
		e.marks = string(names[:n])
	}
	return e, nil
}

// differs are the paths of which something is different, sorted.
func (before state) differs(after state) []string {
	var paths []string
	for path, e := range after {
		if was, there := before[path]; !there || !was.same(e) {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, there := after[path]; !there {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (e entry) same(other entry) bool { return e.sameButTimes(other) && e.mtime.Equal(other.mtime) }

func (e entry) sameButTimes(other entry) bool {
	e.mtime, other.mtime = time.Time{}, time.Time{}
	return e == other
}

// restore makes everything as it was.
func (before state) restore(t *testing.T, top string, after state) {
	t.Helper()
	changed := before.differs(after)
	for _, path := range changed { // parents first
		if is, there := after[path]; there && is.mode.IsDir() {
			check.OK(t, os.Chmod(filepath.Join(top, path), 0o700)) // nothing can be taken out of one that is closed
		}
	}
	for _, path := range slices.Backward(changed) {
		was, wasThere := before[path]
		is, isThere := after[path]
		if isThere && !(wasThere && was.mode.IsDir() && is.mode.IsDir()) {
			check.OK(t, os.RemoveAll(filepath.Join(top, path)))
		}
	}
	for _, path := range changed {
		if was, there := before[path]; there {
			check.OK(t, was.put(filepath.Join(top, path)))
		}
	}
}

// put makes a name what the entry says; of directories it may be there.
func (e entry) put(path string) error {
	var err error
	switch {
	case e.mode.IsDir():
		if err = os.Mkdir(path, 0o700); os.IsExist(err) {
			err = nil
		}
	case e.mode.IsRegular():
		err = os.WriteFile(path, []byte(e.content), 0o600)
	case e.mode&fs.ModeSymlink != 0:
		return os.Symlink(e.content, path)
	default:
		err = fmt.Errorf("%s cannot be made again: %s", path, e.mode)
	}
	if err == nil {
		err = os.Lchown(path, int(e.owner[0]), int(e.owner[1]))
	}
	if err == nil {
		err = os.Chmod(path, e.mode)
	}
	if err == nil && e.mode.IsRegular() {
		err = os.Chtimes(path, e.mtime, e.mtime)
	}
	return err
}

// under reports whether a path is a directory or something below it.
func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
