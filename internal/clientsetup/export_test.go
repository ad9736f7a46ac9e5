package clientsetup

// ApplyFirst applies as much of the plan as a process that is killed behind n steps has done, and reports whether that is all.
func (p *Plan) ApplyFirst(workspace string, n int) (all bool, err error) {
	steps := p.steps(workspace)
	for _, do := range steps[:min(n, len(steps))] {
		if err := do(); err != nil {
			return false, err
		}
	}
	return n >= len(steps), nil
}
