//go:build linux && !portable

package durable

import "os"

// OpensAt are the functions that open what is at a path.
type OpensAt struct {
	Dir     func(path string) (*Dir, error)
	Regular func(path string, flags int) (*os.File, error)
}

// WaysAt are those of a kernel that has openat2, and of one that has not.
func WaysAt(d *Dir) map[string]OpensAt {
	return map[string]OpensAt{"openat2": {d.OpenDirAt, d.OpenRegularAt}, "by names": {d.openDirs, d.openRegular}}
}
