package data

import (
	"bytes"
	"regexp"
	"sync"
)

// shortTime is a time without seconds, which TOML 1.0 does not have.
var shortTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d\d:\d\d([^:\d]|$)`) })

// newerTOML is the first line that uses what TOML 1.1 added: line breaks, comments and a last comma in inline tables,
// the escapes \e and \x, times without seconds, keys in other scripts. 0 if there is none.
func newerTOML(content []byte) int {
	var open []byte
	line, comma := 1, false
	for i := 0; i < len(content); i++ {
		c, rest := content[i], content[i:]
		inline := len(open) > 0 && open[len(open)-1] == '{'
		switch {
		case c == '\n':
			if inline {
				return line
			}
			line++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			continue
		case c == '#':
			for i+1 < len(content) && content[i+1] != '\n' {
				i++
			}
			continue
		case c == '"' || c == '\'':
			length, newer := tomlString(rest)
			if newer {
				return line
			}
			line += bytes.Count(rest[:length], []byte("\n"))
			i += length - 1
		case c == '{' || c == '[':
			open = append(open, c)
		case (c == '}' || c == ']') && len(open) > 0:
			if c == '}' && comma {
				return line
			}
			open = open[:len(open)-1]
		case c >= 0x80 || shortTime().Match(rest[:min(len(rest), 6)]) && (i == 0 || !isDigit(content[i-1])):
			return line
		}
		comma = c == ','
	}
	return 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// tomlString is the length of the string that text begins with, and whether it has an escape of TOML 1.1.
func tomlString(text []byte) (length int, newer bool) {
	quote := text[:1]
	if len(text) >= 3 && text[1] == text[0] && text[2] == text[0] {
		quote = text[:3]
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
			if i < len(text) && (text[i] == 'e' || text[i] == 'x') {
				return i, true
			}
		case bytes.HasPrefix(text[i:], quote):
			i += len(quote)
			for len(quote) == 3 && i < len(text) && text[i] == quote[0] {
				i++ // quotes directly before the end belong to the string
			}
			return i, false
		}
	}
	return len(text), false
}
