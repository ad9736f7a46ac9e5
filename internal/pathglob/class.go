package pathglob

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxClassSize bounds the characters of a class that has to be written out one by one.
const maxClassSize = 1024

type runeRange struct{ lo, hi rune }

// translateClass rewrites the class that s begins with into one that gobwas reads as it was meant: it knows either one
// range or one list of characters, takes `^` for a member, and does not take escapes at the ends of a range. It also
// returns the length of the class in s.
func translateClass(s string) (string, int, error) {
	length, err := classLength(s)
	if err != nil {
		return "", 0, err
	}
	body := s[classBody(s) : length-1]
	ranges, err := parseClass(body)
	if err != nil {
		return "", 0, fmt.Errorf("%q: %w", s[:length], err)
	}
	negation := ""
	if classBody(s) == 2 {
		negation = "!"
	}
	if r := ranges[0]; len(ranges) == 1 && r.lo < r.hi && r.lo != '!' {
		return "[" + negation + string(r.lo) + "-" + string(r.hi) + "]", length, nil
	}
	members, err := writeMembers(ranges)
	if err != nil {
		return "", 0, fmt.Errorf("%q: %w", s[:length], err)
	}
	return "[" + negation + members + "]", length, nil
}

// parseClass reads the members of a class as sorted ranges.
func parseClass(body string) ([]runeRange, error) {
	var ranges []runeRange
	for len(body) > 0 {
		if strings.HasPrefix(body, "[:") || strings.HasPrefix(body, "[.") || strings.HasPrefix(body, "[=") {
			return nil, fmt.Errorf("named classes such as [:alpha:] are not supported: write the range")
		}
		var r runeRange
		r.lo, body = classRune(body)
		r.hi = r.lo
		if len(body) > 1 && body[0] == '-' {
			r.hi, body = classRune(body[1:])
		}
		if r.hi < r.lo {
			return nil, fmt.Errorf("the range %c-%c runs backwards", r.lo, r.hi)
		}
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, func(a, b runeRange) int { return int(a.lo - b.lo) })
	return ranges, nil
}

func classRune(body string) (rune, string) {
	if body[0] == '\\' && len(body) > 1 {
		body = body[1:]
	}
	r, n := utf8.DecodeRuneInString(body)
	return r, body[n:]
}

// writeMembers lists the characters of the ranges. A dash goes first, where gobwas cannot take it for a range.
func writeMembers(ranges []runeRange) (string, error) {
	var members []rune
	for _, r := range ranges {
		if len(members)+int(r.hi-r.lo) >= maxClassSize {
			return "", fmt.Errorf("several ranges of more than %d characters together", maxClassSize)
		}
		for c := r.lo; c <= r.hi; c++ {
			members = append(members, c)
		}
	}
	slices.Sort(members)
	members = slices.Compact(members)
	var b strings.Builder
	if slices.Contains(members, '-') {
		b.WriteByte('-')
	}
	for _, c := range members {
		switch c {
		case '-':
			continue
		case '\\', ']', '!':
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String(), nil
}
