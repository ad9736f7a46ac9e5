package external

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// stretch returns the lines of before that one replacement has to name to make after of it, and what takes their place.
// They stand in before only once: where the lines that differ do not, lines around them are added, in the end all.
func stretch(before, after string) (old, replacement string) {
	b, a := edit.RawLines(before), edit.RawLines(after)
	head := 0
	for head < min(len(b), len(a)) && b[head] == a[head] {
		head++
	}
	tail := 0
	for tail < min(len(b), len(a))-head && b[len(b)-1-tail] == a[len(a)-1-tail] {
		tail++
	}
	for more := 1; ; more *= 2 {
		old = strings.Join(b[head:len(b)-tail], "")
		if head == 0 && tail == 0 || old != "" && strings.Index(before, old) == strings.LastIndex(before, old) {
			return old, strings.Join(a[head:len(a)-tail], "")
		}
		head, tail = max(head-more, 0), max(tail-more, 0)
	}
}
