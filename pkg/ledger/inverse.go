package ledger

// Inverse is the change that leads back. It has no ranges: what its lines are is not known from the change alone.
func (c Change) Inverse() Change {
	back := Change{
		Path: c.Path, Op: c.Op, Before: c.After, After: c.Before, BeforeOID: c.AfterOID, AfterOID: c.BeforeOID,
		BeforeMode: c.AfterMode, AfterMode: c.BeforeMode, Coarse: c.Coarse,
	}
	switch c.Op {
	case OpCreated:
		back.Op = OpDeleted
	case OpDeleted:
		back.Op = OpCreated
	case OpMoved:
		back.Path, back.From = c.From, c.Path
	}
	for _, h := range c.Hunks {
		back.Hunks = append(back.Hunks, [4]int{h[2], h[3], h[0], h[1]})
	}
	return back
}
