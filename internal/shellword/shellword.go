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
