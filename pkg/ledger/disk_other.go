//go:build !linux

package ledger

import (
	"os"
	"runtime"
)

func flushData(f *os.File) error { return f.Sync() }

// flushDir does nothing on Windows, where directories cannot be flushed.
func flushDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
