package mcpclient

import (
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

const (
	// maxErrorText is what an error of ours quotes of a server's text, in bytes.
	maxErrorText = 500
	// maxMessageText is what is kept of the message of an error or of progress.
	maxMessageText = 4 << 10
	// maxNameText is what is kept of a name, in characters.
	maxNameText = 200
)

// shorten cuts a text at a number of bytes, not within a character.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// label is what is kept of a name.
func label(text string) string {
	if runes := []rune(text[:min(len(text), 5*maxNameText)]); len(runes) > maxNameText {
		return string(runes[:maxNameText]) + "…"
	}
	return text[:min(len(text), 5*maxNameText)]
}

// shown is the beginning of a text for a log or an error.
func shown(text string) string { return printable.Text(shorten(text, maxErrorText)) }
