package mcpclient

import "unicode/utf8"

// maxErrorText is what an error of ours quotes of a server's text, in bytes.
const maxErrorText = 500

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
