package snapshot

import "slices"

// unrecorded is what was there before the commands that run already changed it: no record tells of that yet, and what
// one of them puts back, such as a file for a moment, none will. The caller holds the lock.
func (k *Keeper) unrecorded(begin []*Window) (states []saved) {
	running := slices.DeleteFunc(k.begun(), func(w *Window) bool { return slices.Contains(begin, w) })
	slices.SortFunc(running, func(a, b *Window) int { return b.Began.Compare(a.Began) }) // the last to say it is the first that ran
	for _, w := range running {
		for path, p := range w.deltas {
			switch last, ok := explained(&p.delta, w.writes[path], w.inScope(path)); {
			case ok || last != nil:
			case p.before == nil || k.shown(p.before.digest) != nil:
				states = append(states, k.save(path, p.before))
			}
		}
	}
	return states
}

// forget takes from the commands that began while this one ran what they found changed for a moment, out of their own
// scope: it is as it was before both. What a tool wrote meanwhile is another matter. The caller holds the lock.
func (w *Window) forget() {
	for path, now := range w.back {
		if w.deltas[path] != nil || len(w.writes[path]) > 0 {
			continue
		}
		for other := range w.keeper.open {
			p := other.deltas[path]
			if p == nil || !other.Began.After(w.Began) || other.inScope(path) || len(other.writes[path]) > 0 {
				continue
			}
			if p.before = now; !p.real() {
				delete(other.deltas, path)
			}
		}
	}
}
