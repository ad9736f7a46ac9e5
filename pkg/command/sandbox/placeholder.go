package sandbox

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// placeholderTime is the modification time of every placeholder, and what it is
// known by: whatever anybody does with it changes that.
var placeholderTime = time.Date(1985, 1, 2, 3, 4, 5, 0, time.UTC)

// IsPlaceholder reports whether a file or directory, as Lstat describes it, is
// what a command at Full, or one that was killed, has standing where nothing
// was. It is no change by the command.
func IsPlaceholder(info fs.FileInfo) bool {
	switch {
	case !info.ModTime().Truncate(time.Second).Equal(placeholderTime):
		return false
	case info.Mode().IsRegular():
		return info.Size() <= int64(len(placeholderOfCommondir))
	}
	return info.IsDir()
}

// placeholderOfCommondir is the directory itself: git fails where the file is
// there and empty.
const placeholderOfCommondir = "."

// placeholderContent is what a placeholder for a file says. It stands in the
// operator's own file system while the command runs, so it must be what its
// readers take for nothing.
func placeholderContent(path string) string {
	if filepath.Base(path) == "commondir" && inGit(path) {
		return placeholderOfCommondir
	}
	return ""
}

func inGit(path string) bool { return strings.Contains(path, "/.git/") }
