package reach

import "time"

// SetClock gives the clock by which a Maker tells old directories from those
// that change.
func (m *Maker) SetClock(now func() time.Time) { m.listings.now = now }

// Kept is how many directories a Maker need not list again.
func (m *Maker) Kept() int { return len(m.listings.kept) }

// CanWrite reports whether the box lets an absolute path be written.
func (r *Reach) CanWrite(path string) bool { return r.writable(path) }
