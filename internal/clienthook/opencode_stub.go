package clienthook

// OpenCodePlugin is a placeholder for the plugin's text.
func OpenCodePlugin(program string) []byte {
	return []byte("// orchestra-mcp: " + program + " hook opencode\n")
}
