package watch

// Screen gives every row of the screen.
func (m Model) Screen() []string { return m.screen() }
