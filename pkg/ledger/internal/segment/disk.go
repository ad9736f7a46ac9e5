package segment

import (
	"fmt"
	"os"
	"runtime"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Disk is what the ledger does to files and must not believe blindly. Tests make it fail.
type Disk struct {
	Write    func(*os.File, []byte) (int, error)
	Rewrite  func(*os.File, []byte, int64) error // of what is there already
	Truncate func(*os.File, int64) error
	Flush    func(*os.File) error // of data and size
	FlushDir func(*os.File) error
	Rename   func(root *os.Root, from, to string) error
}

func RealDisk() Disk {
	return Disk{
		Write:    (*os.File).Write,
		Rewrite:  func(f *os.File, b []byte, at int64) error { _, err := f.WriteAt(b, at); return err },
		Truncate: (*os.File).Truncate,
		Flush:    durable.FlushData,
		FlushDir: (*os.File).Sync,
		Rename:   (*os.Root).Rename,
	}
}

// FlushDir does nothing on Windows, where directories cannot be flushed.
func FlushDir(root *os.Root, d Disk, name string) error {
	dir, err := durable.OpenDirectoryIn(root, name)
	if err != nil {
		return fmt.Errorf("flush %s: %w", name, err)
	}
	defer dir.Close()
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := d.FlushDir(dir); err != nil {
		return fmt.Errorf("flush %s: %w", name, err)
	}
	return nil
}
