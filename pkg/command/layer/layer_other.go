//go:build !linux

package layer

import "io/fs"

// There are no layers here.
func isWhiteout(fs.FileInfo) bool { return false }

func isOpaque(string) bool { return false }
