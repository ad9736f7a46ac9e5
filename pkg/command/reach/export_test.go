package reach

import "time"

// SetClock gives the clock by which a Maker tells old directories from those
// that change.
func (m *Maker) SetClock(now func() time.Time) { m.listings.now = now }

// Kept is how many directories a Maker need not list again.
func (m *Maker) Kept() int { return len(m.listings.kept) }
