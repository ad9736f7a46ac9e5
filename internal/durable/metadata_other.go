//go:build !linux || portable

package durable

import (
	"os"
	"runtime"
)

// CopyMetadata gives to the permission bits of from. Owner and extended attributes are not kept here.
func CopyMetadata(from, to *os.File) (missed []string, err error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	return nil, to.Chmod(info.Mode().Perm())
}
