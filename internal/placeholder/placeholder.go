// Package placeholder tells what stands in a workspace where nothing was, while
// a command runs that must not make anything there.
//
// The kernel can keep something from being changed, but not nothing. So pkg/command/sandbox puts an empty directory, or
// a file that its readers take for none, in the place of each absent path that a command must leave alone, and removes
// it afterwards; pkg/snapshot leaves it out.
//
// A placeholder is known by its modification time and by what it says: whatever anybody makes of it is none any more.
// Somebody can make a file that is taken for one, but it is as empty as one.
package placeholder

import (
	"crypto/rand"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Time is the modification time of every placeholder, in whole seconds because some file systems note no more.
var Time = time.Date(1985, 1, 2, 3, 4, 5, 0, time.UTC)

// MaxSize is the most bytes that one has.
const MaxSize = 32

// Content is what the placeholder of a file says. It stands in the operator's own file system meanwhile, so it is what
// the programs of the operator take for nothing: git fails where commondir is there and empty, and others where an
// empty file is no JSON.
func Content(name string) string {
	switch path.Base(name) {
	case "commondir":
		return "." // the repository itself; a bare one can have any name
	case ".mcp.json":
		return `{"mcpServers":{}}`
	case ".roomodes":
		return "customModes: []\n"
	}
	return ""
}

// Contents are all that Content can say.
func Contents() []string {
	return []string{"", Content(".git/commondir"), Content(".mcp.json"), Content(".roomodes")}
}

const temporaryPrefix, temporarySuffix = ".orchestra-", ".tmp"

// NewTemporary names a placeholder on the way to its place, or away from it.
func NewTemporary() string { return temporaryPrefix + rand.Text() + temporarySuffix }

// Temporary reports whether a name can be one of NewTemporary.
func Temporary(name string) bool {
	random, begins := strings.CutPrefix(name, temporaryPrefix)
	random, ends := strings.CutSuffix(random, temporarySuffix)
	return begins && ends && len(random) == randomLength && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// randomLength is that of crypto/rand.Text.
const randomLength = 26

// InGit reports whether a path is inside of a directory .git.
func InGit(name string) bool {
	return strings.HasPrefix(name, ".git/") || strings.Contains(name, "/.git/")
}

// Marked reports whether something can be a placeholder by what Lstat says of
// it. Then its content decides: that of Content, or none in a directory.
func Marked(mode fs.FileMode, size int64, modified time.Time) bool {
	if modified.Unix() != Time.Unix() {
		return false
	}
	return mode.IsDir() || mode.IsRegular() && size <= MaxSize
}
