package pathglob

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// class is a set of characters: what `[…]` and `?` stand for, or one character of a wildcard's segment; or it is a star.
type class struct {
	ranges  []runeRange
	negated bool
	star    bool
}

type runeRange struct{ lo, hi rune }

func (c class) has(r rune) bool {
	return c.negated != slices.ContainsFunc(c.ranges, func(in runeRange) bool { return in.lo <= r && r <= in.hi })
}

// parseClass reads the class that s begins with, and returns its length.
func parseClass(s string) (class, int, error) {
	length, err := classLength(s)
	if err != nil {
		return class{}, 0, err
	}
	c := class{negated: classBody(s) == 2}
	for body := s[classBody(s) : length-1]; len(body) > 0; {
		if strings.HasPrefix(body, "[:") || strings.HasPrefix(body, "[.") || strings.HasPrefix(body, "[=") {
			return class{}, 0, fmt.Errorf("%q: named classes such as [:alpha:] are not supported: write the range", s[:length])
		}
		var r runeRange
		r.lo, body = classRune(body)
		r.hi = r.lo
		if len(body) > 1 && body[0] == '-' {
			r.hi, body = classRune(body[1:])
		}
		if r.hi < r.lo {
			return class{}, 0, fmt.Errorf("%q: the range %c-%c runs backwards", s[:length], r.lo, r.hi)
		}
		c.ranges = append(c.ranges, r)
	}
	return c, length, nil
}

func classRune(body string) (rune, string) {
	if body[0] == '\\' && len(body) > 1 {
		body = body[1:]
	}
	r, n := utf8.DecodeRuneInString(body)
	return r, body[n:]
}
