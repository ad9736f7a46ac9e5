package segment

import (
	"context"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Top looks below a root, for who does it again and again: each look is one system call on Linux, where the root stays open
// for it until the Top is gone. Elsewhere nothing more is held open, as that can keep a directory from being moved.
type Top struct {
	root *os.Root
	dir  *durable.Dir // of root, or nil
}

// Hold makes a Top. The root must stay open as long as it is used.
func Hold(root *os.Root) *Top {
	t := &Top{root: root}
	if runtime.GOOS == "linux" {
		if dir, err := durable.OpenRoot(root); err == nil {
			t.dir = dir
			runtime.AddCleanup(t, func(dir *durable.Dir) { _ = dir.Close() }, dir)
		}
	}
	return t
}

// Is reports whether a file is what stands under a name. Links on the way are followed.
func (t *Top) Is(name string, file fs.FileInfo) bool {
	if t.dir == nil {
		now, err := t.root.Lstat(name)
		return err == nil && os.SameFile(now, file)
	}
	now, err := t.dir.LstatAt(name)
	return err == nil && durable.Same(now, durable.StatInfo(file))
}

// OpenRegular opens a file with flags that do not make one.
func (t *Top) OpenRegular(name string, flags int) (*os.File, error) {
	if t.dir != nil {
		return t.dir.OpenRegularAt(name, flags)
	}
	file, _, err := durable.OpenRegularIn(t.root, name, flags)
	return file, err
}

// Readlink is the text of a link.
func (t *Top) Readlink(name string) (string, error) {
	if t.dir != nil {
		return t.dir.Readlink(name)
	}
	return t.root.Readlink(name)
}

// Lock is [Lock] for who writes.
func (t *Top) Lock(ctx context.Context, wait time.Duration) (unlock func(), err error) {
	return WaitFor(ctx, wait, func() (func(), error) {
		file, err := t.OpenRegular(lockFile, os.O_RDONLY)
		if err != nil {
			return tryLockHome(t.root, true) // which makes what is missing, and says what is wrong
		}
		return lockedHome(tryLockFile(file, true, func(held fs.FileInfo) bool { return t.Is(lockFile, held) }))
	})
}
