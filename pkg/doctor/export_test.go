package doctor

// Quote makes one word of a shell.
func Quote(text string) string { return quote(text) }
