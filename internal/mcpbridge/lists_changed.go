package mcpbridge

// ListChanged tells clients that a list has changed: "tools", "prompts" or "resources", which has the templates too. It
// does not wait, and may be called as often as one likes: clients hear of each list at most once a second. Without
// [Config.Beside] it does nothing.
func (s *Server) ListChanged(list string) {}
