// Package shellword makes words for a POSIX shell.
package shellword

import (
	"path/filepath"
	"strings"
)

// Quote makes one word of any text, always between single quotes.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Show makes one word of any text for a person to type: as it is where no shell would take it for anything else.
func Show(text string) string {
	special := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && r != filepath.Separator && !strings.ContainsRune("/._-+@%:,", r)
	}
	if text == "" || text[0] == '-' || strings.ContainsFunc(text, special) {
		return Quote(text)
	}
	return text
}

// Split takes a command line apart that was made of words by Quote and Show, or by hand with double quotes; whole is false for
// one of which a shell would make more than these words.
func Split(line string) (words []string, whole bool) {
	const special = "$`;&|<>()*?[#~\n"
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'' || quote == '"' && !strings.ContainsRune("$`\\", rune(c)):
			word.WriteByte(c)
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			i++
			word.WriteByte('\'')
			begun = true
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		case quote == 0 && strings.IndexByte(special, c) < 0, quote == '"' && c == '\\': // Windows' paths
			word.WriteByte(c)
			begun = true
		default:
			return nil, false
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, quote == 0
}
