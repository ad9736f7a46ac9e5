package record

// Inverse is the change that leads back. It has no ranges: what its lines are is not known from the change alone.
func (c Change) Inverse() Change { return Change{Change: c.Change.Inverse(), Coarse: c.Coarse} }
