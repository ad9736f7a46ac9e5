package foreignschema

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

const (
	// maxPattern bounds an expression, in bytes.
	maxPattern = 1000
	// maxProgram and maxPatterns bound what RE2 makes of one, and of all of a schema, in instructions: a repetition multiplies them,
	// and a search takes, at worst, their number for each byte.
	maxProgram, maxPatterns = 4_000, 20_000
)

// matches reports whether a text matches an expression, and whether that is known.
func (c *check) matches(expression, text string) (matches, known bool) {
	p := c.compiled(expression)
	cost := 1 + (1+len(text))*p.size/8
	if p.is == nil || otherwise(expression, text) || cost > c.left/2 || c.spend(cost) != nil {
		c.guessed = true
		return false, false
	}
	return p.is.MatchString(text), true
}

// otherwise reports whether RE2 may read a text in another way than ECMAScript, whose the expressions are: they disagree about what
// a space is, and about ends of lines.
func otherwise(expression, text string) bool {
	return strings.ContainsAny(text, "\r\u2028\u2029") ||
		strings.Contains(strings.ToLower(expression), `\s`) && strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r == '\v' })
}

func (c *check) compiled(expression string) pattern {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, used := c.patterns[expression]
	if used || len(expression) > maxPattern || c.spend(len(expression)) != nil {
		return p
	}
	if parsed, err := syntax.Parse(expression, syntax.Perl); err == nil {
		p.size = size(parsed)
	}
	if 0 < p.size && p.size <= min(maxProgram, c.room) {
		c.room -= p.size
		p.is, _ = regexp.Compile(expression)
	}
	c.patterns[expression] = p
	return p
}

// size is about how many instructions an expression has.
func size(e *syntax.Regexp) int {
	n := 1
	switch e.Op {
	case syntax.OpLiteral:
		n += len(e.Rune)
	case syntax.OpCharClass:
		n += len(e.Rune) / 16
	}
	for _, sub := range e.Sub {
		n += size(sub)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(1, e.Max, e.Min+1)
	}
	return n
}
