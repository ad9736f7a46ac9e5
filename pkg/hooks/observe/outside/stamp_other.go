//go:build !linux

package outside

import "io/fs"

func stampOf(info fs.FileInfo) stamp {
	return stamp{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
}
