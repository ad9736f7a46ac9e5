package clientrules

// Glob compares a text with a pattern.
func Glob(pattern, text string, question, bare bool) bool {
	return newGlob(pattern, question, bare).match(text)
}
