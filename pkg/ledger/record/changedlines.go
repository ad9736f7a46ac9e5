package record

// Lines counts the lines that a change added and removed, by its hunks; where it has none, by its ranges. A coarse change
// counts all lines from its first to its last. A line that was edited is one added and one removed.
func (c Change) Lines() (added, removed int) {
	for _, h := range c.Hunks {
		removed += max(h[1], 0)
		added += max(h[3], 0)
	}
	if len(c.Hunks) > 0 {
		return added, removed
	}
	for _, r := range c.Ranges {
		added += max(r.EndLine-r.StartLine+1, 0)
	}
	return added, removed
}
