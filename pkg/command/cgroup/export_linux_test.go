package cgroup

// Version is 1 or 2.
func (p *Parent) Version() int { return p.version }
