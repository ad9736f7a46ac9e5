//go:build !linux

package outside

import "io/fs"

func stampOfAny(info fs.FileInfo) stamp {
	return stamp{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
}
