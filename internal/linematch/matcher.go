package linematch

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
)

// Matcher is a compiled expression. It is for one goroutine; Clone makes others.
type Matcher struct {
	regex *regexp.Regexp
	have  needles    // of which every match has one in it; none if nothing is known
	at    []int      // where they stand next, while a text is looked through
	left  int        // how many bytes are looked through until they are fitted again
	auto  *automaton // nil where regex matches lines itself
}

// Compile compiles an expression in the syntax of package regexp, with its errors.
func Compile(expr string) (*Matcher, error) {
	regex, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	parsed = parsed.Simplify()
	prog, err := syntax.Compile(parsed)
	if err != nil {
		return nil, err
	}
	have := required(parsed)
	return &Matcher{regex: regex, have: have, at: make([]int, len(have)), auto: newAutomaton(prog)}, nil
}

// Clone gives a matcher of the same expression for another goroutine.
func (m *Matcher) Clone() *Matcher {
	c := *m
	c.at, c.have = slices.Clone(m.at), m.have.clone()
	if m.auto != nil {
		c.auto = m.auto.fresh()
	}
	return &c
}

// Match tells whether a line matches, which has no line feed in it.
func (m *Matcher) Match(line []byte) bool {
	if m.auto != nil {
		if matches, sure := m.auto.match(line); sure {
			return matches
		}
		m.auto = nil
	}
	return m.regex.Match(line)
}

// Next finds the first line that matches, from a place on at which a line begins: text[start:end], without its line
// ending.
func (m *Matcher) Next(text []byte, from int) (start, end int, found bool) {
	if m.left <= 0 {
		m.have.fit(text[from:])
		m.left = fitted
	}
	start, end, found = m.next(text, from)
	if m.left -= len(text) - from; found {
		m.left += len(text) - end
	}
	return start, end, found
}

func (m *Matcher) next(text []byte, from int) (start, end int, found bool) {
	for i := range m.at {
		m.at[i] = -1 // not known
	}
	for from < len(text) {
		start = from
		if len(m.have) > 0 {
			at := m.needle(text, from)
			if at == len(text) {
				return 0, 0, false
			}
			start += bytes.LastIndexByte(text[from:at], '\n') + 1
		}
		line, next := Line(text, start)
		if m.Match(text[start:line]) {
			return start, line, true
		}
		from = next
	}
	return 0, 0, false
}

// needle is where the first one stands from a place on; the text's end if none does.
func (m *Matcher) needle(text []byte, from int) int {
	first := len(text)
	for i, n := range m.have {
		if m.at[i] < from {
			if m.at[i] = n.index(text[from:]); m.at[i] < 0 {
				m.at[i] = len(text)
			} else {
				m.at[i] += from
			}
		}
		first = min(first, m.at[i])
	}
	return first
}

// Line is where the line that begins at a place ends, without its line ending, and where the next begins.
func Line(text []byte, start int) (end, next int) {
	at := bytes.IndexByte(text[start:], '\n')
	if at < 0 {
		return len(text), len(text)
	}
	end = start + at
	next = end + 1
	if end > start && text[end-1] == '\r' {
		end--
	}
	return end, next
}
