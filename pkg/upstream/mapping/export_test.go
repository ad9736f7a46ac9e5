package mapping

// Maps reports whether an effect is for a tool.
func (m *Mapping) Maps(tool string) bool { return m.of(tool) != nil }
