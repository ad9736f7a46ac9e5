package tools

import (
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// note adds a line of ours to the text of a result. Whatever stands in it, it is
// one line: a file's name can have line ends, and must not pass for a note.
func note(b *strings.Builder, format string, args ...any) {
	b.WriteString("\n" + printable.Text(fmt.Sprintf(format, args...)))
}

// warned is what warnings add to the text of a result.
func warned(warnings []string) string {
	var b strings.Builder
	for _, w := range warnings {
		note(&b, "Note: %s", w)
	}
	return b.String()
}
