package linematch

// Needle is the text that lines are looked for by; empty if there is none.
func (m *Matcher) Needle() string {
	if m.have == nil {
		return ""
	}
	return string(m.have.text)
}

// Automatic tells whether lines are matched by the automaton still.
func (m *Matcher) Automatic() bool { return m.auto != nil }

// Held is how many entries the automaton's tables have.
func (m *Matcher) Held() int { return cap(m.auto.next) + m.auto.size }

// TableLimit is the bound of each table.
const TableLimit = tableLimit
