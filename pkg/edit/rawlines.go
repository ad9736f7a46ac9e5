package edit

// RawLines are the lines of Lines with their endings as they stand in text.
func RawLines(text string) []string { return split(text).raw() }
