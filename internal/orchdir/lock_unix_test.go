//go:build unix

package orchdir_test

import (
	"os"
	"syscall"
	"testing"
)

// holdLock locks the directory as another process would and returns what unlocks it.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	dir, err := os.Open(path)
	must(t, err)
	must(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_EX))
	return func() { must(t, dir.Close()) }
}
