package profile

import "time"

// SetClock gives the clock by which a Builder tells old directories from those that change.
func (m *Builder) SetClock(now func() time.Time) { m.listings.now = now }

// Kept is how many directories a Builder need not list again.
func (m *Builder) Kept() int { return len(m.listings.kept) }

// CanWrite reports whether the profile lets an absolute path be written.
func (r *Profile) CanWrite(path string) bool { return r.writable(path) }
