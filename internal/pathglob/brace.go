package pathglob

import (
	"errors"
	"fmt"
)

// maxAlternatives bounds what the braces of one pattern expand to.
const maxAlternatives = 64

var (
	errBraceOpen  = errors.New(`"{" without "}": write "\{" for the character itself`)
	errBraceClose = errors.New(`"}" without "{": write "\}" for the character itself`)
	errBraceComma = errors.New(`"{…}" without a comma: write "\{" and "\}" for the characters themselves`)
)

// Expand returns the patterns that a pattern with braces stands for, in the order written: `a{b,c/d}` is `ab` and `ac/d`.
// Braces nest; inside a class or after `\` they are literal. The number and the total size of the alternatives are bounded.
func Expand(pattern string) ([]string, error) {
	if err := checkText(pattern); err != nil {
		return nil, err
	}
	done, todo, size := []string(nil), []string{pattern}, 0
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		g, err := firstGroup(next)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if g.close == 0 {
			done, size = append(done, next), size+len(next)
		} else {
			todo = append(todo, g.alternatives(next)...)
		}
		if len(done)+len(todo) > maxAlternatives || size > maxBytes {
			return nil, fmt.Errorf("pattern %q: its braces expand to more than %d patterns or %d bytes", pattern,
				maxAlternatives, maxBytes)
		}
	}
	return done, nil
}

// group is the first brace group of a pattern: the offsets of its braces and of the commas between them.
type group struct {
	open, close int
	commas      []int
}

// firstGroup finds the first brace group; its close is zero if there is none.
func firstGroup(pattern string) (group, error) {
	g, depth := group{open: -1}, 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			n, err := classLength(pattern[i:])
			if err != nil {
				return group{}, err
			}
			i += n - 1
		case '{':
			if depth++; depth == 1 {
				g.open = i
			}
		case ',':
			if depth == 1 {
				g.commas = append(g.commas, i)
			}
		case '}':
			if depth--; depth < 0 {
				return group{}, errBraceClose
			}
			if depth == 0 {
				if g.commas == nil {
					return group{}, errBraceComma
				}
				g.close = i
				return g, nil
			}
		}
	}
	if depth > 0 {
		return group{}, errBraceOpen
	}
	return group{}, nil
}

// alternatives returns the pattern once for each alternative of g, last first, so that a stack yields them in order.
func (g group) alternatives(pattern string) []string {
	ends := append(g.commas, g.close)
	out := make([]string, len(ends))
	start := g.open + 1
	for i, end := range ends {
		out[len(ends)-1-i] = pattern[:g.open] + pattern[start:end] + pattern[g.close+1:]
		start = end + 1
	}
	return out
}
