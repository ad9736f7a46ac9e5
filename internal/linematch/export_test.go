package linematch

// Needles are the texts that lines are looked for by.
func (m *Matcher) Needles() (texts []string) {
	for _, n := range m.have {
		texts = append(texts, string(n.text))
	}
	return texts
}

// Automatic tells whether lines are matched by the automaton still.
func (m *Matcher) Automatic() bool { return m.auto != nil }

// Held is how many entries the automaton's tables have.
func (m *Matcher) Held() int { return cap(m.auto.next) + m.auto.size }

// TableLimit is the bound of each table.
const TableLimit = tableLimit
