package durable

import (
	"io/fs"
	"os"
	"runtime"
	"sync"
)

// Top looks below a root, for who does it again and again: each look is one system call on Linux, where the root stays open
// for it, from the first look on, until the Top is gone. Elsewhere nothing more is held open, as that can keep a directory from
// being moved. Its methods may be called concurrently.
type Top struct {
	root *os.Root
	once sync.Once
	dir  *Dir // of root; nil where nothing is held
}

// Hold makes a Top. It opens nothing. The root must stay open as long as the Top is used.
func Hold(root *os.Root) *Top { return &Top{root: root} }

// Root is what it looks below.
func (t *Top) Root() *os.Root { return t.root }

func (t *Top) held() *Dir {
	t.once.Do(func() {
		if runtime.GOOS != "linux" {
			return
		}
		if dir, err := OpenRoot(t.root); err == nil {
			t.dir = dir
			runtime.AddCleanup(t, func(dir *Dir) { _ = dir.Close() }, dir)
		}
	})
	return t.dir
}

// Lstat describes what is at a path. Links on the way are followed.
func (t *Top) Lstat(name string) (Stat, error) {
	if dir := t.held(); dir != nil {
		return dir.LstatAt(name)
	}
	info, err := t.root.Lstat(name)
	if err != nil {
		return Stat{}, err
	}
	return StatInfo(info), nil
}

// Is reports whether a file is what stands at a path. Links on the way are followed.
func (t *Top) Is(name string, file fs.FileInfo) bool {
	if t.held() == nil { // a Stat does not tell files apart everywhere
		now, err := t.root.Lstat(name)
		return err == nil && os.SameFile(now, file)
	}
	now, err := t.Lstat(name)
	return err == nil && Same(now, StatInfo(file))
}

// OpenRegular opens a file with flags that do not make one.
func (t *Top) OpenRegular(name string, flags int) (*os.File, error) {
	if dir := t.held(); dir != nil {
		return dir.OpenRegularAt(name, flags)
	}
	file, _, err := OpenRegularIn(t.root, name, flags)
	return file, err
}

// Readlink is the text of a link.
func (t *Top) Readlink(name string) (string, error) {
	if dir := t.held(); dir != nil {
		return dir.Readlink(name)
	}
	return t.root.Readlink(name)
}
