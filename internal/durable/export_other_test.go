//go:build !linux || portable

package durable

import "os"

// OpensAt are the functions that open what is at a path.
type OpensAt struct {
	Dir     func(path string) (*Dir, error)
	Regular func(path string, flags int) (*os.File, error)
}

// WaysAt is the one way there is.
func WaysAt(d *Dir) map[string]OpensAt {
	return map[string]OpensAt{"by names": {d.OpenDirAt, d.OpenRegularAt}}
}
