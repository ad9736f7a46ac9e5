package journal

import (
	"os"
	"runtime"
)

// flushDir makes the names in a directory durable. On Windows directories cannot be flushed.
func flushDir(root *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
