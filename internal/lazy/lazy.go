// Package lazy puts off what a start of the program should not pay for: most starts need none of its patterns.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles a pattern when it is first asked for. One that does not compile panics there.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
