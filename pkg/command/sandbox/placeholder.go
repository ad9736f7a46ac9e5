package sandbox

import (
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
)

// IsPlaceholder reports whether a file or directory, as Lstat describes it, can be what stands in the workspace where
// nothing was while a command runs at Full, or after it was killed. Its content decides then (package placeholder).
func IsPlaceholder(info fs.FileInfo) bool {
	return placeholder.Marked(info.Mode(), info.Size(), info.ModTime())
}
